"""Foreign text is shown without control characters and passwords."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.visible import is_secret, shortened, visible, without_passwords


@given(st.text())
def test_what_is_made_visible_is_the_same_json(text):
    shown = visible(json.dumps(text, ensure_ascii=False))
    assert json.loads(shown) == text
    assert visible(shown) == shown
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
        ("http://a.test/#access_token=hidden&b=1", "http://a.test/#access_token=***&b=1"),
        ("http://a.test/p.do;jsessionid=hidden?id=5", "http://a.test/p.do;jsessionid=***?id=5"),
        ("http://a.test/p;jsessionid=hidden/b;c=1", "http://a.test/p;jsessionid=***/b;c=1"),
        ("http://a.test/?code=hidden&key=hidden", "http://a.test/?code=***&key=***"),
        ("http://a.test/?country_code=DE&keys=2", "http://a.test/?country_code=DE&keys=2"),
        ("http://a.test/?password=hi%26hidden", "http://a.test/?password=***"),
        ("http://a.test/?user%5Bpassword%5D=hidden", "http://a.test/?user%5Bpassword%5D=***"),
        ("http://a.test/?sid=7&s=8", "http://a.test/?sid=7&s=8"),
        (f"http://a.test/?sid={'0f' * 8}hidden", "http://a.test/?sid=***"),
        ("https://hidden0123456789abcdef@a.test/", "https://***@a.test/"),
        ("https://hidden0123456789abcdef:@a.test/", "https://***:***@a.test/"),
        ("//u:hidden@a.test/", "//u:***@a.test/"),
    ],
)
def test_passwords_of_urls_are_not_shown(url, shown):
    assert "hidden" not in without_passwords(url)
    if shown is not None:
        assert without_passwords(url) == shown


@pytest.mark.parametrize("times", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://a.test/?token=hi%26hidden&b=1#c", "https://a.test/?token=***&b=1#c"),
        ("https://ann:hi%2Fhidden@a.test/", "https://ann:***@a.test/"),
        ("https://a.test/x;jsessionid=hidden?b=1", "https://a.test/x;jsessionid=***?b=1"),
        ("https://a.test/#id_token=hidden", "https://a.test/#id_token=***"),
    ],
)
def test_nor_are_those_of_urls_in_urls(url, shown, times):
    for _ in range(times):
        url, shown = (quote(one, safe="*") for one in (url, shown))
    for lower in (str, str.lower):
        around = "https://b.test/login?next={}&d=2".format
        assert without_passwords(around(lower(url))) == around(lower(shown))


def test_a_password_is_not_shown_because_its_url_is_cut():
    assert "hid" not in shortened(f"http://ann:{'hid' * 200}@a.test/", 100)


PIECES = ["://", "://a:", "?a", "?pass=", "&", "a=", "://a:b@", ":@/", "%3fa%3d", "%2f%2fa%3a"]
PIECES += ["%253fs%253d", ";pass=?", "%3bpass=/"]


@pytest.mark.parametrize("piece", PIECES)
def test_a_long_text_takes_no_time(piece):
    """Quadratic time would be an hour."""
    assert shortened(piece * 200_000)


def test_secrets_are_known_by_their_names():
    names = (
        "password passwd PWD ssl_key api-key DB_SECRET authorization Bearer jwt otp user_pw hmac"
    )
    names += " sas sig session PHPSESSID code key auth_code X-Amz-Signature ticket user[pin]"
    assert [name for name in names.split() if not is_secret(name)] == []
    plain = "keepalives author target_session_attrs postcode monkey design compass_ spin cosas"
    assert [name for name in plain.split() if is_secret(name)] == ["compass_"]


@pytest.mark.parametrize(
    "character",
    "\x1b\x7f\u00ad\u061c\u115f\u180e\u200b\u200e\u2028\u2060\u3164\uffa0\ufeff\U000e0041",
)
def test_what_nobody_sees_is_escaped(character):
    units = json.dumps(character)[1:-1]
    for before, after in (("a", "b"), ("中", "文"), ("ب", "ب"), ("\U0001f469", "\U0001f4bb")):
        assert visible(f"{before}{character}{after}") == f"{before}{units}{after}"


@pytest.mark.parametrize(
    "text",
    [
        "می\u200cخواهم",  # Persian: two parts of a word
        "क्\u200dष",  # Hindi: a half letter
        "ক্\u200c ",  # Bengali: a virama that is seen
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # a family
        "\U0001f469\U0001f3fd\u200d\U0001f4bb \u2764\ufe0f\u200d\U0001f525",
        "\u06dd\u0661",  # the number of a verse
        "one\ntwo\u00a0three\u3000",
    ],
)
def test_what_a_script_or_an_emoji_needs_stays(text):
    assert visible(text) == text
