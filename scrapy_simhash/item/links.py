"""The links of items: to files, which count, and to other pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from scrapy_simhash.item.names import Name
from scrapy_simhash.item.urls import LONGEST_VALUE, MEDIA, last_part, place

# The names of fields that hold files.
_FILES = re.compile(
    r"(?:^|[._])(?:files?|attachments?|downloads?)(?:_?urls?|_?links?)?$", re.IGNORECASE
)
# The URL of a file that people open, not of a part of a page; the group is its path.
_EXTENSION = (
    r"\.(?:7z|apk|avi|bz2|csv|deb|djvu|dmg|docx?|epub|exe|flac|gz|iso|m4[abv]|mkv|mobi|mov|mp[34]|"
    r"msi|od[pst]|og[gv]|pdf|pptx?|ps|rar|rpm|rtf|tar|tgz|wav|webm|xlsx?|xz|zip)"
)
_DOWNLOAD = re.compile(
    rf"(?:(?:https?|ftp):)?+(?://[^/?#]*+)?+([^?#]*{_EXTENSION})(?:[?#]|\Z)", re.IGNORECASE
)
# The ends of names in lines that are URLs, and those of files.
_END = re.compile(r"\.[A-Za-z0-9]{2,4}+(?=[?#]|$)", re.MULTILINE)
_END_OF_FILE = re.compile(_EXTENSION, re.IGNORECASE)

# Lines that are absolute URLs, and lines that are any URLs; see `is_url` and `is_page_url`.
_WHOLE_LINKS = re.compile(r"^https?://[^/?#\x00-\x20].*+", re.MULTILINE)
_LINKS = re.compile(
    r"^(?:https?://[^/?#\x00-\x20].*+|/(?:/[^/?#\x00-\x20]|(?![/\x00-\x09\x0b-\x20])).*+"
    r"|(?:javascript|mailto|tel):(?!//).*+|[^?#:;%\x00-\x20]*[^/?#:;%.\x00-\x20]/?(?:[?#].*)?$)",
    re.MULTILINE,
)

# Query parameters that hold the signature of a presigned URL, and those that come with it.
_SIGNATURE = re.compile(r"(?:.*[-_])?(?:signature|sig|hmac|token|jwt)", re.IGNORECASE)
_SIGNS = ("signature", "sig=", "hmac", "token", "jwt")
_OF_SIGNATURE = re.compile(
    rf"{_SIGNATURE.pattern}|x-(?:amz|goog|oss|cos)-.*|exp(?:ires?|iry)?|key-pair-id|policy"
    "|(?:aws|google|oss)access(?:key)?id|s[eprtv]",
    re.IGNORECASE,
)


def links_elsewhere(name: Name, values: Sequence[Any], page_url: str) -> set[str]:
    """The values of a list that are certainly URLs of other pages, and not of files.

    A few may be missing. Lists of hundreds are common, so one regular expression reads them all.
    """
    if _FILES.search(name.text) or set(map(type, values)) != {str}:
        return set()
    texts = set(values)
    joined = "\n".join(texts)
    if len(joined) > LONGEST_VALUE and max(map(len, texts)) > LONGEST_VALUE:
        return set()
    if "<" in joined:
        texts = {text for text in texts if "<" not in text}
    found = (_LINKS if "url" in name.marks else _WHOLE_LINKS).findall(joined)
    links = texts.intersection(joined.split(), found)
    if any(map(_END_OF_FILE.fullmatch, {*_END.findall(joined)})):
        links = {link for link in links if not file_of(name, link)}
    last = last_part(page_url)
    if last in joined or last in unquote("\n".join([link for link in links if "%" in link])):
        links = {link for link in links if last not in (unquote(link) if "%" in link else link)}
    return links


def file_of(name: Name, url: str) -> str:
    """The path of the file to which a URL leads; "" if it leads to a page, a picture or the like.

    In a field of files, a URL without the name of a file counts with its query.

    >>> from scrapy_simhash.item.names import name_of
    >>> file_of(name_of("link"), "https://example.com/2024/gazette.pdf?token=7")
    '/2024/gazette.pdf'
    >>> file_of(name_of("file_urls"), "https://example.com/download?id=7")
    '/download?id=7'
    """
    url = url.strip()
    if match := _DOWNLOAD.match(url):
        return match[1]
    if _FILES.search(name.text) and not MEDIA.search(url):
        path = place(unsigned(url)).rstrip("?")
        return path[path.find("/") :] if "/" in path else path
    return ""


def is_file_name(value: Any, url: str) -> bool:
    """Whether a value is the name of a file with which the path of a URL ends.

    >>> is_file_name("README.md", "https://git.example/harbour/crane/blob/main/README.md")
    True
    """
    return type(value) is str and "." in value and last_part(url) == value


def unsigned(url: str) -> str:
    """A presigned URL without its signature and expiry time; any other URL as it is.

    >>> unsigned("https://cdn.example/7.jpg?w=640&Expires=1700000000&Signature=mVq")
    'https://cdn.example/7.jpg?w=640'
    """
    path, _, query = url.partition("?")
    if not any(map(query.lower().__contains__, _SIGNS)):
        return url
    parts = {part: part.partition("=")[0] for part in query.split("&")}
    if not any(map(_SIGNATURE.fullmatch, parts.values())):
        return url
    kept = [part for part, name in parts.items() if not _OF_SIGNATURE.fullmatch(name)]
    return "?".join([path, "&".join(kept)]) if kept else path
