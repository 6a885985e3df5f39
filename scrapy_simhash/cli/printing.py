"""Output as JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

from scrapy_simhash.visible import iso_time, visible, without_passwords

# Times, as seconds since the epoch.
_TIMES = {"closed", "created", "first_seen", "heartbeat", "opened", "recovered", "seen"}


def print_json(value: Any) -> None:
    """Print a JSON document, without the passwords of URLs, and with readable times."""
    document = json.dumps(_with_times(value), ensure_ascii=False, indent=2)
    shown = visible(without_passwords(document))
    sys.stdout.buffer.write(shown.encode() + b"\n")
    sys.stdout.buffer.flush()


def _with_times(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _with_times(one, key) for key, one in value.items()}
    if isinstance(value, list):
        return [_with_times(one) for one in value]
    return iso_time(value) if isinstance(value, float) and name in _TIMES else value


def json_line(value: Any) -> bytes:
    """A JSON document in one line, with all values unchanged."""
    # Control characters are escaped: they could harm a terminal or an editor.
    return visible(json.dumps(value, ensure_ascii=False)).encode() + b"\n"
