"""No message about a database shows its password."""

from __future__ import annotations

import logging
import traceback

import pytest
from scrapy.settings import Settings as ScrapySettings

from scrapy_simhash import Index
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.db.engine import shown_url
from scrapy_simhash.exceptions import IndexUnavailable, SettingError

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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SIMHASH_DATABASE_URL", f"nothing://ann:{QUOTED}@host/name?password={QUOTED}"),
        ("SIMHASH_ENGINE_OPTIONS", f'{{"connect_args": {{"password": "{HIDDEN}"}}'),
        ("SIMHASH_ENGINE_OPTIONS", [HIDDEN]),
    ],
)
def test_a_setting_that_may_hold_a_password_is_not_repeated(name, value):
    with pytest.raises(SettingError, match=name) as raised:
        Settings.read(ScrapySettings({name: value}))
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


def test_an_unknown_option_is_reported_without_the_others():
    options = {"connect_args": {"password": HIDDEN}, "nonsense": HIDDEN}
    with pytest.raises(ValueError, match="nonsense") as raised:
        Index("sqlite://", engine_options=options)
    assert HIDDEN not in traceback_of(raised.value)
