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


@dataclass
class Author:
    """Who wrote a story, where the page says more than a name."""

    name: str | None
    about: str | None


@dataclass
class Offer:
    """What a shop sells, at its price."""

    url: str
    name: str | None
    price: str | None
    size: str | None
    description: str | None


@dataclass
class Meeting:
    """One meeting of a committee."""

    url: str
    committee: str | None
    date: str | None
    place: str | None
    agenda: str


@dataclass
class Event:
    """One line of a list of events."""

    name: str | None
    date: str | None
    place: str | None


@dataclass
class Chapter:
    """One chapter of one version of a manual."""

    url: str
    title: str | None
    version: str | None
    body: str | None
