"""Which fields of an item are compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from scrapy_simhash.loading import load_object

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["Fields"]


class Fields:
    """Which fields of an item are compared.

    Args:
        given: a list of names for every item; or one for each item class, given as the class or
            its import path, that also holds for its subclasses.

    Raises:
        TypeError: something else than a class has fields.
        ValueError: there are no names, or no such class.
    """

    def __init__(self, given: Any) -> None:
        if isinstance(given, str):
            given = [name.strip() for name in given.split(",")]
        if isinstance(given, Mapping):
            self._of_class = [(_class(kind), _names(names)) for kind, names in given.items()]
        else:
            self._of_class = [(object, _names(given))]

    def __str__(self) -> str:
        """The names, for what is compared in words."""
        parts = (
            (f"{kind.__qualname__}:" if kind is not object else "") + ",".join(names)
            for kind, names in self._of_class
        )
        return ";".join(parts)

    def of(self, item: Any) -> Sequence[str]:
        """The fields of this item; none if nothing is said of its class."""
        return next((names for kind, names in self._of_class if isinstance(item, kind)), ())


def _class(given: Any) -> type:
    kind = load_object("item class", given) if isinstance(given, str) else given
    if not isinstance(kind, type):
        raise TypeError(f"{given!r} is no class of items")
    return kind


def _names(given: Any) -> tuple[str, ...]:
    if isinstance(given, str):
        given = [given]
    names = tuple(given) if isinstance(given, Iterable) else ()
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError(
            "a list of field names is wanted, or a dictionary of item class to such a list"
        )
    return names
