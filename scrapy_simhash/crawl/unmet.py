"""Fields that a setting names and no item has: it is misspelt, or of another project."""

from __future__ import annotations

import logging
from difflib import get_close_matches
from typing import TYPE_CHECKING

from itemadapter import ItemAdapter

from scrapy_simhash.visible import shortened

if TYPE_CHECKING:
    from typing import Any

    from scrapy_simhash.crawl.settings import Settings

__all__ = ["UnmetFields"]

logger = logging.getLogger(__name__)

# After so many items it is said; at the end of a crawl that has fewer.
_ENOUGH = 20

# So many fields are named of those that there are.
_NAMED = 30


class UnmetFields:
    """Looks at the first items of a crawl, and says once which named fields none of them has.

    Args:
        settings: of the crawl.
    """

    def __init__(self, settings: Settings) -> None:
        given = {
            "SIMHASH_FIELDS": settings.fields,
            "SIMHASH_IGNORE_FIELDS": settings.ignore_fields,
            "SIMHASH_KEY": settings.key,
        }
        self._given = {name: fields for name, fields in given.items() if fields is not None}
        self._wanted: dict[str, set[str]] = {name: set() for name in self._given}
        # In the order in which they are met.
        self._there: dict[str, None] = {}
        self._left = _ENOUGH if self._given else 0

    def see(self, item: Any) -> None:
        """Look at an item, as long as there is something to find out."""
        if not self._left:
            return
        for setting, fields in self._given.items():
            self._wanted[setting].update(fields.of(item))
        self._there |= dict.fromkeys(map(str, ItemAdapter(item).field_names()))
        self._left -= 1
        if not self._left:
            self._say()

    def spider_closed(self) -> None:
        """Handles the signal: there will be no more items."""
        if self._left and self._there:
            self._left = 0
            self._say()

    def _say(self) -> None:
        there = list(self._there)
        listed = ", ".join(shortened(name, 60) for name in there[:_NAMED])
        for setting, wanted in self._wanted.items():
            # A path leads into a field.
            unmet = [
                name
                for name in sorted(wanted)
                if not {name, name.partition(".")[0]} & self._there.keys()
            ]
            if unmet:
                close = get_close_matches(unmet[0], there, 1)
                logger.warning(
                    "%s names what none of the first items has: %s%s Their fields are %s",
                    setting,
                    ", ".join(map(repr, unmet)),
                    f"; did you mean {shortened(close[0], 60)!r}?" if close else ".",
                    listed,
                )
