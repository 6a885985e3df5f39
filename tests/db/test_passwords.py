"""No message about a database shows its password."""

from __future__ import annotations

import logging
import traceback

import pytest
from scrapy.settings import Settings as ScrapySettings

from scrapy_simhash import Index
from scrapy_simhash.crawl.settings import Settings
<<<<<<< HEAD
from scrapy_simhash.db.engine import shown_url
from scrapy_simhash.exceptions import IndexUnavailable, SettingError
=======
from scrapy_simhash.db import transactions
from scrapy_simhash.db.passwords import Passwords, shown_url
from scrapy_simhash.exceptions import IndexUnavailable
>>>>>>> testsa

HIDDEN = "hush-hush/1"
QUOTED = "hush-hush%2F1"


def traceback_of(error: BaseException) -> str:
    """All that a traceback shows of it."""
    return "".join(traceback.format_exception(error)) + repr(error)


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql+psycopg://ann:{QUOTED}@127.0.0.1:1/none",
        f"postgresql+psycopg://127.0.0.1:1/none?user=ann&password={QUOTED}",
        f"postgresql+psycopg://127.0.0.1:1/none?sslpassword={QUOTED}",
        f"mysql+pymysql://ann:{QUOTED}@127.0.0.1:1/none",
    ],
)
def test_a_database_that_does_not_answer_is_named_without_its_password(url):
    with pytest.raises(IndexUnavailable) as raised:
        Index(url, timeout=0.5)
    text_shown = traceback_of(raised.value)
    assert "127.0.0.1" in text_shown
    assert HIDDEN not in text_shown
    assert QUOTED not in text_shown


@pytest.mark.parametrize(
<<<<<<< HEAD
=======
    "connect_args",
    [{"password": HIDDEN}, {"ssl": {"key_password": HIDDEN}}, {"conninfo": [HIDDEN]}],
    ids=["plain", "inside", "dsn"],
)
def test_messages_of_a_driver_and_their_causes_are_shown_without_the_password(
    monkeypatch, connect_args
):
    def fail(*arguments, **options):
        engine = create_engine("sqlite://")
        error = RuntimeError(f"no: password={HIDDEN!r} of ann")

        def connect(*more):
            raise OperationalError("", {}, error) from ValueError(HIDDEN)

        engine.connect = engine.begin = connect
        return engine

    monkeypatch.setattr(transactions, "create_engine", fail)
    options = {"connect_args": connect_args}
    with pytest.raises(IndexUnavailable, match="of ann") as raised:
        Index("sqlite://", engine_options=options, timeout=0.2)
    assert HIDDEN not in traceback_of(raised.value)


def test_a_password_that_is_a_part_of_words_spoils_no_message():
    secrets = Passwords(make_url("x://ann:a@host/name"), {})
    assert secrets.hide("a database says 'a'") == "*** database says '***'"
    assert Passwords(make_url("x://host/name"), {}).hide("as it was") == "as it was"


@pytest.mark.parametrize(
>>>>>>> testsa
    "url",
    [
        f"post gres://ann:{HIDDEN}@host:port/name",
        f"nothing://ann:{QUOTED}@host/x",
        f"sqlite://ann:{QUOTED}@host/x",
        f"mariadb+pymysql://ann:{QUOTED}@/x?host=127.0.0.1:1",
        "://",
    ],
)
def test_a_url_that_can_not_be_read_is_not_repeated(url):
    with pytest.raises(ValueError, match=r"database|SQLite|one host") as raised:
        Index(url)
    assert HIDDEN not in traceback_of(raised.value)
    assert QUOTED not in traceback_of(raised.value)


def test_neither_the_settings_nor_the_url_show_it(caplog):
    caplog.set_level(logging.DEBUG)
    url = f"postgresql://ann:{QUOTED}@host/name?sslpassword={QUOTED}&sslmode=require"
    settings = Settings.read(
        ScrapySettings(
            {
                "SIMHASH_DATABASE_URL": url,
                "SIMHASH_ENGINE_OPTIONS": {"connect_args": {"password": HIDDEN}},
            }
        )
    )
    shown = [repr(settings), settings.shown_database, shown_url(settings.locate_database())]
    for one in (*shown, caplog.text):
        assert HIDDEN not in one
        assert QUOTED not in one
    assert shown[1] == "postgresql://ann:***@host/name?sslmode=require&sslpassword=***"
