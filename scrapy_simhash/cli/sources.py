"""Reads pages and texts from URLs and files."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from scrapy_simhash.cli.project import CommandError, Project
from scrapy_simhash.crawl.settings import Settings
from scrapy_simhash.text.html import decode, is_too_complex, is_too_large, parse_html
from scrapy_simhash.text.page import read_page
from scrapy_simhash.text.page_facts import page_facts

_MOST = 64 << 20


class Source(NamedTuple):
    """A page, or a text, which has no facts and no page sketch.

    The name is the URL or path as given; a file has the URL "". The excess is the part of a page
    that is larger than a crawl accepts, or "".
    """

    name: str
    url: str
    text: str
    facts: Mapping[str, str] | None = None
    page_sketch: bytes | None = None
    is_representative: bool = True
    excess: str = ""


def read_sources(project: Project, names: Sequence[str]) -> list[Source]:
    """Read URLs and files. Content that begins with "<" is a page, all other a text."""
    urls = [name for name in names if name.startswith(("http://", "https://"))]
    pages = _download(project, urls) if urls else {}
    sources = []
    for name in names:
        if name in pages:
            sources.append(_page(project.settings, name, name, pages[name]))
            continue
        content = _content(Path(name))
        if content.removeprefix(BOM_UTF8).lstrip()[:1] == b"<":
            sources.append(_page(project.settings, name, "", content))
        else:
            sources.append(Source(name, "", content.decode("utf-8-sig", "replace")))
    return sources


def _content(path: Path) -> bytes:
    with path.open("rb") as stream:
        content = stream.read(_MOST + 1)
    if len(content) > _MOST:
        raise CommandError(f"{path}: larger than 64 MiB")
    return content


def _page(settings: Settings, name: str, url: str, content: bytes) -> Source:
    if is_too_large(content):
        return Source(name, url, "", {}, excess="bytes")
    page = decode(content)
    if is_too_complex(page, is_parsed=False):
        return Source(name, url, "", {}, excess="tags, or attributes in one")
    root = parse_html(page)
    # The root may be a comment, for example.
    if not isinstance(getattr(root, "tag", None), str):
        return Source(name, url, "", {})
    assert root is not None  # noqa: S101 - None has no tag
    extracted = read_page(root, settings.extractor, most=settings.max_text)
    if extracted is None:
        return Source(name, url, "", {}, excess="text")
    return Source(
        name,
        url,
        extracted.text,
        page_facts(root),
        extracted.page_sketch,
        extracted.is_representative,
    )


def _download(project: Project, urls: Sequence[str]) -> dict[str, bytes]:
    if isinstance(project.scrapy, dict):
        raise CommandError(f"{urls[0]}: to download pages, call scrapy simhash")
    from scrapy_simhash.cli.downloads import download  # noqa: PLC0415 - imports Scrapy

    return download(project.scrapy, urls)
