"""What the identity key of an item tells: its URL, and the site that lists it."""

from __future__ import annotations

import re

#: Tracking parameters and session ids, which do not select the page.
TRACKING = (
    r"(?:utm_\w+|[a-z]{1,3}clid|msclkid|[gw]braid|srsltid|spm|_g[al]|_hs(?:enc|mi)|mc_[ce]id|"
    r"phpsessid|jsessionid|session_?id)=|s(?:id)?=[0-9a-f]{16,}$"
)
_TRACKING = re.compile(TRACKING, re.IGNORECASE)

#: What the key of an entry of a list begins with that has no URL of its own; its digest follows.
UNIDENTIFIED = "item:"


def is_tracking(part: str) -> bool:
    """Whether a part of a query, or a place on a page, is a tracking parameter or a session id."""
    return _TRACKING.match(part) is not None


def untracked(url: str) -> str:
    """A URL without tracking parameters and session ids.

    >>> untracked("https://example.com/news/7?utm_source=rss&page=2#top")
    'https://example.com/news/7?page=2#top'
    """
    address, _, rest = url.partition("?")
    query, mark, place = rest.partition("#")
    parts = query.split("&")
    kept = [part for part in parts if not is_tracking(part)]
    if len(kept) == len(parts):
        return url
    return f"{address}{'?' if kept else ''}{'&'.join(kept)}{mark}{place}"


def item_url(key: str, page_url: str) -> str:
    """The URL of an item: the one in its identity key, if there is one, else that of its page."""
    url = key.partition(" ")[2] or key
    return url if url.startswith(("http://", "https://")) else page_url


def lister_of(key: str) -> str:
    """The site that lists an item whose URL is of a different site (see `key_on`); else ""."""
    lister, _, url = key.partition(" ")
    return lister if item_url(url, "") else ""
