"""Which URLs are of one site, and which parts of a URL may not change the page."""

from __future__ import annotations

import pytest

from scrapy_simhash.item.urls import (
    UrlParts,
    same_site,
    site,
    view_of,
)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://news.example.co.uk/a", "example.co.uk"),
        ("http://localhost:8000/a", "localhost"),
        ("http://127.0.0.1/a", "127.0.0.1"),
        ("http://[::ffff:10.0.0.1]/a", "::ffff:10.0.0.1"),
        ("https://evil.github.io/a", "evil.github.io"),
        ("https://www.good.blogspot.com/a", "good.blogspot.com"),
        ("https://a.good.pages.dev/a", "good.pages.dev"),
        ("https://github.io/a", "github.io"),
        ("https://a.b.xn--55qx5d.cn/a", "b.xn--55qx5d.cn"),
        ("https://x.www.ck./a", "www.ck"),
        # By the list's default rule a last label that it does not have is a suffix.
        ("http://wiki.corp.lan/a", "corp.lan"),
        ("http://news.wire.example/a", "wire.example"),
        ("http://wire.test/a", "wire.test"),
        ("http://a..com/a", "a..com"),
        ("http://..lan/a", "..lan"),
        ("", ""),
        ("http://[broken", "http://[broken"),
    ],
)
def test_site_is_the_registrable_domain_or_what_stands_for_it(url: str, expected: str) -> None:
    assert site(url) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("https://www.example.com/a", "http://m.example.com:8080/b", True),
        ("https://example.com/a", "https://example.com/b", True),
        ("https://a.co.uk/", "https://b.co.uk/", False),
        ("https://evil.github.io/", "https://good.github.io/", False),
        ("http://m.corp.lan/", "http://wiki.corp.lan/", True),
        ("http://[broken", "https://example.com/", False),
    ],
)
def test_same_site(one: str, other: str, expected: bool) -> None:
    assert same_site(one, other) is expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://www.a.test/x/1/", "shown"),
        ("https://amp.a.test/x/1", "shown"),
        ("https://mobil.a.test/x/1", "shown"),
        ("https://a.test/mobil/x/1", None),
        ("https://a.test/amp/x/1", "shown"),
        ("https://a.test/x/1/print/", "shown"),
        ("https://a.test/x/print/1", "shown"),
        ("https://a.test/x/prints/1", None),
        ("https://a.test/m/x/1?m=1", "shown"),
        ("https://a.test/x/1?printable=yes&utm_source=b", "shown"),
        ("https://a.test/x/1?outputType=amp", "shown"),
        ("https://a.test/x/1?spm=a2c4g.1118&msclkid=7f&_gl=1*x", "shown"),
        ("https://a.test/x/1?clid=7", None),
        ("https://a.test/x/1?lang=de_AT", "translated"),
        ("https://a.test/x/1?sid=0123456789abcdef", "shown"),
        ("https://a.test/x/1?m=202405", None),
        ("https://a.test/x/1?size=m", None),
        ("https://a.test/x/1?lang=7", None),
        ("https://a.test/x/1/prints", None),
        ("https://a.test/x/1-print", None),
        ("https://a.test/de/x/1", None),
        ("http://[broken", None),
    ],
)
def test_a_view_of_a_page_is_at_its_place(url: str, expected: str | None) -> None:
    assert view_of("https://a.test/x/1", url) == expected


@pytest.mark.parametrize(
    ("url", "names", "rest"),
    [
        ("http://a.test/product/5?sid=1", ["a.test/product/?sid"], "http://a.test/product/5?"),
        ("http://A.test/p?b=1&a=&b=2", ["a.test/p?a", "a.test/p?b"], "http://a.test/p?"),
        ("http://a.test?p=5#top", ["a.test/?p"], "http://a.test?"),
        ("http://a.test/sql-2.html?x", ["a.test/*.html?x"], "http://a.test/sql-2.html?"),
        ("http://a.test/b/c.html?x", ["a.test/b/?x"], "http://a.test/b/c.html?"),
        ("http://me:pw@a.test/p?x", ["a.test/p?x"], "http://a.test/p?"),
        ("http://a.test/2031/05/slug?x=1", ["a.test/*/?x"], "http://a.test/2031/05/slug?"),
        ("http://a.test/events/2031/05/", ["a.test/events/*"], "http://a.test/events?"),
        ("http://a.test/events/2031-05-03", ["a.test/events/*"], "http://a.test/events?"),
        ("http://a.test/shop/hats/color=red", ["a.test/shop/*"], "http://a.test/shop/hats?"),
        ("http://a.test/product/5", [], "http://a.test/product/5?"),
        ("http://a.test/2031/05", [], "http://a.test/2031/05?"),
    ],
)
def test_parts_have_the_name_of_their_place(url, names, rest):
    url_parts = UrlParts.of(url)
    assert url_parts.names() == names
    assert url_parts.without(names) == rest


@pytest.mark.parametrize("url", ["", "page 5", "ftp://a.test/p?x=1", "http://[/", "http:///p?x=1"])
def test_what_is_no_address_has_no_parts(url):
    assert UrlParts.of(url) is None


def test_a_path_of_many_dates_takes_no_long_time():
    assert UrlParts.of("http://a.test/" + "2031/05/" * 240 + "x").names() == []
