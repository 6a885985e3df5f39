"""The files that items link to."""

from __future__ import annotations

import re

from scrapy_simhash.item.names import Name
from scrapy_simhash.item.urls import MEDIA, place

# The names of fields that hold files.
_FILES = re.compile(
    r"(?:^|[._])(?:files?|attachments?|downloads?)(?:_?urls?|_?links?)?$", re.IGNORECASE
)
# The URL of a file that people open, not of a part of a page; the group is its path.
_DOWNLOAD = re.compile(
    r"(?:(?:https?|ftp):)?+(?://[^/?#]*+)?+([^?#]*\.(?:7z|apk|avi|bz2|csv|deb|djvu|dmg|docx?|epub|exe|"
    r"flac|gz|iso|m4[abv]|mkv|mobi|mov|mp[34]|msi|od[pst]|og[gv]|pdf|pptx?|ps|rar|rpm|rtf|tar|tgz|"
    r"wav|webm|xlsx?|xz|zip))(?:[?#]|\Z)",
    re.IGNORECASE,
)


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
        path = place(url).rstrip("?")
        return path[path.find("/") :] if "/" in path else path
    return ""
