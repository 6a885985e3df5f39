"""What made the URLs of duplicates: parameters, mirrors, and views of a page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from scrapy_simhash.history.record import Record
from scrapy_simhash.index.words import UNCHANGED
from scrapy_simhash.item.urls import same_site, view_of
from scrapy_simhash.visible import shortened

# Folders that are named: those with a digit are as many as there are pages.
_FOLDERS = re.compile(r"[^\W\d]+(?:[-.][^\W\d]+)*(?:/[^\W\d]+(?:[-.][^\W\d]+)*)?")

#: Characters shown of a host, a folder or a parameter.
LONGEST_NAME = 40


class Cause(NamedTuple):
    """How the URL of a duplicate differs from that of its original.

    In `added` is what only one of the paths has, such as "/print"; in `hosts` are both hosts if
    they differ, and in `names` the parameters that differ. Where more differs, all is in `text`.
    """

    text: str = ""
    added: str = ""
    hosts: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.text:
            return self.text
        hosts = [f"`{shortened(host, LONGEST_NAME)}`" for host in self.hosts]
        names = [f"`{shortened(name, LONGEST_NAME)}`" for name in self.names[:3]]
        parts = [f"`{self.added}` in the path" if self.added else "same path"]
        parts += [f"on {' and '.join(hosts)}"] if hosts else []
        parts += [f"other {', '.join(names)}{' …' if len(self.names) > 3 else ''}"] if names else []
        return ", ".join(parts)


def how(record: Record) -> str:
    """What the URL of a duplicate has in common with that of its original, as a phrase.

    Of a change, where the item was before, and which site lists it.
    """
    if record.is_change:
        told = {"listed by": record.listed_by, "from": record.original}
        told["formerly"] = record.formerly
        return "; ".join(f"{what} {where}" for what, where in told.items() if where)
    if record.status == UNCHANGED:
        return "unchanged since an earlier crawl"
    return str(cause_of(record.url, record.original)) if record.original else "original deleted"


@lru_cache(maxsize=1 << 17)
def cause_of(url: str, original: str) -> Cause:
    """How the URL of a duplicate differs from that of its original."""
    if url == original:
        return Cause("listed again under the same URL")
    is_near = same_site(url, original)
    try:
        new, old = urlsplit(url), urlsplit(original)
    except ValueError:
        return Cause("at another URL")
    hosts = tuple(sorted({one.netloc.rpartition("@")[2].lower() for one in (new, old)}))
    ours, theirs = ([*filter(None, one.path.split("/"))] for one in (new, old))
    added = _added(ours, theirs)
    # Every site has a first page.
    if added is None or not (is_near or (ours and theirs)):
        is_folder = ours[-1:] == theirs[-1:] != []
        here = "in another folder" if is_folder else "elsewhere on the site"
        return Cause(here if is_near else "on another site")
    given = {*new.query.split("&")} ^ {*old.query.split("&")}
    names = tuple(sorted({part.partition("=")[0] for part in given} - {""}))
    found = Cause("", added, hosts if len(hosts) > 1 else (), names)
    if any(found):
        return found
    is_here = url.partition("#")[2] == original.partition("#")[2]
    return Cause("the same URL, written differently" if is_here else "elsewhere on the page")


def _added(ours: Sequence[str], theirs: Sequence[str]) -> str | None:
    """What one path has and the other lacks, such as "/print"; None if more differs.

    It is a folder, or a view in the place of another folder.
    """
    if ours == theirs:
        return ""
    short, long = sorted((ours, theirs), key=len)
    more = len(long) - len(short)
    start = next((place for place, one in enumerate(short) if one != long[place]), len(short))
    end = start + (more or 1)
    if short[end - more :] != long[end:]:
        return None
    views = [one for folder in (short, long) for one in folder[start:end] if is_view(one)]
    found = "/".join(long[start:end]) if more else views[0] if views else ""
    return f"/{found}" if len(found) <= LONGEST_NAME and _FOLDERS.fullmatch(found) else None


def is_view(folder: str) -> bool:
    """Whether a folder has other views of pages, such as "print"."""
    return view_of(f"http://a/{folder}/b", "http://a/b") is not None
