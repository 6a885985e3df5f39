"""URLs of items and pages, their sites, and the parts of them that choose the page."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote, urljoin, urlsplit

from scrapy_simhash.item.keys import TRACKING, is_tracking
from scrapy_simhash.item.names import Name, is_inside, name_of

if TYPE_CHECKING:
    from tldextract import TLDExtract

_URL = re.compile(r"(?:https?|ftp)://\S++|//[\w-]++(?:\.[\w-]++)++\S*+", re.IGNORECASE)
# URLs with spaces, as some write them in hrefs: those of files; in a field of URLs, also others.
_FILE = (
    r"\S(?!.*://)[^<>\n]*"
    r"\.(?:csv|docx?|epub|gif|html?|jpe?g|mp[34]|od[pst]|pdf|png|pptx?|rar|rtf|txt|xlsx?|xml|zip)"
)
_SPACED_FILE = re.compile(rf"(?:https?|ftp)://[^\s/]+/{_FILE}", re.IGNORECASE)
_SPACED = re.compile(
    rf"(?:(?:https?|ftp):)?//[^\s/]+/\S.*|\.{{0,2}}/[^/\s].*|{_FILE}", re.IGNORECASE
)
#: Longer values are data.
LONGEST_VALUE = 8192
# The names of fields that hold the URL of the item, in this order.
OWN_NAMES = ("url", "link", "href", "permalink")
# Words in the names of fields whose URLs lead elsewhere.
_ELSEWHERE = re.compile(
    r"attach|author|avatar|base|brand|canonical|category|company|document|download|file|home|icon|"
    r"image|img|logo|next|parent|photo|picture|prev|publisher|refer|seller|shop|site|source|src|"
    r"store|thumb|user|video|audio",
    re.IGNORECASE,
)
# URLs with a host, or with a path from the root.
_FULL = re.compile(r"(?:https?:)?//[^/?#\x00-\x20]|/(?![/\x00-\x20])")
# Relative URLs that end in the name of a page, before a query and a fragment.
_RELATIVE = re.compile(
    r"(?:[^?#:;%\x00-\x20]*/)?[^/?#:;%\x00-\x20]*[^/?#:;%.\x00-\x20]/?(?:[?#]|\Z)"
)
_NO_PAGE = re.compile(r"(?:javascript|mailto|tel):(?!//)", re.IGNORECASE)
#: The end of the URL of a picture, a style, or a script.
MEDIA = re.compile(
    r"\.(?:avif|bmp|css|gif|ico|jpe?g|js|mp[34]|png|svg|webp)(?:[?#]|$)", re.IGNORECASE
)


def is_url(name: Name, text: str) -> bool:
    """Whether the value of a field is a URL."""
    if len(text) > LONGEST_VALUE:
        return False
    if "url" in name.marks:
        return len(text.split()) == 1 or _SPACED.fullmatch(text.strip()) is not None
    if "//" not in text[:16]:
        return False
    text = text.strip()
    return (_URL.fullmatch(text) or _SPACED_FILE.fullmatch(text)) is not None


def is_page_url(url: str, page_url: str) -> bool:
    """Whether a URL is that of the page.

    The comparison ignores the scheme (http or https), the case of the host, a default port, a slash
    at the end, percent-encoding, and the fragment unless it is a route ("#!/a", "#/a"). Relative
    URLs are resolved against the page.
    """
    if url == page_url:
        return True
    # Resolving a URL takes a while, and every URL of the page has its last part.
    decoded = unquote(url) if "%" in url else url
    if last_part(page_url) not in decoded and (_FULL.match(url) or _RELATIVE.match(url)):
        return False
    if url[:1] == "#" and (url == "#" or url[1].isalnum()):
        return not _compared(page_url)[3]
    if _NO_PAGE.match(url):
        return False
    return _compared(_absolute(url, page_url)) == _compared(page_url)


def is_in_url(text: str, url: str) -> bool:
    """Whether the path or query of a URL has a text, with no letter or digit beside it.

    >>> [is_in_url(text, "https://shop.example/p/17?size=4") for text in ("17", "7")]
    [True, False]
    """
    within, text = unquote(url).partition("//")[2].casefold(), text.casefold()
    start = within.find("/")
    while 0 <= start < len(within) and (start := within.find(text, start)) >= 0:
        around = within[start - 1], within[start + len(text) :][:1]
        if not any(map(str.isalnum, around)):
            return True
        start += 1
    return False


def own_url(
    fields: Mapping[str, Any], *, page_url: str, key: Sequence[str] | None, is_alone: bool = False
) -> str | None:
    """What identifies an item in later crawls, given its flat fields: in general its own URL.

    Given a `key`, these are its values, one a line. Else it is the URL in `url`, `link`, `href` or
    `permalink`, or the only one on the first level that is not of a picture, an author, a shop and
    the like. There and as a key, `#post-7` is a place on the page. It is None if that is the URL of
    the page; if the item is alone on its page, the first of the four fields tells it.
    """
    if key is not None:
        values = ([fields[name] for name in fields if is_inside(name, {field})] for field in key)
        lines = [" ".join(" ".join(_texts(value)).split()) for value in values]
        leads_there = len(lines) == 1 and lines[0].startswith(("#", "/", "http://", "https://"))
        if leads_there and is_page_url(lines[0], page_url):
            return None if is_whole_page(lines[0], page_url) else _absolute(lines[0], page_url)
        return "\n".join(lines) if any(lines) else None
    urls: dict[str, str] = {}
    for name, value in fields.items():
        url = alone(value)
        if type(url) is not str or "." in name or not is_url(name_of(name), url):
            continue
        url = url.strip()
        if not is_page_url(url, page_url) or name.casefold() in OWN_NAMES:
            is_whole = is_whole_page(url, page_url)
            urls[name.casefold()] = "" if is_whole else _absolute(url, page_url)
    for name in OWN_NAMES:
        if name in urls and (urls[name] or is_alone):
            return urls[name] or None
    candidates = {
        url
        for name, url in urls.items()
        if url and not _ELSEWHERE.search(name) and not MEDIA.search(url)
    }
    return candidates.pop() if len(candidates) == 1 else None


def is_whole_page(url: str, page_url: str) -> bool:
    """Whether a URL is that of the page, and leads to no place on it that the other does not."""
    place = url.partition("#")[2]
    is_none = not place or is_tracking(place) or place == page_url.partition("#")[2]
    return bool(is_none) and is_page_url(url, page_url)


def alone(value: Any) -> Any:
    """The only element of a list, as item loaders make them; any other value as it is."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _texts(value: Any) -> Iterator[str]:
    """Yield the scalars in a value as texts, without None."""
    if isinstance(value, (list, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
    elif value is not None:
        yield value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


@lru_cache(maxsize=1024)
def _absolute(url: str, page_url: str) -> str:
    try:
        return urljoin(page_url, url).replace(" ", "%20")
    except ValueError:
        return url


@lru_cache(maxsize=16)
def last_part(page_url: str) -> str:
    """The last segment of the path, or else the query: every URL of the page has it."""
    _, path, query, _ = _compared(page_url)
    return path.rpartition("/")[2] or query


@lru_cache(maxsize=1024)
def _compared(url: str) -> tuple[str, str, str, str]:
    """The host, path, query and route of a URL; of an invalid one, the URL itself."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url, "", "", ""
    host = re.sub(r":(?:80|443)?$", "", parts.netloc.lower())
    route = parts.fragment if parts.fragment.startswith(("!", "/")) else ""
    return host, unquote(parts.path).rstrip("/"), unquote(parts.query), route


@cache
def _extract() -> TLDExtract:
    """What finds the public suffix of a host, by the list that comes with tldextract."""
    from tldextract import TLDExtract  # noqa: PLC0415 (slow, it imports requests)

    return TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)


def site(url: str) -> str:
    """The registrable domain of a URL, else its host, else the whole string.

    Domains that a provider gives to its customers, such as those of github.io, are registrable.
    """
    host = host_of(url)
    return url if host is None else _site_of_host(host)


def same_site(a: str, b: str) -> bool:
    """Whether two URLs belong to one site; the suffix list is only needed if the hosts differ."""
    host = host_of(a)
    return (host is not None and host == host_of(b)) or site(a) == site(b)


@lru_cache(maxsize=4096)
def host_of(url: str) -> str | None:
    """The host of a URL, "" if it has none; None if it can't be parsed."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return None


@lru_cache(maxsize=1024)
def _site_of_host(host: str) -> str:
    found = _extract()(host)
    if found.suffix:
        return found.top_domain_under_public_suffix or host
    # By the list's default rule, a last label that it does not have is a suffix.
    labels = host.rstrip(".").split(".")
    is_address = labels[-1].isdigit()
    return host if is_address or not all(labels[-2:]) else ".".join(labels[-2:])


# Parts of URLs that select a view of a page: the print view, the mobile view, a session. Its
# rel=canonical tells none: old revisions in wikis and old releases of manuals name the newest one.
_VIEW = r"(?:amp|druckansicht|mobile|print(?:able|er)?(?:[-_]?(?:friendly|page|version|view))?)"
_SAME_HOST = re.compile(rf"^(?:www|m|mobil|{_VIEW})\.")
_SAME_PATH = re.compile(
    rf"^/m(?=/.)|/{_VIEW}(?=/.)|[/.]{_VIEW}(?=(?:\.html?)?/?$)"
    r"|(?<=/)(?:print|show)(?=thread\.php$)",  # vBulletin and MyBB
    re.IGNORECASE,
)
_VIEW_PARAMETER = re.compile(
    rf"{TRACKING}|m=1$|{_VIEW}(?:=\w{{0,4}})?$|[a-z]+={_VIEW}$"
    r"|(?:hl|lang(?:uage)?|ln|locale|lng|setlang|uselang)=([a-z]{2}(?:[-_][a-z]{2,4})?)$",
    re.IGNORECASE,
)

#: How two views of one page differ.
View = Literal["shown", "translated"]


def view_of(a: str, b: str) -> View | None:
    """How the views differ to which two URLs lead; None if these lead to different pages.

    >>> view_of("https://example.com/p?lang=en", "https://example.com/p?lang=de")
    'translated'
    """
    (place_a, language_a), (place_b, language_b) = map(_place_and_language, (a, b))
    if place_a != place_b:
        return None
    return "shown" if language_a == language_b else "translated"


def place(url: str) -> str:
    """A URL without what does not choose the page: two URLs of one place lead to one page.

    The scheme, "www.", the fragment, sessions, and how the page is shown are left out, such as
    for printing.

    >>> place("https://www.example.com/news/7?utm_source=mail&print=1#top")
    'example.com/news/7?'
    """
    return _place_and_language(url)[0]


@lru_cache(maxsize=4096)
def _place_and_language(url: str) -> tuple[str, str]:
    """The place of a URL, and the language of its menus, "" if the URL does not name one."""
    try:
        split = urlsplit(url)
    except ValueError:
        return url, ""
    parameters = [(part, _VIEW_PARAMETER.match(part)) for part in split.query.split("&")]
    query = "&".join(sorted(part for part, match in parameters if not match))
    language = "".join(match[1] or "" for _, match in parameters if match)
    host, path = _SAME_HOST.sub("", split.netloc.lower()), _SAME_PATH.sub("", split.path)
    return f"{host}{path.rstrip('/')}?{query}", language


# Longer URLs, and those with more parameters, are not taken apart: hostile sites make any number.
_LONGEST_URL = 2000
_MOST_PARAMETERS = 16

# What calendars and facets append to a path: /2031/05, /2031-05-03, /color=red.
_YEAR = re.compile(r"(?:19|20|21)\d\d")
_DATE_OR_FACET = re.compile(rf"{_YEAR.pattern}(?:-?\d\d){{0,2}}|[^=:]+[=:].+", re.DOTALL)
_MONTH_OR_DAY = re.compile(r"\d{1,2}")


@dataclass(frozen=True, slots=True)
class UrlParts:
    """A URL whose parameters, and dates and facets at the end of its path, have names.

    "shop.example/coats/?color" is the name of the parameter `color` of URLs below that folder,
    "town.example/events/*" that of the dates and facets at the end of a path there. The folder is
    the first one, or "*" if its name has a digit, as it may be a date itself. A page directly below
    the root stands for itself, as it may be a program; files such as "/index.html" stand together.

    Attributes:
        origin: scheme and host.
        path: the path before the dates and facets.
        tail: the dates and facets at its end.
        query: the parameters as written, sorted, each behind its name.
        folder: what the names begin with.
    """

    origin: str
    path: str
    tail: str
    query: tuple[tuple[str, str], ...]
    folder: str

    @classmethod
    def of(cls, url: str) -> UrlParts | None:
        """Take a URL apart; None if it is not an HTTP URL, or is too long."""
        if len(url) > _LONGEST_URL:
            return None
        try:
            split = urlsplit(url)
        except ValueError:
            return None
        parameters = sorted(filter(None, split.query.split("&")))
        is_http = split.scheme in {"http", "https"} and split.netloc
        if not is_http or len(parameters) > _MOST_PARAMETERS:
            return None
        path = split.path or "/"
        # A path that consists of dates and facets has no folder.
        start = _start_of_tail(path) or len(path)
        host = split.netloc.rpartition("@")[2].lower()
        segment = path[:start].split("/", 2)[1]
        name = "*" if any(map(str.isdigit, segment)) else segment
        is_folder = "/" in path[1:]
        if not is_folder and segment.endswith((".html", ".htm")):
            name = f"*.{segment.rpartition('.')[2]}"
        folder = f"{host}/{name}{'/' if is_folder else ''}"
        query = tuple((f"{folder}?{part.partition('=')[0]}", part) for part in parameters)
        return cls(f"{split.scheme}://{host}", path[:start], path[start:], query, folder)

    def names(self) -> list[str]:
        """The names of the parts."""
        names = list(dict.fromkeys(name for name, _ in self.query))
        return [*names, f"{self.folder}*"] if self.tail else names

    def without(self, names: Collection[str]) -> str:
        """The URL without the parts of these names, in a form that is equal for equal URLs."""
        tail = "" if f"{self.folder}*" in names else self.tail
        query = "&".join([part for name, part in self.query if name not in names])
        # A folder is the same page with and without a slash at the end.
        return f"{self.origin}{(self.path + tail).rstrip('/')}?{query}"


def _start_of_tail(path: str) -> int:
    """The index at which the dates and facets at the end of a path start, or its length."""
    segments = path.removesuffix("/").split("/")
    count = 0  # segments of the tail
    days = 0  # months and days in front of these, whose year has not been found yet
    for segment in reversed(segments[1:]):
        if days < 2 and _MONTH_OR_DAY.fullmatch(segment):
            days += 1
        elif _YEAR.fullmatch(segment) if days else _DATE_OR_FACET.fullmatch(segment):
            count, days = count + 1 + days, 0
        else:
            break
    return len("/".join(segments[:-count])) if count else len(path)
