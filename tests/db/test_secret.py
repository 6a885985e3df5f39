"""The secret of a database: drawn or given, one for all who come, and shown by nothing."""

from __future__ import annotations

import traceback
from contextlib import closing
from pathlib import Path

import pytest
from servers import ENGINES, empty_database
from sqlalchemy import delete

from scrapy_simhash.db import schema
from scrapy_simhash.db.transactions import Database, drop_tables, read_secret
from scrapy_simhash.db.values import secret_of
from scrapy_simhash.exceptions import FingerprintMismatch, IndexUnavailable
from scrapy_simhash.index.index import Index

on_every_engine = pytest.mark.parametrize("engine", ENGINES)

GIVEN = "correct horse battery"


@pytest.fixture(autouse=True)
def drawn_secrets() -> None:
    """These are really drawn."""


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/seen.db"


def secret(url: object, given: str | None = None) -> bytes:
    with closing(Database(url, secret=given)) as database:
        return database.secret


def test_each_database_draws_one_and_keeps_it(tmp_path: Path) -> None:
    urls = [f"sqlite:///{tmp_path}/{number}.db" for number in range(4)]
    drawn = [secret(url) for url in urls]
    assert len({*drawn}) == 4
    assert {len(one) for one in drawn} == {16}
    assert [secret(url) for url in urls] == drawn


def test_one_that_is_given_is_taken_and_must_be_given_again_or_not_at_all(url: str) -> None:
    assert secret(url, GIVEN) == secret_of(GIVEN)
    assert secret(url) == secret(url, GIVEN) == secret_of(GIVEN)
    with pytest.raises(
        FingerprintMismatch, match=r"made with another secret.*SIMHASH_SECRET"
    ) as refused:
        secret(url, "incorrect horse battery")
    message = str(refused.value)
    assert "\n" not in message
    for shown in ("horse", secret_of(GIVEN).hex()):
        assert shown not in message
    assert secret(url) == secret_of(GIVEN)


@pytest.mark.parametrize("given", ["", "fifteen letters", 1234567890123456, b"x" * 20, None])
def test_one_that_is_too_short_is_refused_and_not_repeated(given: object) -> None:
    with pytest.raises(ValueError, match="16 characters") as refused:
        secret_of(given)  # type: ignore[arg-type]
    assert "fifteen" not in str(refused.value)


@on_every_engine
def test_who_comes_second_in_the_middle_of_it_takes_that_of_the_first(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have seen that there is none, and both have drawn one."""
    with empty_database(engine, tmp_path) as url:
        secret(url)
        with closing(Database(url)) as one:
            one.transact(lambda c: c.execute(delete(schema.meta).where(is_secret())))
            found: list[bytes] = []
            drawn = iter([b"second second se", b"never drawn at a"])

            def draw(size: int) -> bytes:
                # Meanwhile the first one has given it one.
                if not found:
                    found.append(b"first first firs")
                    one.transact(lambda c: read_secret(c, found[0]))
                return next(drawn)

            monkeypatch.setattr("scrapy_simhash.db.transactions.token_bytes", draw)
            if engine == "sqlite":
                # Its one lock makes that impossible: who has read must have the others fail.
                assert secret(url) in {b"first first firs", b"second second se"}
            else:
                assert secret(url) == b"first first firs"
            assert secret(url) == one.read(read_secret)


def is_secret() -> object:
    return schema.meta.c.name == "secret"


def test_an_index_whose_database_was_recreated_does_not_mix_the_two(url: str) -> None:
    """`reset --all` under a crawl: what that has made ready is made with the old one."""
    with closing(Database(url)) as old:
        index = Index(old)
        drop_tables(url)
        secret(url)
        ready = index.document("a text that is ready to be claimed since before", key="a")
        with pytest.raises(FingerprintMismatch, match="was reset and has another secret now"):
            index.execute([ready])
    with Index(url) as index:
        assert len(index) == 0


def test_no_error_shows_it(url: str) -> None:
    with closing(Database(url)) as database:
        held = database.secret.hex()
        database.transact(lambda c: c.execute(delete(schema.meta).where(is_secret())))
        assert held not in f"{database} {database!r} {database.engine!r}"
        with pytest.raises(IndexUnavailable) as refused:
            database.transact(lambda c: [_insert(c, held), _insert(c, held)])
        message = "".join(traceback.format_exception(refused.value))
        assert "simhash_meta" in message
        assert held not in message


def _insert(connection: object, held: str) -> None:
    connection.execute(schema.meta.insert().values(name="secret", value=held))
