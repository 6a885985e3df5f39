"""The project that a command works on: its settings, its database, its namespace."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash import history
from scrapy_simhash.cli.errors import CommandError
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.db.engine import check_url
from scrapy_simhash.db.transactions import Database

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from scrapy.settings import Settings as ScrapySettings
    from sqlalchemy.engine import URL

    from scrapy_simhash.index.index import Index
    from scrapy_simhash.index.runs import Run

__all__ = ["Project"]


class Project:
    """The settings of the project, and its database."""

    def __init__(self, settings: ScrapySettings, options: Namespace) -> None:
        self.scrapy = settings
        self.settings = Settings.read(settings)
        self._url: str | None = getattr(options, "database", None)
        self._name: str | None = getattr(options, "namespace", None)

    @property
    def limit(self) -> int:
        """The distance up to which documents are near-duplicates."""
        return self.settings.limit

    @property
    def name(self) -> str | None:
        """The namespace that is asked for; None where its name depends on the spider."""
        given = self.settings.namespace
        return self._name or (None if "{spider}" in given else given)

    @contextmanager
    def database(self) -> Iterator[Database]:
        """The database, which must be there."""
        url = self.database_url
        path = url.database
        if (
            url.get_backend_name() == "sqlite"
            and path
            and not path.startswith("file:")
            and not Path(path).exists()
        ):
            raise CommandError(
                f"there is no database {path} yet: nothing was crawled, or --database is wanted"
            )
        database = Database(
            url, options=self.settings.engine_options, timeout=self.settings.timeout
        )
        try:
            yield database
        finally:
            database.close()

    @property
    def given_database(self) -> bool:
        """Whether the command line names a database."""
        return self._url is not None

    @property
    def database_url(self) -> URL:
        """That of the command line, of the project, or of its own file."""
        if self._url is not None:
            # A file is what people have at hand.
            url = self._url if "://" in self._url else f"sqlite:///{self._url}"
            try:
                return check_url(url)
            except ValueError as error:
                raise CommandError(f"--database: {error}") from error
        return self.settings.locate_database()

    @contextmanager
    def namespace(self) -> Iterator[tuple[Database, history.NamespaceRow]]:
        """The database and the namespace in it."""
        with self.database() as database:
            yield database, history.choose_namespace(database, self.name)

    def index(
        self,
        database: Database,
        namespace: str,
        run: Run | None = None,
        text_budget: int | None = None,
    ) -> Index:
        """An index with the project's settings."""
        return self.settings.open_index(database, namespace, run, text_budget)
