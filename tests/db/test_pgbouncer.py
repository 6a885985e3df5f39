"""PostgreSQL behind pgbouncer, where a transaction may get any of the server's connections."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from claims import article
from servers import empty_database, pgbouncer
from sqlalchemy import create_engine, text
from sqlalchemy.engine import URL

from scrapy_simhash.index.index import Index

pytestmark = pytest.mark.slow
SETTINGS = text(
    "SELECT current_setting('statement_timeout'), current_setting('lock_timeout') FROM pg_sleep(.1)"
)


@pytest.fixture
def url(tmp_path: Path) -> Iterator[URL]:
    with empty_database("postgresql", tmp_path) as database, pgbouncer(database) as pooled:
        yield pooled


def test_several_writers_share_the_connections_of_a_pooler(url: URL) -> None:
    kinds: list[str] = []
    failed: list[BaseException] = []

    def write() -> None:
        try:
            with Index(url) as index:
                for number in range(40):
                    verdict = index.claim(article(number), key=str(number))
                    index.confirm(verdict)
                    kinds.append(verdict.kind)
        except BaseException as error:  # noqa: BLE001 - shown below
            failed.append(error)

    writers = [threading.Thread(target=write) for _ in range(4)]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    assert failed == []
    assert kinds.count("unique") == 40
    assert len(kinds) == 160


def test_no_setting_stays_on_a_connection_that_others_use(url: URL) -> None:
    with Index(url, timeout=2) as index:
        index.claim_many({"text": article(n), "key": str(n)} for n in range(3))
        limits = index.database.read(lambda connection: connection.execute(SETTINGS).one())
        assert limits == ("2s", "250ms")
        other = create_engine(url)
        # Both connections of the pooler.
        with other.connect() as one, other.connect() as two:
            found = [tuple(connection.execute(SETTINGS).one()) for connection in (one, two)]
        other.dispose()
    assert found == [("0", "0")] * 2
