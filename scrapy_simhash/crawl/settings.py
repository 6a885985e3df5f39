"""Every setting, with its default and its check. Nothing else reads a ``SIMHASH_*`` setting."""

from __future__ import annotations

import difflib
import os
import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import quote
from weakref import WeakKeyDictionary

from scrapy.exceptions import NotConfigured
from scrapy.utils.conf import closest_scrapy_cfg
from scrapy.utils.project import data_path
from sqlalchemy.engine import URL

from scrapy_simhash.crawl import checks
from scrapy_simhash.crawl.fields import Fields
from scrapy_simhash.db.engine import check_url, sqlite_file
from scrapy_simhash.db.passwords import shown_url
from scrapy_simhash.durable import sync_folders
from scrapy_simhash.exceptions import IndexUnusable, SettingError
from scrapy_simhash.index.decide import Rule
from scrapy_simhash.index.index import Index
from scrapy_simhash.keys.plan import choose_keys, choose_limits
from scrapy_simhash.simhash.scheme import load_scheme, longest_text
from scrapy_simhash.text.extractor import load_extractor
from scrapy_simhash.visible import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, Literal

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from scrapy_simhash.crawl.checks import Compare
    from scrapy_simhash.db.transactions import Database
    from scrapy_simhash.index.runs import Run
    from scrapy_simhash.index.verdict import FactsMode, Verdict
    from scrapy_simhash.item.quality import Criterion
    from scrapy_simhash.simhash.scheme import Scheme
    from scrapy_simhash.text.extractor import Extractor

__all__ = ["DAY", "DEFAULTS", "Setting", "Settings"]

#: Seconds; SIMHASH_EXPIRE is in days.
DAY = 86400

_PREFIX = "SIMHASH_"

# Characters of what is wrong with a value, in which a long one may stand again.
_WHY = 1000

# One letter of it is another, missing, too many, or in its neighbour's place.
_SLIP = re.compile(
    "|".join(
        f"{_PREFIX[:at]}(.?{after}|.{letter}{after}|{after[:1]}{letter}{after[1:]})"
        for at, letter in enumerate(_PREFIX)
        for after in [_PREFIX[at + 1 :]]
    )
)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Attributes:
        name: as it is written in a project's settings.
        default: what it is where nothing, or None, is given.
        check: from what is given to what is used; raises where it can't be.
    """

    name: str
    default: Any
    check: Callable[[Any], Any]

    @property
    def field(self) -> str:
        """What it is called in :class:`Settings`."""
        return self.name.removeprefix(_PREFIX).lower()

    def read(self, settings: BaseSettings) -> Any:
        """Read and check it.

        Raises:
            SettingError: its value is wrong.
        """
        given = settings.get(self.name, self.default)
        with _blamed_on(self.name, given):
            return self.check(given)


def _fields(given: Any) -> Fields | None:
    return None if given is None else Fields(given)


_TABLE = (
    Setting("SIMHASH_ENABLED", True, checks.flag),
    Setting("SIMHASH_DATABASE_URL", None, lambda given: check_url(given) if given else None),
    Setting("SIMHASH_ENGINE_OPTIONS", {}, checks.mapping),
    Setting("SIMHASH_SECRET", None, checks.secret),
    Setting("SIMHASH_NAMESPACE", "{spider}", checks.namespace),
    Setting("SIMHASH_ON_DUPLICATE", "drop", checks.one_of("drop", "skip", "report")),
    Setting("SIMHASH_COMPARE", "auto", checks.one_of(*checks.COMPARE)),
    Setting("SIMHASH_FIELDS", None, _fields),
    Setting("SIMHASH_IGNORE_FIELDS", None, _fields),
    Setting("SIMHASH_KEY", None, _fields),
    Setting("SIMHASH_FACTS", "auto", checks.one_of("auto", "always", "never")),
    Setting("SIMHASH_SIMILARITY", 0.9, checks.number(0.7, 1)),
    Setting("SIMHASH_DISTANCE", None, checks.optional_whole(0, 160)),
    Setting("SIMHASH_CANDIDATES", "auto", checks.one_of("auto", "bands", "blocks")),
    Setting("SIMHASH_SCHEME", "shingles", checks.name),
    Setting("SIMHASH_SCHEME_OPTIONS", {}, checks.mapping),
    Setting("SIMHASH_EXTRACTOR", "density", load_extractor),
    Setting("SIMHASH_MIN_FEATURES", 8, checks.whole(1, 10_000)),
    Setting("SIMHASH_MAX_TEXT", 1_000_000, checks.whole(1, 100_000_000)),
    Setting("SIMHASH_SAME_URL", "pass", checks.one_of("pass", "drop")),
    Setting("SIMHASH_ON_CRASH", "release", checks.one_of("release", "keep")),
    Setting("SIMHASH_ON_ERROR", "pass", checks.one_of("pass", "close")),
    Setting("SIMHASH_TIMEOUT", 10.0, checks.number(0.1, 3600)),
    Setting("SIMHASH_QUARANTINE", True, checks.number_of_bytes),
    Setting("SIMHASH_PREFER", None, checks.criteria),
    Setting("SIMHASH_GROUP_FIELD", None, checks.optional_name),
    Setting("SIMHASH_TEXT_BUDGET", 256 << 20, checks.whole(0)),
    Setting("SIMHASH_EXPECTED_SIZE", 1_000_000, checks.whole(1, 10**12)),
    Setting("SIMHASH_EXPIRE", None, checks.optional_whole(0)),
    Setting("SIMHASH_RESET", False, checks.flag),
    Setting("SIMHASH_REPORT", None, checks.report_file),
    Setting(
        "SIMHASH_LOG_LEVEL", "DEBUG", checks.one_of("CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG")
    ),
)

DEFAULTS: Mapping[str, Any] = {setting.name: setting.default for setting in _TABLE}

_ENDS = [name.removeprefix(_PREFIX) for name in DEFAULTS]


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a crawl, checked. The fields are named after the settings."""

    _of: ClassVar[WeakKeyDictionary[Crawler, Settings]] = WeakKeyDictionary()

    enabled: bool
    # These may hold passwords.
    database_url: URL | None = field(repr=False)
    engine_options: Mapping[str, Any] = field(repr=False)
    secret: str | None = field(repr=False)
    namespace: str
    on_duplicate: Literal["drop", "skip", "report"]
    compare: Compare
    fields: Fields | None
    ignore_fields: Fields | None
    key: Fields | None
    facts: FactsMode
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
    prefer: tuple[Criterion, ...]
    group_field: str | None
    text_budget: int
    expected_size: int
    expire: int | None
    reset: bool
    report: Path | None
    log_level: str

    @classmethod
    def of(cls, crawler: Crawler) -> Settings:
        """The settings of this crawler, read once; raises as :meth:`read` does."""
        if crawler not in cls._of:
            cls._of[crawler] = cls.read(crawler.settings)
        return cls._of[crawler]

    @classmethod
    def read(cls, settings: BaseSettings) -> Settings:
        """Read and check the settings of a project.

        Raises:
            SettingError: a value is wrong, or a name is unknown; names the setting, the value and
                what is allowed.
        """
        unknown = [
            name for name in map(str, settings) if name not in DEFAULTS and _is_meant_for_us(name)
        ]
        if unknown:
            raise SettingError(f"there is no setting {', nor '.join(map(_with_hint, unknown))}")
        values = {setting.field: setting.read(settings) for setting in _TABLE}
        return cls(**_together(values))

    @property
    def rule(self) -> Rule:
        """What makes two documents near-duplicates."""
        return Rule.of(
            self.scheme,
            self.similarity,
            self.distance,
            facts=self.facts,
            same_url=self.same_url,
        )

    @property
    def near(self) -> str:
        """The rule, in words."""
        similarity, limit = self.rule.similarity, self.rule.limit
        if similarity is None:
            return f"a distance of {limit} or less"
        return f"a similarity of {similarity:g} or more"

    @property
    def compared(self) -> str:
        """What is compared, in words: claims that were made otherwise may not be recognised."""
        extractor = getattr(self.extractor, "__qualname__", type(self.extractor).__qualname__)
        given = {
            "COMPARE": self.compare,
            "FIELDS": self.fields,
            "IGNORE_FIELDS": self.ignore_fields,
            "KEY": self.key,
            "EXTRACTOR": extractor,
        }
        return " ".join(f"{name}={value}" for name, value in given.items() if value is not None)

    def ignored(self, item: Any) -> Sequence[str]:
        """The fields that say nothing of an item."""
        ignored = () if self.ignore_fields is None else self.ignore_fields.of(item)
        return ignored if self.group_field is None else (*ignored, self.group_field)

    def leaves_out(self, verdict: Verdict) -> bool:
        """Whether what this verdict is on is not to be stored."""
        if verdict.kind == "same":
            return self.same_url == "drop" and verdict.claim is None
        return verdict.kind == "duplicate" and self.on_duplicate != "report"

    def namespace_of(self, spider: Spider | None) -> str:
        """The namespace of a spider's pages, unless their requests say otherwise."""
        return self.namespace.replace("{spider}", spider.name if spider else "")

    def locate_database(self, *, make_folder: bool = False) -> URL:
        """Where the database is; by default it is a file in the folder of the project's data.

        Raises:
            IndexUnusable: that folder can't be made.
        """
        if self.database_url is not None:
            return self.database_url
        return URL.create("sqlite", database=str(_own_file(make_folder=make_folder)))

    @property
    def shown_database(self) -> str:
        """Where the database is, for people: a path, or the URL without its password."""
        url = self.locate_database()
        if (path := sqlite_file(url)) is not None:
            return str(path.absolute())
        return shown_url(url)

    def open_index(
        self,
        database: Database,
        namespace: str,
        run: Run | None = None,
        text_budget: int | None = None,
    ) -> Index:
        """The index of a namespace; raises as :class:`Index` does."""
        return Index(
            database,
            namespace=namespace,
            run=run,
            similarity=self.similarity,
            distance=self.distance,
            candidates=self.candidates,
            scheme=self.scheme,
            same_url=self.same_url,
            text_budget=self.text_budget if text_budget is None else text_budget,
            item_budget=self.quarantine,
            expected_size=self.expected_size,
            facts=self.facts,
            compared=self.compared,
        )


def _own_file(*, make_folder: bool) -> Path:
    """The file of the project; where there is no scrapy.cfg, one in the current folder."""
    folder = Path(".scrapy", "simhash")
    try:
        # With settings, and no scrapy.cfg to say where their project lies, Scrapy knows of none.
        with suppress(NotConfigured):
            folder = Path(data_path(folder.name))
        folder = folder.absolute()
        if make_folder:
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            # The file's own name is synced by SQLite.
            sync_folders([folder])
    except OSError as error:
        raise IndexUnusable(
            f"the folder {folder} can't be made ({error.strerror}): say in SIMHASH_DATABASE_URL "
            "where the database is to be"
        ) from error
    # Scrapyd runs all projects in one folder, and says which one it is.
    project = "" if closest_scrapy_cfg() else os.environ.get("SCRAPY_PROJECT", "")
    return folder / (f"index-{quote(project, safe='')}.db" if project else "index.db")


def _is_meant_for_us(name: str) -> bool:
    """Whether a name begins as ours do, or is near to one of ours with a slip in its beginning.

    What others call their settings is no business of ours: MINHASH_SCHEME is two slips away.
    """
    if name.startswith(_PREFIX):
        return True
    loud = name.upper()
    return any(
        _SLIP.fullmatch(loud, endpos=cut) and difflib.get_close_matches(loud[cut:], _ENDS, 1, 0.8)
        for cut in range(len(_PREFIX) - 1, len(_PREFIX) + 2)
    )


def _with_hint(name: str) -> str:
    """A name that no setting has, and the nearest that one has."""
    close = difflib.get_close_matches(name.upper(), DEFAULTS, 1)
    return f"{name} (did you mean {close[0]}?)" if close else name


def _together(values: dict[str, Any]) -> dict[str, Any]:
    """Check what depends on several settings: a scheme on its options, limits on the scheme."""
    name, options = values["scheme"], values.pop("scheme_options")
    blamed, given = "SIMHASH_SCHEME", name
    if options:
        blamed, given = f"{blamed} with SIMHASH_SCHEME_OPTIONS", (name, options)
    with _blamed_on(blamed, given):
        scheme = values["scheme"] = load_scheme(name, options)
    values["max_text"] = longest_text(scheme, values["max_text"])
    similarity, distance = values["similarity"], values["distance"]
    with _blamed_on("SIMHASH_DISTANCE", distance):
        choose_limits(scheme, similarity, distance)
    candidates = values["candidates"]
    with _blamed_on("SIMHASH_CANDIDATES", candidates):
        choose_keys(scheme, similarity, distance, candidates)
    return values


@contextmanager
def _blamed_on(name: str, given: Any) -> Iterator[None]:
    """Turn what is wrong with a value into an error that names the setting."""
    try:
        yield
    except (ValueError, TypeError, ArithmeticError, ImportError, NameError) as error:
        # What these are may hold a password, or is one.
        is_secret = name in {"SIMHASH_DATABASE_URL", "SIMHASH_ENGINE_OPTIONS", "SIMHASH_SECRET"}
        shown = "" if is_secret else f" = {shortened(repr(given))}"
        why = shortened(str(error), _WHY)
        raise SettingError(f"{name}{shown}: {why}") from None if is_secret else error
