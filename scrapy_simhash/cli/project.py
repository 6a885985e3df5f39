"""The project that a command works on: its settings, its database, its namespace."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.visible import plural

# Databases take long to import, and some commands need none.
if TYPE_CHECKING:
    from scrapy_simhash.db.transactions import Database
    from scrapy_simhash.history.sql import NamespaceRow, Selection


class CommandError(Exception):
    """An error that the user can fix; the message says in one line what is wrong."""


class Project:
    """The settings of the project, and its database."""

    def __init__(self, settings: Any, options: Namespace) -> None:
        self.scrapy = settings
        self.settings = Settings.read(settings)
        self._name: str | None = getattr(options, "namespace", None)

    @property
    def name(self) -> str | None:
        """The chosen namespace; None where its name depends on the spider."""
        given = self.settings.namespace
        return self._name or (None if "{spider}" in given else given)

    @contextmanager
    def database(self) -> Iterator[Database]:
        """The database, which must exist."""
        from scrapy_simhash.db.engine import sqlite_file  # noqa: PLC0415

        path = sqlite_file(self.settings.locate_database())
        if path is not None and not path.exists():
            raise CommandError(f"there is no database {path}; crawl first, or use --database")
        try:
            opened = self.settings.open_database(makes_tables=False)
        except ValueError as error:
            raise CommandError(str(error)) from error
        with closing(opened) as database:
            yield database

    @contextmanager
    def namespace(self) -> Iterator[NamespaceRow]:
        """The chosen namespace; without a name the only one, as something will be deleted."""
        from scrapy_simhash.history.sql import choose_namespace  # noqa: PLC0415

        with self.database() as database:
            yield choose_namespace(database, self.name)

    @contextmanager
    def selections(self, options: Namespace) -> Iterator[list[tuple[NamespaceRow, Selection]]]:
        """The namespaces, each with what is :func:`selected` of it.

        Without a name these are the only one, or those of the chosen runs or of the newest.
        """
        from scrapy_simhash.history import sql  # noqa: PLC0415

        with self.database() as database:
            found = sql.namespaces_of(database, self.name, options.runs)
            if self.name is None and len(sql.read_namespaces(database)) > 1:
                names = ", ".join(repr(one.name) for one in found)
                print(f"{plural(len(found), 'Namespace')} {names}", file=sys.stderr)
            yield [(one, selected(one, options)) for one in found]


def selected(namespace: NamespaceRow, options: Namespace) -> Selection:
    """What the options have chosen; by default everything, or the last visit of each spider."""
    from scrapy_simhash.history.sql import EVERYTHING, read_selection  # noqa: PLC0415

    runs, since, site = options.runs, options.since, options.site or ""
    if options.is_everything and not runs and since is None:
        return EVERYTHING._replace(site=site)
    return read_selection(namespace, runs=runs, since=since, site=site)
