"""Points in time, as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["format_time"]


def format_time(seconds: float | None) -> str:
    """Seconds since the epoch as UTC, to the second; "-" for None."""
    if seconds is None:
        return "-"
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
