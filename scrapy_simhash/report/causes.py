"""What made the URLs of duplicates, and what to change so that they are not crawled."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.db.values import SAME
from scrapy_simhash.history.advice import Advice
from scrapy_simhash.item.addresses import host_of, same_site, split_url, view_of
from scrapy_simhash.item.irrelevant import LEAST
from scrapy_simhash.visible import shortened

if TYPE_CHECKING:
    from scrapy_simhash.history.pairs import Pair
    from scrapy_simhash.history.patterns import Pattern

# Folders that are named: those with a digit are as many as there are pages.
_FOLDERS = re.compile(r"[^\W\d]+(?:[-.][^\W\d]+)*(?:/[^\W\d]+(?:[-.][^\W\d]+)*)?")
_LONGEST = 40


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
        hosts = [f"`{shortened(host, _LONGEST)}`" for host in self.hosts]
        names = [f"`{shortened(name, _LONGEST)}`" for name in self.names[:3]]
        parts = [f"`{self.added}` in the path" if self.added else "same path"]
        parts += [f"on {' and '.join(hosts)}"] if hosts else []
        parts += [f"other {', '.join(names)}{' …' if len(self.names) > 3 else ''}"] if names else []
        return ", ".join(parts)


def how(drop: Pair) -> str:
    """What the URL of a duplicate has in common with that of its original, as a phrase."""
    if drop.action == SAME:
        return "unchanged since an earlier crawl"
    if drop.original is None:
        return "the original was replaced or pruned since"
    return str(cause_of(drop.url, drop.original))


@lru_cache(maxsize=1 << 17)
def cause_of(url: str, original: str) -> Cause:
    """How the URL of a duplicate differs from that of its original."""
    if url == original:
        return Cause("listed again under the same URL")
    is_near = same_site(url, original)
    try:
        new, old = split_url(url), split_url(original)
    except ValueError:
        return Cause("on another site")
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
    return found if any(found) else Cause("the same URL, written differently")


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
    views = [one for folder in (short, long) for one in folder[start:end] if _is_view(one)]
    found = "/".join(long[start:end]) if more else views[0] if views else ""
    return f"/{found}" if len(found) <= _LONGEST and _FOLDERS.fullmatch(found) else None


def _is_view(folder: str) -> bool:
    """Whether a folder has other views of pages, such as "print"."""
    return view_of(f"http://a/{folder}/b", "http://a/b") is not None


def avoidable(drops: Iterable[Pair], patterns: Iterable[Pattern]) -> Iterator[Advice]:
    """What else made the URLs of duplicates, and how not to crawl them.

    The patterns are parts of URLs that only repeat pages: these are known already.
    """
    pairs = [(drop.url, drop.original) for drop in drops if drop.original is not None]
    yield from _mirrors(pairs)
    views, names = Counter[str](), Counter[str]()
    known = defaultdict[str | None, set[str]](set)
    for one in patterns:
        known[host_of(f"http://{one.part}")].add(one.part.partition("?")[2])
    for url, original in pairs:
        cause = cause_of(url, original)
        names.update({*cause.names} - known[host_of(url)] - known[host_of(original)])
        if cause.added and _is_view(cause.added[1:]):
            views[cause.added] += 1
    for added, count in _often(views):
        yield Advice(
            f"LinkExtractor(deny=[{f'{re.escape(added)}(/|$)'!r}])",
            f"{count:,} duplicates had `{added}` in the path of one URL. If that is another view "
            "of the same page, do not follow links to it",
        )
    for name, count in _often(names):
        yield Advice(
            "",
            f"{count:,} duplicates have another `{shortened(name, _LONGEST)}` in the URL than "
            f"their originals. There is no rule for it: that needs {LEAST} different pages in one "
            "folder of a site, none of which changes with it",
        )


def _mirrors(pairs: Sequence[tuple[str, str]]) -> Iterator[Advice]:
    """Hosts that have the same pages under the same paths."""
    found = Counter[tuple[str, ...]]()
    paths = defaultdict[str, set[str]](set)
    copies = Counter[str]()
    for url, original in pairs:
        cause = cause_of(url, original)
        for one in (url, original):
            paths[host_of(one) or ""].add(one.partition("?")[0])
        if cause.hosts and (not cause.added or _is_view(cause.added[1:])):
            found[cause.hosts] += 1
            copies[host_of(url) or ""] += 1
    for both, count in _often(found):
        hosts = sorted({host.partition(":")[0] for host in both} - {""})
        if len(hosts) > 1:
            # Who denies a domain denies all its hosts. Of two mirrors, deny the one that has less.
            parts = tuple(f".{host}" for host in hosts)
            mirror, other = sorted(
                hosts, key=lambda one: (not one.endswith(parts), len(paths[one]), -copies[one])
            )
            yield Advice(
                f"LinkExtractor(deny_domains=[{mirror!r}])",
                f"{count:,} duplicates had the same path on `{mirror}` and `{other}`. If one is a "
                "mirror of the other, follow links to one of them only",
            )


def _often(found: Counter[Any]) -> list[tuple[Any, int]]:
    return [(one, count) for one, count in found.most_common(3) if count >= LEAST]
