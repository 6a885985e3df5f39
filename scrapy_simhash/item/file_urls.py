"""Files that an item links to: what their URLs tell."""

from __future__ import annotations

import re

from scrapy_simhash.item.addresses import MEDIA, place
from scrapy_simhash.item.names import Name

# Names of fields of files.
_FILES = re.compile(
    r"(?:^|[._])(?:files?|attachments?|downloads?)(?:_?urls?|_?links?)?$", re.IGNORECASE
)
# A file for people, and its path.
_DOWNLOAD = re.compile(
    r"(?:(?:https?|ftp):)?+(?://[^/?#]*+)?+([^?#]*\.(?:7z|apk|avi|bz2|csv|deb|djvu|dmg|docx?|epub|exe|"
    r"flac|gz|iso|m4[abv]|mkv|mobi|mov|mp[34]|msi|od[pst]|og[gv]|pdf|pptx?|ps|rar|rpm|rtf|tar|tgz|"
    r"wav|webm|xlsx?|xz|zip))(?:[?#]|\Z)",
    re.IGNORECASE,
)


def file_of(name: Name, address: str) -> str:
    """The path of a file that an address leads to; "" for a page, a picture or anything else.

    In a field of files, an address without the name of a file has its query as well.

    >>> from scrapy_simhash.item.names import name_of
    >>> file_of(name_of("link"), "https://example.com/2024/gazette.pdf?token=7")
    '/2024/gazette.pdf'
    >>> file_of(name_of("file_urls"), "https://example.com/download?id=7")
    '/download?id=7'
    """
    if found := _DOWNLOAD.match(address.strip()):
        return found[1]
    if _FILES.search(name.text) and not MEDIA.search(address):
        path = place(address.strip()).rstrip("?")
        return path[path.find("/") :] if "/" in path else path
    return ""
