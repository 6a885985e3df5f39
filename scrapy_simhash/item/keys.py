"""What the identity key of an item tells: its URL, and the site that lists it."""

from __future__ import annotations

#: What the key of an entry of a list begins with that has no URL of its own; its digest follows.
UNIDENTIFIED = "item:"


def item_url(key: str, page_url: str) -> str:
    """The URL of an item: the one in its identity key, if there is one, else that of its page."""
    url = key.partition(" ")[2] or key
    return url if url.startswith(("http://", "https://")) else page_url


def lister_of(key: str) -> str:
    """The site that lists an item whose URL is of a different site (see `key_on`); else ""."""
    lister, _, url = key.partition(" ")
    return lister if item_url(url, "") else ""
