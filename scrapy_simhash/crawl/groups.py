"""The field in which items carry the name of their group."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from itemadapter import ItemAdapter

from scrapy_simhash.visible import shortened

if TYPE_CHECKING:
    from typing import Any

    from scrapy_simhash.index.verdict import Verdict

__all__ = ["GroupField"]

logger = logging.getLogger(__name__)


class GroupField:
    """Writes into items what they are copies of.

    Args:
        name: of the field; None for none.
    """

    def __init__(self, name: str | None) -> None:
        self._name = name
        self._said: set[type] = set()

    def write(self, item: Any, verdict: Verdict) -> None:
        """Write the group of an item that is stored; an item that can't take it stays as it is."""
        if self._name is None or verdict.group is None:
            return
        try:
            ItemAdapter(item)[self._name] = verdict.group
        except Exception as error:  # noqa: BLE001 - anything may happen in the code of an item's class
            self._say(type(item), error)

    def _say(self, kind: type, error: Exception) -> None:
        """Once for each class."""
        if kind in self._said:
            return
        self._said.add(kind)
        logger.warning(
            "SIMHASH_GROUP_FIELD = %r can't be written to items of %s.%s (%s: %s). They are stored "
            "without it: let the class have this field",
            self._name,
            kind.__module__,
            kind.__qualname__,
            type(error).__name__,
            shortened(str(error), 200),
        )
