"""Every setting, with its default and its check. Nothing else reads a ``SIMHASH_*`` setting."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.utils.misc import load_object

from scrapy_simhash.db.engine import check_url
from scrapy_simhash.exceptions import SettingError
from scrapy_simhash.keys.plan import choose_keys, choose_limits
from scrapy_simhash.simhash.scheme import load_scheme
from scrapy_simhash.text.extractor import load_extractor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Literal, TypeVar

    from scrapy.settings import BaseSettings
    from sqlalchemy.engine import URL

    from scrapy_simhash.simhash.scheme import Scheme
    from scrapy_simhash.text.extractor import Extractor

    T = TypeVar("T")

__all__ = ["DEFAULTS", "Fields", "Settings"]

DEFAULTS: Mapping[str, Any] = {
    "SIMHASH_ENABLED": True,
    "SIMHASH_DATABASE_URL": None,
    "SIMHASH_ENGINE_OPTIONS": {},
    "SIMHASH_NAMESPACE": "{spider}",
    "SIMHASH_ON_DUPLICATE": "drop",
    "SIMHASH_FIELDS": None,
    "SIMHASH_SIMILARITY": 0.9,
    "SIMHASH_DISTANCE": None,
    "SIMHASH_CANDIDATES": "auto",
    "SIMHASH_SCHEME": "shingles",
    "SIMHASH_SCHEME_OPTIONS": {},
    "SIMHASH_EXTRACTOR": "density",
    "SIMHASH_MIN_FEATURES": 8,
    "SIMHASH_MAX_TEXT": 1_000_000,
    "SIMHASH_SAME_URL": "pass",
    "SIMHASH_ON_CRASH": "release",
    "SIMHASH_ON_ERROR": "pass",
    "SIMHASH_TIMEOUT": 10.0,
    "SIMHASH_QUARANTINE": True,
    "SIMHASH_TEXT_BUDGET": 256 << 20,
    "SIMHASH_EXPECTED_SIZE": 1_000_000,
    "SIMHASH_EXPIRE": None,
    "SIMHASH_RESET": False,
    "SIMHASH_REPORT": None,
    "SIMHASH_LOG_LEVEL": "DEBUG",
}

_LEVELS = ("CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG")

#: What SIMHASH_QUARANTINE = True keeps, in bytes.
_QUARANTINE = 1 << 30


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a crawl, checked. The fields are named after the settings."""

    enabled: bool
    database_url: URL | None
    engine_options: Mapping[str, Any]
    namespace: str
    on_duplicate: Literal["drop", "skip", "report"]
    fields: Fields | None
    similarity: float
    distance: int | None
    candidates: Literal["auto", "bands", "blocks"]
    scheme: Scheme
    extractor: Extractor
    min_features: int
    max_text: int
    same_url: Literal["pass", "drop"]
    on_crash: Literal["release", "keep"]
    on_error: Literal["pass", "close"]
    timeout: float
    quarantine: int
    text_budget: int
    expected_size: int
    expire: int | None
    reset: bool
    report: Path | None
    log_level: str

    @classmethod
    def read(cls, settings: BaseSettings) -> Settings:
        """Read and check the settings of a crawl.

        Raises:
            SettingError: a value is wrong, or a name is unknown; names the setting, the value and
                what is allowed.
        """
        for name in settings:
            if str(name).startswith("SIMHASH_") and name not in DEFAULTS:
                close = difflib.get_close_matches(str(name), DEFAULTS, 1)
                hint = f"; did you mean {close[0]}?" if close else ""
                raise SettingError(f"there is no setting {name}{hint}")
        get = _Reader(settings)
        distance = get.optional("DISTANCE", 0, 160)
        similarity = get.number("SIMILARITY", 0.7, 1)
        candidates = get.choice("CANDIDATES", "auto", "bands", "blocks")
        scheme = get.checked(
            "SCHEME", lambda name: load_scheme(name, get.mapping("SCHEME_OPTIONS"))
        )
        get.checked("DISTANCE", lambda given: choose_limits(scheme, similarity, distance))
        get.checked("CANDIDATES", lambda given: choose_keys(scheme, similarity, distance, given))
        on_duplicate = get.choice("ON_DUPLICATE", "drop", "skip", "report")
        fields = get.checked("FIELDS", lambda given: None if given is None else Fields(given))
        if fields and on_duplicate == "skip":
            raise SettingError(
                "SIMHASH_ON_DUPLICATE = 'skip' decides before there are items: with "
                "SIMHASH_FIELDS it can be 'drop' or 'report'"
            )
        expire = get.optional("EXPIRE", 0, math.inf)
        return cls(
            enabled=get.flag("ENABLED"),
            database_url=get.checked("DATABASE_URL", lambda url: check_url(url) if url else None),
            engine_options=get.mapping("ENGINE_OPTIONS"),
            namespace=get.checked("NAMESPACE", _namespace),
            on_duplicate=on_duplicate,
            fields=fields,
            similarity=similarity,
            distance=distance,
            candidates=candidates,
            scheme=scheme,
            extractor=get.checked("EXTRACTOR", load_extractor),
            min_features=get.whole("MIN_FEATURES", 1, 10_000),
            max_text=get.whole("MAX_TEXT", 1, 100_000_000),
            same_url=get.choice("SAME_URL", "pass", "drop"),
            on_crash=get.choice("ON_CRASH", "release", "keep"),
            on_error=get.choice("ON_ERROR", "pass", "close"),
            timeout=get.number("TIMEOUT", 0.1, 3600),
            quarantine=get.checked("QUARANTINE", _bytes),
            text_budget=get.whole("TEXT_BUDGET", 0, math.inf),
            expected_size=get.whole("EXPECTED_SIZE", 1, 10**12),
            expire=expire,
            reset=get.flag("RESET"),
            report=get.checked("REPORT", _report),
            log_level=get.choice("LOG_LEVEL", *_LEVELS),
        )


class Fields:
    """Which fields of an item are compared.

    Args:
        given: a list of names for every item; or one for each item class, given as the class or
            its import path, that also holds for its subclasses.
    """

    def __init__(self, given: Any) -> None:
        if isinstance(given, str):
            given = [name.strip() for name in given.split(",")]
        if isinstance(given, Mapping):
            self._of_class = [(load_object(kind), _names(names)) for kind, names in given.items()]
        else:
            self._of_class = [(object, _names(given))]

    def of(self, item: Any) -> Sequence[str]:
        """The fields of this item; none if nothing is said of its class."""
        return next((names for kind, names in self._of_class if isinstance(item, kind)), ())


class _Reader:
    """Reads single settings and words their errors."""

    def __init__(self, settings: BaseSettings) -> None:
        self._settings = settings

    def value(self, name: str) -> Any:
        full = f"SIMHASH_{name}"
        return self._settings.get(full, DEFAULTS[full])

    def checked(self, name: str, check: Callable[[Any], T]) -> T:
        value = self.value(name)
        try:
            return check(value)
        except (ValueError, TypeError, ImportError, NameError) as error:
            # A database URL may hold a password.
            shown = "" if name == "DATABASE_URL" else f" = {value!r}"
            raise SettingError(f"SIMHASH_{name}{shown}: {error}") from error

    def flag(self, name: str) -> bool:
        try:
            return self._settings.getbool(f"SIMHASH_{name}", DEFAULTS[f"SIMHASH_{name}"])
        except ValueError as error:
            raise SettingError(
                f"SIMHASH_{name} = {self.value(name)!r}: allowed are True and False"
            ) from error

    def choice(self, name: str, *allowed: str) -> Any:
        value = self.value(name)
        if value not in allowed:
            listed = ", ".join(map(repr, allowed))
            raise SettingError(f"SIMHASH_{name} = {value!r}: allowed are {listed}")
        return value

    def mapping(self, name: str) -> Mapping[str, Any]:
        try:
            return self._settings.getdict(f"SIMHASH_{name}")
        except (ValueError, TypeError) as error:
            raise SettingError(
                f"SIMHASH_{name} = {self.value(name)!r}: a dictionary is wanted"
            ) from error

    def number(self, name: str, low: float, high: float) -> float:
        return self.checked(name, partial(_number, low, high))

    def whole(self, name: str, low: int, high: float) -> int:
        return self.checked(name, partial(_whole, low, high))

    def optional(self, name: str, low: int, high: float) -> int | None:
        if self.value(name) in (None, "", "None"):
            return None
        return self.whole(name, low, high)


def _number(low: float, high: float, given: Any) -> float:
    try:
        number = math.nan if isinstance(given, bool) else float(given)
    except (TypeError, ValueError):
        number = math.nan
    if not low <= number <= high:
        raise ValueError(f"a number {_range(low, high)} is allowed")
    return number


def _whole(low: int, high: float, given: Any) -> int:
    try:
        number = _number(low, high, given)
    except ValueError:
        number = math.nan
    if number % 1 != 0:
        raise ValueError(f"a whole number {_range(low, high)} is allowed")
    return int(number)


def _range(low: float, high: float) -> str:
    return f"from {low:g} upwards" if math.isinf(high) else f"from {low:g} to {high:,g}"


def _names(given: Any) -> tuple[str, ...]:
    if isinstance(given, str):
        given = [given]
    names = tuple(given)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError("a list of field names, or a dictionary of item class to such a list")
    return names


def _namespace(given: Any) -> str:
    if not isinstance(given, str) or not given:
        raise ValueError("a name is wanted; {spider} in it stands for the spider's")
    try:
        given.format(spider="")
    except (KeyError, IndexError, ValueError) as error:
        raise ValueError("the only placeholder is {spider}") from error
    return given


def _report(given: Any) -> Path | None:
    if not given:
        return None
    for needed in ("jinja2", "vl_convert"):
        if find_spec(needed) is None:
            raise ValueError("the report needs more packages: pip install 'scrapy-simhash[report]'")
    path = Path(given)
    if not path.parent.is_dir():
        raise ValueError(f"there is no folder {str(path.parent)!r} to write the report to")
    return path


def _bytes(given: Any) -> int:
    allowed = "allowed are True, False or a number of bytes"
    if given in (True, "True", "true", "1", 1):
        return _QUARANTINE
    if given in (False, "False", "false", "0", "", None):
        return 0
    try:
        number = int(given)
    except (TypeError, ValueError) as error:
        raise ValueError(allowed) from error
    if number < 0:
        raise ValueError(allowed)
    return number
