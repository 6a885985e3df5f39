"""Lines are read by orjson where it returns what json does, and otherwise by json."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_simhash.feed import json_lines
from scrapy_simhash.feed.json_lines import JsonLines
from scrapy_simhash.feed.source import RecordError

FILE = JsonLines(Path(__file__))


def check(line):
    """The value of a line is that of json, to the type and the sign, with orjson or without it."""
    for parser in {json_lines.orjson, None}:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(json_lines, "orjson", parser)
            check_one(line)


def check_one(line):
    try:
        expected = json.loads(line.decode("utf-8-sig", "surrogatepass"))
    except (RecursionError, ValueError):
        expected = None
    if not isinstance(expected, dict):
        with pytest.raises(RecordError):
            FILE.item((1, line))
    else:
        found = FILE.item((1, line))
        assert repr(found) == repr(expected)
        assert list(found) == list(expected)


LINES = [
    b'{"text": "prose", "text": "other"}',
    b'{"text": "prose", "n": 01}',
    b'{"text": "prose", "n": NaN}',
    b'{"text": "prose", "n": 1.}',
    b'{"text": "prose", "n": -}',
    b'{"text": "prose", "n": 1e}',
    b'{"text": "prose", "n": ' + b"9" * 5000 + b"}",
    b'{"text": "prose", "n": tru}',
    b'{"text": "prose",}',
    b'{"text": "prose"',
    b'{"text": "prose"}}',
    b'{"text" "prose"}',
    b'{"te\\u0078t": "prose"}',
    b'{"text": "prose \\x"}',
    b'{"text": "prose \\ud83d"}',
    b'{"text": "prose \\ud83d\\u0041"}',
    b'{"text": "prose \\u12"}',
    b'{"text": "prose \xff"}',
    b'{"text": "prose \xed\xa0\x80"}',
    b'{"text": "prose \t"}',
    b'{"text": "prose", "bad": "\xc0\x80"}',
    b'{"text": "prose", "deep": ' + b"[" * 3000 + b"]" * 3000 + b"}",
    b'{"text": "prose", "deep": {"a": {"b": [[], {}, {"c": "d"}, -0, 1E+5]}}}',
    b'{"text": "prose", "deep": {"a" 1}}',
    b'{"text": "prose", "deep": [1 2]}',
    b'\xef\xbb\xbf{"text": "prose"}',
    b'["prose"]',
    b'"prose"',
    b"prose",
    b'{"n": 9223372036854775807, "m": -9223372036854775808, "o": 18446744073709551615}',
    b'{"n": 18446744073709551616}',
    b'{"n": [{"a": -9223372036854775809}]}',
    b'{"n": 1e400, "m": -1e400}',
    b'{"n": 1e300, "m": 123456789012345678901234567890.5}',
    b'{"n": 1e-400, "m": -0, "o": -0.0, "p": 0.30000000000000004, "q": 2.5e-324}',
    b'{"n": -Infinity}',
    b'{"a": 1, "b": 2, "a": 3}',
    b'{"\\ud800": 1}',
    b'{"text": "\x00"}',
    b'{"text": "\\u0000\x7f\xe2\x80\xa8"}',
    b'{"deep": ' + b"[" * 150 + b"]" * 150 + b"}",
    b'{"deep": ' + b'{"a": ' * 900 + b"1e400" + b"}" * 900 + b"}",
    b"\x00",
    b" ",
]


@pytest.mark.parametrize("line", LINES, ids=lambda line: repr(line)[2:40])
def test_a_line_has_the_value_that_json_reads(line):
    check(line)


values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9)),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(max_size=9), inner)),
)


@given(st.dictionaries(st.text(max_size=9), values), st.booleans())
@example({"a": 2**63}, True)
@example({"a": 2**64 - 1, "b": float(2**63)}, True)
@example({"a": "\ud800", "\udfff": 1}, False)
def test_any_item_has_the_value_that_json_reads(item, is_ascii):
    check(json.dumps(item, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass"))


@given(
    st.from_regex(r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
)
def test_any_number_has_the_value_that_json_reads(number):
    check(b'{"n": ' + number.encode() + b"}")


@given(st.data())
def test_damaged_lines_are_what_they_are_to_json(data):
    line = bytearray(
        '{"url": "http://a.test/é", "text": "„Größe“ \\n 中", "n": [1.5, {"a": null}]}'.encode()
    )
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(line) - 1))
        line[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    check(bytes(line))
