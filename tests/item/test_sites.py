"""Which pages count as those of one site."""

from __future__ import annotations

import pytest

from scrapy_simhash.item.sites import same_site, site


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://news.example.co.uk/a", "example.co.uk"),
        ("http://localhost:8000/a", "localhost"),
        ("http://127.0.0.1/a", "127.0.0.1"),
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
        ("http://[broken", "https://example.com/", False),
    ],
)
def test_same_site(one: str, other: str, expected: bool) -> None:
    assert same_site(one, other) is expected
