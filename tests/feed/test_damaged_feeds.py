from __future__ import annotations

import gzip

import pytest

from scrapy_simhash.feed.files import open_source
from scrapy_simhash.feed.source import FeedError


def read(feed) -> None:
    for record in feed.records():
        feed.item(record)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("in.jsonl", b'{"text": "a"}\n{"text": ' + b"[" * 100_000, "line 2: nested too deeply"),
        ("in.jsonl", b'{"text": "\xff"}\n', "line 1: not UTF-8"),
        ("in.jsonl.gz", b"no gzip", "decompressed"),
        ("in.jsonl.gz", gzip.compress(b'{"text": "a"}\n' * 99, mtime=0)[:-9], "decompressed"),
        ("in.csv", b"text\r\n\xff\r\n", "not UTF-8"),
        ("in.csv.gz", gzip.compress(b"text\r\na\r\n", mtime=0)[:-9], "decompressed"),
    ],
)
def test_the_message_about_a_damaged_feed_names_it(
    tmp_path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FeedError, match=message) as error:
        read(open_source(path))
    assert str(path) in str(error.value)
