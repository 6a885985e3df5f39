"""The project that a command works on: its settings, its database, its namespace."""

from __future__ import annotations

from contextlib import closing, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from scrapy_simhash import history
from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.db.engine import check_url, sqlite_file
from scrapy_simhash.db.passwords import shown_url
from scrapy_simhash.db.transactions import Database, drop_tables

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator

    from scrapy.settings import Settings as ScrapySettings
    from sqlalchemy.engine import URL

    from scrapy_simhash.index.decide import Rule
    from scrapy_simhash.index.index import Index
    from scrapy_simhash.index.verdict import FactsMode

__all__ = ["CommandError", "Project"]

P = ParamSpec("P")
T = TypeVar("T")


class CommandError(Exception):
    """An error that the user can fix; the message says in one line what is wrong."""


def _or_command_error(build: Callable[P, T]) -> Callable[P, T]:
    """Turn a ValueError, about what the user gave, into a CommandError."""

    @wraps(build)
    def built(*arguments: P.args, **options: P.kwargs) -> T:
        try:
            return build(*arguments, **options)
        except ValueError as error:
            raise CommandError(str(error)) from error

    return built


_open_database = _or_command_error(Database)
_checked = _or_command_error(check_url)


class Project:
    """The settings of the project, and its database."""

    def __init__(self, settings: ScrapySettings, options: Namespace) -> None:
        self.scrapy = settings
        self.settings = Settings.read(settings)
        self._url: str | None = getattr(options, "database", None)
        self._name: str | None = getattr(options, "namespace", None)

    @property
    def rule(self) -> Rule:
        """What makes two documents near-duplicates in a crawl of this project."""
        return self.settings.rule

    @property
    def name(self) -> str | None:
        """The chosen namespace; None where its name depends on the spider."""
        given = self.settings.namespace
        return self._name or (None if "{spider}" in given else given)

    @property
    def given_database(self) -> bool:
        """Whether the command line names a database."""
        return self._url is not None

    @property
    def database_url(self) -> URL:
        """The database of the command line, of the settings, or the project's own file."""
        if self._url is not None:
            # The path of an SQLite file will do.
            return _checked(self._url if "://" in self._url else f"sqlite:///{self._url}")
        return self.settings.locate_database()

    @property
    def shown_database(self) -> str:
        """Its URL without the password."""
        return shown_url(self.database_url)

    @contextmanager
    def database(self) -> Iterator[Database]:
        """The database, which must exist."""
        url = self.database_url
        if (path := sqlite_file(url)) is not None and not path.exists():
            hint = "" if self.given_database else "; crawl first, or use --database"
            raise CommandError(f"there is no database {path}{hint}")
        opened = _open_database(
            url,
            options=self.settings.engine_options,
            timeout=self.settings.timeout,
            secret=self.settings.secret,
            makes_tables=False,
        )
        # Changes must survive a crash of the machine once a command has reported them.
        with closing(opened) as database, database.durable():
            yield database

    @contextmanager
    def namespace(self) -> Iterator[tuple[Database, history.NamespaceRow]]:
        """The database and the chosen namespace."""
        with self.database() as database:
            yield database, history.choose_namespace(database, self.name)

    def drop_tables(self) -> None:
        """Drop our tables, whatever version made them."""
        drop_tables(self.database_url, self.settings.engine_options)

    @_or_command_error
    def plan(self, secret: bytes, facts: FactsMode | None = None) -> Plan:
        """How a corpus is compared, with the project's settings."""
        settings = self.settings
        return Plan.make(
            settings.scheme,
            secret,
            similarity=settings.similarity,
            distance=settings.distance,
            candidates=settings.candidates,
            facts=facts or settings.facts,
            expected_size=settings.expected_size,
        )

    @_or_command_error
    def index(self, database: Database, namespace: str) -> Index:
        """An index with the project's settings."""
        return self.settings.open_index(database, namespace)
