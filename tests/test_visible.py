"""Foreign text is shown without control characters and passwords."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.visible import is_secret, shortened, visible, without_passwords


@given(st.text())
def test_what_is_made_visible_is_the_same_json(text):
    shown = visible(json.dumps(text, ensure_ascii=False))
    assert json.loads(shown) == text
    assert shortened(text).isprintable() or not set(shortened(text)) & set("\x1b\u202e\n\r")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://ann:hidden@a.test/x", "http://ann:***@a.test/x"),
        ("http://ann:hid:d@en@a.test:80/x?y=1@2", "http://ann:***@a.test:80/x?y=1@2"),
        ("http://:hidden@a.test", "http://:***@a.test"),
        ("http://ann@a.test/", "http://ann@a.test/"),
        ("http://a.test:80/x@y", "http://a.test:80/x@y"),
        ("postgresql://a/b?user=u&password=hidden#x", "postgresql://a/b?user=u&password=***#x"),
        ("x://a?sslpassword=hidden&PASSWD=hidden;db_token=hidden", None),
        ("x://a?keyword=cats&monkey=1&token=", "x://a?keyword=cats&monkey=1&token="),
        ("s3://id:hidden%2F+@bucket/%(time)s.jl", "s3://id:***@bucket/%(time)s.jl"),
        ("see http://u:hidden@a and ftp://v:hidden@b", "see http://u:***@a and ftp://v:***@b"),
    ],
)
def test_passwords_of_urls_are_not_shown(url, shown):
    assert "hidden" not in without_passwords(url)
    if shown is not None:
        assert without_passwords(url) == shown


def test_a_password_is_not_shown_because_its_url_is_cut():
    assert "hid" not in shortened(f"http://ann:{'hid' * 200}@a.test/", 100)


@pytest.mark.parametrize("piece", ["://", "://a:", "?a", "?pass=", "&", "a=", "://a:b@", ":@/"])
def test_a_long_text_takes_no_time(piece):
    """Quadratic time would be an hour."""
    assert without_passwords(piece * 200_000)


@given(st.text())
def test_json_without_passwords_is_json(text):
    shown = without_passwords(json.dumps({"a": text, "url": f"x://a:b@{text}?token={text}"}))
    assert json.loads(shown).keys() == {"a", "url"}


@pytest.mark.parametrize("name", ["password", "passwd", "PWD", "ssl_key", "api-key", "DB_SECRET"])
def test_secrets_are_known_by_their_names(name):
    assert is_secret(name)
    assert not is_secret("keepalives")
    assert not is_secret("author")
