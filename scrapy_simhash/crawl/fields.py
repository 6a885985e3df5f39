"""The fields of items that settings name: to read, to leave out, and to write."""

from __future__ import annotations

import logging
from ast import literal_eval
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from typing import Any

from scrapy_simhash.loading import load_object
from scrapy_simhash.visible import shortened

logger = logging.getLogger(__name__)

#: How many items are looked at before unused field names are reported.
_ENOUGH = 20

# How many written values are remembered.
_RECENT = 1000


class Fields:
    """The value of a setting that names fields.

    It is a list of names for every item; or one for each item class, given as the class or its
    import path, that also applies to its subclasses.
    """

    def __init__(self, given: Any) -> None:
        if isinstance(given, str):
            given = _written(given)
        if isinstance(given, Mapping):
            self._of_class = [(_class(kind), _names(names)) for kind, names in given.items()]
        else:
            self._of_class = [(object, _names(given))]

    def __str__(self) -> str:
        parts = (
            (f"{kind.__qualname__}:" if kind is not object else "") + ",".join(names)
            for kind, names in self._of_class
        )
        return ";".join(parts)

    @property
    def names(self) -> list[str]:
        """The names for all classes."""
        return [one for _, names in self._of_class for one in names]

    def of(self, item: Any) -> Sequence[str]:
        """The fields of this item; none if its class is not named."""
        return next((names for kind, names in self._of_class if isinstance(item, kind)), ())


def irrelevant(kind: type) -> tuple[str, ...]:
    """The fields of an item class that only tell how an item was extracted."""
    is_zyte = any(base.__module__.partition(".")[0] == "zyte_common_items" for base in kind.__mro__)
    return ("metadata",) if is_zyte else ()


def _written(given: str) -> Any:
    """A value given to `-s`: names with commas, or a list or dictionary as in Python or JSON."""
    if given.strip()[:1] not in ("[", "{"):
        return [name.strip() for name in given.split(",")]
    try:
        return literal_eval(given.strip())
    except (SyntaxError, ValueError):
        raise ValueError(f"{given!r} is not a list or dictionary of Python or JSON") from None


def _class(given: Any) -> type:
    kind = load_object("item class", given) if isinstance(given, str) else given
    if not isinstance(kind, type):
        raise TypeError(f"{given!r} is not an item class")
    return kind


def _names(given: Any) -> tuple[str, ...]:
    if isinstance(given, str):
        given = [given]
    names = tuple(given) if isinstance(given, Iterable) else ()
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError(
            "must be a list of field names, or a dictionary of item class to such a list"
        )
    return names


class UnusedFieldCheck:
    """Tells once about field names in settings that none of the first items has."""

    def __init__(
        self, *, tell: Callable[[str], None] = logger.warning, **settings: Fields | None
    ) -> None:
        self._tell = tell
        self._fields = {name: fields for name, fields in settings.items() if fields is not None}
        self._wanted: dict[str, set[str]] = {name: set() for name in self._fields}
        # A dict keeps the order.
        self._found: dict[str, None] = {}
        self._left = _ENOUGH if self._fields else 0

    def see(self, item: Any) -> None:
        """Look at an item, if it is one of the first."""
        if not self._left:
            return
        for setting, fields in self._fields.items():
            self._wanted[setting].update(fields.of(item))
        if type(item) is not dict:
            from itemadapter import ItemAdapter  # noqa: PLC0415  (slow, it imports pydantic)

            item = ItemAdapter(item).field_names()
        self._found |= dict.fromkeys(map(str, item))
        self._left -= 1
        if not self._left:
            self.report()

    def report(self) -> None:
        """Tell about the fields that were not found; also after fewer items."""
        self._left = 0
        for setting, wanted in self._wanted.items() if self._found else ():
            # Of a path the first part is the field.
            unused = [
                name
                for name in sorted(wanted)
                if name.partition(".")[0] not in self._found and name not in self._found
            ]
            if unused:
                found = shortened(", ".join(self._found), 1000)
                self._tell(
                    f"{setting} names fields that none of the first items has: "
                    f"{', '.join(map(repr, unused))}. Their fields are {found}"
                )
        self._wanted.clear()


class ItemField:
    """A field that a setting names, and that is written into items which are stored.

    It is free in an item that lacks it, has None or something empty there, or a value written
    before: spiders may yield an object twice. An item with a value of its own keeps it.
    """

    def __init__(self, setting: str, name: str) -> None:
        self.name = name
        self._setting = setting
        self._warned: set[type] = set()
        # The last values, by their ids.
        self._written: dict[int, Any] = {}

    def is_free(self, item: Any) -> bool:
        """Whether the item has no value of its own in the field."""
        from itemadapter import ItemAdapter  # noqa: PLC0415  (as above)

        try:
            found = ItemAdapter(item).get(self.name)
            is_empty = found is None or (isinstance(found, Sized) and not len(found))
        except Exception:  # noqa: BLE001 - item classes are users' code
            return True
        return is_empty or id(found) in self._written

    def write(self, item: Any, value: Any) -> None:
        """Write a value, unless it is None; an item that can't take it stays unchanged."""
        if value is None:
            return
        if not self.is_free(item):
            self._warn(item, "they have a value of their own there. Choose a field that is free")
            return
        from itemadapter import ItemAdapter  # noqa: PLC0415  (as above)

        try:
            ItemAdapter(item)[self.name] = value
        except Exception as error:  # noqa: BLE001 - as above
            why = f"{type(error).__name__}: {error}"
            self._warn(item, f"{shortened(why, 200)}. Add the field to the class")
            return
        if len(self._written) >= _RECENT:
            del self._written[next(iter(self._written))]
        self._written[id(value)] = value

    def _warn(self, item: Any, why: str) -> None:
        """Warn once for each class."""
        kind = type(item)
        if kind not in self._warned:
            self._warned.add(kind)
            logger.warning(
                "%s = %r is not written to items of %s.%s, which are stored as they are: %s",
                self._setting,
                self.name,
                kind.__module__,
                kind.__qualname__,
                why,
            )
