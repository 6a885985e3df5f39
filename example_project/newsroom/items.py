"""What the crawl stores."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Story:
    """One page with a story."""

    url: str
    title: str
    text: str
    language: str | None
