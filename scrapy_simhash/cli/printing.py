"""Output as JSON, in UTF-8, and values in a line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from itertools import takewhile
from typing import Any

from scrapy_simhash.visible import iso_time, shortened, visible, without_passwords

#: Characters shown of a value.
VALUE = 60
# Of these, characters behind the first difference.
_BEHIND = 10

# Times, as seconds since the epoch.
_TIMES = {"closed", "created", "first_seen", "heartbeat", "opened", "recovered", "seen"}


def print_json(value: Any) -> None:
    """Print a JSON document, without the passwords of URLs, and with readable times."""
    document = json.dumps(without_secrets(value), ensure_ascii=False, indent=2)
    sys.stdout.buffer.write(visible(document).encode() + b"\n")
    sys.stdout.buffer.flush()


def without_secrets(value: Any, name: str = "") -> Any:
    """A JSON value without the passwords of URLs, and with readable times."""
    if isinstance(value, dict):
        return {without_passwords(key): without_secrets(one, key) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_secrets(one) for one in value]
    if isinstance(value, str):
        return without_passwords(value)
    return iso_time(value) if isinstance(value, float) and name in _TIMES else value


def json_line(value: Any) -> bytes:
    """A JSON document in one line, with all values unchanged."""
    # Control characters are escaped: they could harm a terminal or an editor.
    return visible(json.dumps(value, ensure_ascii=False)).encode() + b"\n"


def print_lines(values: Iterable[Any]) -> None:
    """Print JSON documents, a line each, without the passwords of URLs, and with readable times."""
    sys.stdout.buffer.writelines(json_line(without_secrets(one)) for one in values)
    sys.stdout.buffer.flush()


def in_values(old: str | None, new: str | None) -> str:
    """Two values of a field, cut so that their first difference is seen."""
    # Before any cut: a part of a password is not recognised.
    values = ["(none)" if one is None else without_passwords(one) for one in (old, new)]
    same = sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(*values, strict=False)))
    if same > VALUE - _BEHIND and max(map(len, values)) > VALUE:
        values = [f"…{one[same - VALUE // 2 :]}" for one in values]
    return " -> ".join(shortened(one, VALUE) for one in values)
