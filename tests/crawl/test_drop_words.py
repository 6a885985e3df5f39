"""The log message of a drop is one line, without control characters or passwords."""

from __future__ import annotations

import pytest

from scrapy_simhash.crawl.deduplicator import _message
from scrapy_simhash.index.verdict import ClaimRow, Document, Match
from scrapy_simhash.simhash.scheme import Sketch

HOSTILE = "http://ann:hush-hush@a.test/\x1b[2J\r\nCRITICAL: all is lost\u202e"


@pytest.mark.parametrize("exact", [False, True])
def test_a_drop_is_logged_in_one_harmless_line(exact):
    document = Document(Sketch(1, 9, None), HOSTILE, HOSTILE, exact=exact)
    match = Match(ClaimRow(key=HOSTILE, url=HOSTILE), 0, 1.0)
    message = _message("duplicate", document, match)
    assert message.isprintable()
    assert message.count("http://ann:***@a.test/\\u001b[2J") == 2
    assert "hush" not in message
