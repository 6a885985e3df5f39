"""Every setting, with its default and its check. Nothing else reads a ``SIMHASH_*`` setting."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from scrapy_simhash.crawl import checks
from scrapy_simhash.crawl.checks import Compare, Revisit
from scrapy_simhash.crawl.fields import Fields, ItemField, irrelevant
from scrapy_simhash.durable import sync_folders
from scrapy_simhash.exceptions import IndexUnusable, SettingError
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import FactsMode, Known, Verdict
from scrapy_simhash.keys.plan import distance_of
from scrapy_simhash.simhash.scheme import Scheme, load_scheme, longest_text
from scrapy_simhash.text.page import Extractor, load_extractor
from scrapy_simhash.visible import shortened

# Commands that need neither a crawl nor a database import neither: both take long.
if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.settings import BaseSettings
    from sqlalchemy.engine import URL

    from scrapy_simhash.db.lock import Liveness
    from scrapy_simhash.db.transactions import Database
    from scrapy_simhash.index.index import Index
    from scrapy_simhash.index.runs import Run

#: Seconds; SIMHASH_EXPIRE is in days.
DAY = 86400

_PREFIX = "SIMHASH_"

#: Characters of an error, which may repeat a long value.
_LONGEST_ERROR = 1000


# The calls are evaluated once, as they must be.
# ruff: noqa: RUF009
def _setting(default: Any, check: Callable[[Any], Any], *, is_secret: bool = False) -> Any:
    """A setting, named after its field; `check` returns the value to use, or raises.

    If the default is None, None is valid too.
    """
    check = checks.optional(check) if default is None else check
    metadata = {"default": default, "check": check, "is_secret": is_secret}
    return field(repr=not is_secret, metadata=metadata)


def _checked_url(given: Any) -> URL:
    from scrapy_simhash.db.engine import check_url  # noqa: PLC0415

    return check_url(given)


def _item_field(setting: str) -> Any:
    return _setting(None, lambda given: ItemField(setting, checks.name(given)))


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a crawl, checked. The fields are named after the settings."""

    enabled: bool = _setting(True, checks.flag)
    database_url: URL | None = _setting(None, _checked_url, is_secret=True)
    engine_options: Mapping[str, Any] = _setting({}, checks.mapping, is_secret=True)
    secret: str | None = _setting(None, checks.secret, is_secret=True)
    namespace: str = _setting("{spider}", checks.namespace)
    on_duplicate: Literal["drop", "skip", "report"] = _setting(
        "drop", checks.one_of("drop", "skip", "report")
    )
    compare: Compare = _setting("auto", checks.one_of(*checks.COMPARE))
    fields: Fields | None = _setting(None, Fields)
    ignore_fields: Fields | None = _setting(None, Fields)
    key: Fields | None = _setting(None, Fields)
    facts: FactsMode = _setting("auto", checks.one_of("auto", "always", "never"))
    similarity: float = _setting(0.9, checks.number(0.7, 1))
    distance: int | None = _setting(None, checks.number(0, 160, int))
    scheme: Scheme = _setting("shingles", checks.name)
    scheme_options: Mapping[str, Any] = _setting({}, checks.mapping)
    extractor: Extractor = _setting("density", load_extractor)
    min_features: int = _setting(8, checks.number(1, 10_000, int))
    max_text: int = _setting(1_000_000, checks.number(1, 100_000_000, int))
    known: Known = _setting("pass", checks.one_of("pass", "drop"))
    revisit: Revisit | None = _setting(None, checks.revisit)
    revisit_budget: int = _setting(4 << 30, checks.number(0, kind=int))
    change_field: ItemField | None = _item_field("SIMHASH_CHANGE_FIELD")
    change_similarity: float = _setting(1.0, checks.number(0.7, 1))
    values: bool = _setting(True, checks.flag)
    on_crash: Literal["release", "keep"] = _setting("release", checks.one_of("release", "keep"))
    closespider_repeats: int | None = _setting(None, checks.number(1, kind=int))
    on_error: Literal["pass", "close"] = _setting("pass", checks.one_of("pass", "close"))
    timeout: float = _setting(10.0, checks.number(0.1, 3600))
    quarantine: int = _setting(1 << 30, checks.number(0, kind=int))
    group_field: ItemField | None = _item_field("SIMHASH_GROUP_FIELD")
    text_budget: int = _setting(4 << 30, checks.number(0, kind=int))
    expected_size: int = _setting(1_000_000, checks.number(1, 10**12, int))
    expire: int | None = _setting(None, checks.number(1, kind=int))
    reset: bool = _setting(False, checks.flag)
    report: Path | None = _setting(None, checks.report_file)

    @classmethod
    def read(cls, settings: BaseSettings) -> Settings:
        """Read and check the settings of a project.

        The SettingError of a wrong value or an unknown name says what is allowed.
        """
        ours = [name for name in map(str, settings) if name.startswith(_PREFIX)]
        if unknown := [name for name in ours if name not in DEFAULTS]:
            raise SettingError(f"there is no setting {', nor '.join(map(_with_hint, unknown))}")
        values = {}
        for name, one in _BY_NAME.items():
            given = settings.get(name, one.metadata["default"])
            with _blamed_on(name, given):
                values[one.name] = one.metadata["check"](given)
        return cls(**_together(values))

    @property
    def rule(self) -> Rule:
        """What makes two documents near-duplicates."""
        return Rule(
            similarity=self.similarity,
            distance=self.distance,
            scheme=self.scheme,
            facts=self.facts,
            known=self.known,
            change_similarity=self.change_similarity,
            ignored=() if self.ignore_fields is None else tuple(self.ignore_fields.names),
        )

    @property
    def near(self) -> str:
        """The rule, in words."""
        rule = self.rule
        if rule.threshold is None:
            return f"distance {rule.limit} or less"
        return f"similarity {rule.threshold:g} or more"

    @property
    def compared(self) -> str:
        """What is compared, in words; claims made otherwise may not be recognised."""
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
        """The irrelevant fields of an item."""
        ignored = () if self.ignore_fields is None else self.ignore_fields.of(item)
        written = (one for one in (self.group_field, self.change_field) if one is not None)
        free = (one.name for one in written if one.is_free(item))
        return (*ignored, *irrelevant(type(item)), *free)

    @property
    def drops(self) -> bool:
        """Whether any item is dropped."""
        return self.on_duplicate != "report" or self.known == "drop"

    def leaves_out(self, verdict: Verdict) -> bool:
        """Whether an item with this verdict is not to be stored."""
        if verdict.kind == "same":
            return self.known == "drop" and verdict.claim is None
        return verdict.kind == "duplicate" and self.on_duplicate != "report"

    def namespace_of(self, spider: Spider | None) -> str:
        """The namespace of a spider's pages, unless their requests name another."""
        return self.namespace.replace("{spider}", spider.name if spider else "")

    def locate_database(self, *, make_folder: bool = False) -> URL:
        """The URL of the database; by default a file in the data folder of the project."""
        if self.database_url is not None:
            return self.database_url
        from sqlalchemy.engine import URL  # noqa: PLC0415

        return URL.create("sqlite", database=str(_default_file(make_folder=make_folder)))

    def locate_pages(self, *, make_folder: bool = False) -> Path:
        """The file of SIMHASH_REVISIT: beside the index, or in the data folder of the project."""
        from scrapy_simhash.db.engine import sqlite_file  # noqa: PLC0415

        index = sqlite_file(self.locate_database(make_folder=make_folder))
        index = index or _default_file(make_folder=make_folder)
        return index.with_name(f"{index.stem}-pages{index.suffix}")

    @property
    def shown_database(self) -> str:
        """The path of the database, or its URL without the password."""
        from scrapy_simhash.db.engine import shown_url, sqlite_file  # noqa: PLC0415

        url = self.locate_database()
        if (path := sqlite_file(url)) is not None:
            return str(path.absolute())
        return shown_url(url)

    def open_database(
        self, liveness: Liveness | None = None, *, makes_tables: bool = True
    ) -> Database:
        """The database of earlier crawls; with `liveness` that of a crawl, in a folder it makes."""
        from scrapy_simhash.db.transactions import Database  # noqa: PLC0415

        is_crawl = liveness is not None
        return Database(
            self.locate_database(make_folder=is_crawl),
            options=self.engine_options,
            # Its own error comes before the items of a crawl give up.
            timeout=0.8 * self.timeout if is_crawl else self.timeout,
            liveness=liveness,
            secret=self.secret,
            makes_tables=makes_tables,
        )

    def open_index(self, database: Database, namespace: str, run: Run | None = None) -> Index:
        """The index of a namespace."""
        from scrapy_simhash.index.index import Index  # noqa: PLC0415

        return Index(
            database,
            namespace=namespace,
            rule=self.rule,
            run=run,
            text_budget=self.text_budget,
            item_budget=self.quarantine,
            expected_size=self.expected_size,
            compared=self.compared,
        )


_BY_NAME = {f"{_PREFIX}{one.name.upper()}": one for one in fields(Settings)}

DEFAULTS: Mapping[str, Any] = {name: one.metadata["default"] for name, one in _BY_NAME.items()}


def _default_file(*, make_folder: bool) -> Path:
    """The file of the project; without a scrapy.cfg, one in the current folder."""
    from scrapy.exceptions import NotConfigured  # noqa: PLC0415
    from scrapy.utils.conf import closest_scrapy_cfg  # noqa: PLC0415
    from scrapy.utils.project import data_path  # noqa: PLC0415

    folder = Path(".scrapy", "simhash")
    try:
        # Raised where there are settings, but no scrapy.cfg.
        with suppress(NotConfigured):
            folder = Path(data_path(folder.name))
        folder = folder.absolute()
        if make_folder:
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            # SQLite syncs the name of its file itself.
            sync_folders([folder])
    except OSError as error:
        raise IndexUnusable(
            f"the folder {folder} can't be created ({error.strerror}): set SIMHASH_DATABASE_URL"
        ) from error
    # Scrapyd runs all projects in one folder, and names the project.
    project = "" if closest_scrapy_cfg() else os.environ.get("SCRAPY_PROJECT", "")
    return folder / (f"index-{quote(project, safe='')}.db" if project else "index.db")


def _with_hint(name: str) -> str:
    """An unknown name, and the nearest setting."""
    # Without what all names begin with, which makes them look alike.
    settings = {setting.removeprefix(_PREFIX): setting for setting in DEFAULTS}
    close = difflib.get_close_matches(name.upper().removeprefix(_PREFIX), settings, 1)
    return f"{name} (did you mean {settings[close[0]]}?)" if close else name


def _together(values: dict[str, Any]) -> dict[str, Any]:
    """Check what depends on several settings: a scheme on its options, limits on the scheme."""
    name, options = values["scheme"], values["scheme_options"]
    blamed, given = "SIMHASH_SCHEME", name
    if options:
        blamed, given = f"{blamed} with SIMHASH_SCHEME_OPTIONS", (name, options)
    with _blamed_on(blamed, given):
        scheme = values["scheme"] = load_scheme(name, options)
    values["max_text"] = longest_text(scheme, values["max_text"])
    with _blamed_on("SIMHASH_DISTANCE", values["distance"]):
        distance_of(scheme, values["distance"])
    return values


@contextmanager
def _blamed_on(name: str, given: Any) -> Iterator[None]:
    """Turn an error raised inside into one that names the setting."""
    try:
        yield
    except (ValueError, TypeError, ArithmeticError, ImportError, NameError) as error:
        is_secret = name in _BY_NAME and _BY_NAME[name].metadata["is_secret"]
        shown = "" if is_secret else f" = {shortened(repr(given))}"
        why = shortened(str(error), _LONGEST_ERROR)
        raise SettingError(f"{name}{shown}: {why}") from None if is_secret else error
