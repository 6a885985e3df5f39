"""Addresses: of an item, its page and other pages; the site of one, and what tells its page."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from scrapy_simhash.item.names import Name, is_inside, name_of

_ADDRESS = re.compile(r"(?:https?|ftp)://\S++|//[\w-]++(?:\.[\w-]++)++\S*+", re.IGNORECASE)
# With spaces, as hrefs are written: of a file; in a field of addresses also from the root on.
_FILE = (
    r"\S(?:(?!://)[^<>\n])*"
    r"\.(?:csv|docx?|epub|gif|html?|jpe?g|mp[34]|od[pst]|pdf|png|pptx?|rar|rtf|txt|xlsx?|xml|zip)"
)
_SPACED_FILE = re.compile(rf"(?:https?|ftp)://[^\s/]+/{_FILE}", re.IGNORECASE)
_SPACED = re.compile(
    rf"(?:(?:https?|ftp):)?//[^\s/]+/\S.*|\.{{0,2}}/[^/\s].*|{_FILE}", re.IGNORECASE
)
_LENGTH = 8192  # longer values are data
_NAMED = ("url", "link", "href", "permalink")
# Words in the name of a field whose address leads to something else than the item.
_ELSEWHERE = re.compile(
    r"author|avatar|base|brand|canonical|category|company|home|icon|image|img|logo|next|parent|"
    r"photo|picture|prev|publisher|refer|seller|shop|site|source|src|store|thumb|user|video|audio",
    re.IGNORECASE,
)
# Addresses with a host, or with a path from the root.
_FULL = re.compile(r"(?:https?:)?//[^/?#\x00-\x20]|/(?![/\x00-\x20])")
# Relative ones that end in the name of a page, before a query and a fragment.
_RELATIVE = re.compile(r"(?:[^?#:;%\x00-\x20]*/)?[^/?#:;%\x00-\x20]*[^/?#:;%.\x00-\x20](?:[?#]|\Z)")
_NO_PAGE = re.compile(r"(?:javascript|mailto|tel):(?!//)", re.IGNORECASE)
#: The end of the URL of a picture, a style, or a script.
MEDIA = re.compile(
    r"\.(?:avif|bmp|css|gif|ico|jpe?g|js|mp[34]|png|svg|webp)(?:[?#]|$)", re.IGNORECASE
)


def is_address(name: Name, text: str) -> bool:
    """Whether a value is a web address; e-mail addresses are not."""
    if len(text) > _LENGTH:
        return False
    if "address" in name.marks:
        return len(text.split()) == 1 or _SPACED.fullmatch(text.strip()) is not None
    if "//" not in text[:16]:
        return False
    text = text.strip()
    return (_ADDRESS.fullmatch(text) or _SPACED_FILE.fullmatch(text)) is not None


def is_page(address: str, page_url: str) -> bool:
    """Whether an address is that of the page.

    The comparison ignores the scheme (http or https), the case of the host, a default port, a slash
    at the end, percent-encoding, and the fragment unless it is a route ("#!/a", "#/a"). Relative
    addresses are resolved against the page.
    """
    if address == page_url:
        return True
    # Resolving an address takes a while.
    if (_FULL.match(address) or _RELATIVE.match(address)) and _lacks_end(address, page_url):
        return False
    if address[:1] == "#" and (address == "#" or address[1].isalnum()):
        return not _compared(page_url)[3]
    if _NO_PAGE.match(address):
        return False
    return _compared(_absolute(address, page_url)) == _compared(page_url)


def is_part(text: str, address: str) -> bool:
    """Whether a value stands in the path or query of an address, between other signs."""
    where, text = unquote(address).partition("//")[2].casefold(), text.casefold()
    start = where.find("/")
    while 0 <= start < len(where) and (start := where.find(text, start)) >= 0:
        around = where[start - 1], where[start + len(text) :][:1]
        if not any(map(str.isalnum, around)):
            return True
        start += 1
    return False


def is_other_page(value: Any, page_url: str) -> bool:
    """Whether a value is obviously the address of another page: it lacks the end of this one's.

    Resolving an address takes a while, and items with hundreds of links are common.
    """
    return type(value) is str and bool(_FULL.match(value)) and _lacks_end(value, page_url)


def _lacks_end(address: str, page_url: str) -> bool:
    return _tail(page_url) not in (unquote(address) if "%" in address else address)


def own_address(
    fields: Mapping[str, Any], *, page_url: str, key: Sequence[str] | None
) -> str | None:
    """The address of the item itself, which identifies it in later crawls, given its flat fields.

    That are the values of `key`, one a line, which need not be addresses; else the address in
    `url`, `link`, `href` or `permalink`, or the only one on the first level, not counting pictures,
    authors, shops and the like. None if there is none, or only that of the page.
    """
    if key is not None:
        inside = ([fields[name] for name in fields if is_inside(name, {one})] for one in key)
        parts = [" ".join(" ".join(_texts(values)).split()) for values in inside]
        if not any(parts) or (len(parts) == 1 and is_page(parts[0], page_url)):
            return None
        return "\n".join(parts)
    found: dict[str, str] = {}
    for name, value in fields.items():
        # Item loaders make lists of one.
        one = value[0] if isinstance(value, list) and len(value) == 1 else value
        if type(one) is not str or "." in name or not is_address(name_of(name), one):
            continue
        if not is_page(one.strip(), page_url):
            found[name.casefold()] = _absolute(one.strip(), page_url)
    for name in _NAMED:
        if name in found:
            return found[name]
    others = {
        address
        for name, address in found.items()
        if not _ELSEWHERE.search(name) and not MEDIA.search(address)
    }
    return others.pop() if len(others) == 1 else None


def _texts(value: Any) -> Iterator[str]:
    """The scalars in a value as text, without empty ones."""
    if isinstance(value, (list, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
    elif value is not None:
        yield value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


@lru_cache(maxsize=1024)
def _absolute(address: str, page_url: str) -> str:
    try:
        return urljoin(page_url, address).replace(" ", "%20")
    except ValueError:
        return address


@lru_cache(maxsize=16)
def _tail(page_url: str) -> str:
    """The last segment of the path, or else the query: every address of the page has it."""
    _, path, query, _ = _compared(page_url)
    return path.rpartition("/")[2] or query


@lru_cache(maxsize=1024)
def _compared(url: str) -> tuple[str, str, str, str]:
    """Host, path, query and route of a URL, which `is_page` compares; of an invalid one the URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url, "", "", ""
    host = re.sub(r":(?:80|443)?$", "", parts.netloc.lower())
    route = parts.fragment if parts.fragment.startswith(("!", "/")) else ""
    return host, unquote(parts.path).rstrip("/"), unquote(parts.query), route


@cache
def _suffixes() -> frozenset[str]:
    """The public suffixes of several labels, of registries and providers.

    They are in the list that tldextract has with it, which itself takes 10 MB and a tenth of a
    second: it imports requests and builds two trees. By the list's default rule, any last label is
    a suffix.
    """
    package = find_spec("tldextract")
    path = Path(package.origin if package and package.origin else "").with_name(".tld_set_snapshot")
    with path.open(encoding="utf-8") as lines:
        return frozenset(line.rstrip() for line in lines if "." in line and line[0] != "/")


def site(url: str) -> str:
    """The registrable domain of a URL, else its host, else the whole string.

    Domains that a provider gives to its customers, such as those of github.io, are registrable.
    """
    host = host_of(url)
    return url if host is None else _site_of_host(host)


def same_site(one: str, other: str) -> bool:
    """Whether two URLs belong to one site; the suffix list is only needed if the hosts differ."""
    host = host_of(one)
    return (host is not None and host == host_of(other)) or site(one) == site(other)


# Most URLs, of which it finds the same parts as `urlsplit` in a fraction of the time.
_PLAIN = re.compile(
    r"(https?)://(([a-z0-9.-]+)(?::[0-9]*)?)(/[!-\"$->@-~]*)?(?:\?([!-\"$-~]*))?(?:#.*)?\Z",
    re.DOTALL,
)


def split_url(url: str) -> SplitResult:
    """The parts of a URL but its fragment. Raises ValueError if it can't be parsed."""
    if found := _PLAIN.match(url):
        return SplitResult(found[1], found[2], found[4] or "", found[5] or "", "")
    return urlsplit(url)._replace(fragment="")


def host_of(url: str) -> str | None:
    """The host of a URL, "" if it has none; None if it can't be parsed."""
    if found := _PLAIN.match(url):
        return found[3]
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return None


@lru_cache(maxsize=1024)
def _site_of_host(host: str) -> str:
    suffixes, labels = _suffixes(), host.rstrip(".").split(".")
    if labels[-1].isdigit():  # an IP address
        return host
    names = list(map(_unicode, labels))
    start = 0
    for start in range(len(labels)):
        suffix, parent = (".".join(names[place:]) for place in (start, start + 1))
        if f"!{suffix}" in suffixes:
            return ".".join(labels[start:])
        if suffix in suffixes or f"*.{parent}" in suffixes:
            break
    return ".".join(labels[start - 1 :]) if start and labels[start - 1] else host


def _unicode(label: str) -> str:
    """A part of a host as it is in the list of suffixes."""
    label = label.lower()
    if not label.startswith("xn--"):
        return label
    try:
        return label.encode("ascii").decode("idna")
    except UnicodeError:
        return label


# Hosts, parts of a path and parameters that do not tell which page it is, but how it is shown: for
# printing, on a telephone, in a session, with menus in another language.
_VIEW = r"(?:amp|druckansicht|mobile|print(?:able|er)?(?:[-_]?(?:friendly|page|version|view))?)"
_SAME_HOST = re.compile(rf"^(?:www|m|{_VIEW})\.")
_SAME_PATH = re.compile(
    rf"^/(?:m|{_VIEW})(?=/.)|[/.]{_VIEW}(?=(?:\.html?)?/?$)"
    # vBulletin and MyBB
    r"|(?<=/)(?:print|show)(?=thread\.php$)",
    re.IGNORECASE,
)
_STATE = re.compile(
    r"(?:utm_\w+|fbclid|gclid|mc_[ce]id|phpsessid|jsessionid|session_?id)=|s(?:id)?=[0-9a-f]{16,}$"
    rf"|m=1$|{_VIEW}(?:=\w{{0,4}})?$|[a-z]+={_VIEW}$"
    r"|(?:hl|lang(?:uage)?|ln|locale|lng|setlang|uselang)=([a-z]{2}(?:[-_][a-z]{2,4})?)$",
    re.IGNORECASE,
)

#: How two pages of one place differ.
View = Literal["shown", "translated"]


def view_of(one: str, other: str) -> View | None:
    """Whether two URLs are of one place, and whether with menus in another language."""
    (here, language), (there, another) = _place(one), _place(other)
    return None if here != there else "translated" if language != another else "shown"


def place(url: str) -> str:
    """Where a page stands: its URL without what does not tell which page it is.

    That is the scheme, "www.", the fragment, sessions, and how it is shown, as for printing. Two
    URLs of one place lead to two versions of one page.
    """
    return _place(url)[0]


@lru_cache(maxsize=1024)
def _place(url: str) -> tuple[str, str]:
    """The place, and the language of the page around its text, if the URL names it."""
    try:
        split = split_url(url)
    except ValueError:
        return url, ""
    found = [(one, _STATE.match(one)) for one in split.query.split("&")]
    query = "&".join(sorted(one for one, is_state in found if not is_state))
    language = "".join(state[1] or "" for _, state in found if state)
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
class Address:
    """A URL, taken apart.

    The name of a part says where it stands: "shop.example/coats/?color" is the parameter `color`
    of URLs below that folder, "town.example/events/*" a date or facet at the end of a path there.
    The folder is the first one, or "*" if its name has a digit, as it may be a date itself. A page
    directly below the root is a place of its own, as it may be a program; files such as
    "/index.html" are one place together. The tail are the dates and facets at the end of the path;
    parameters are as written, sorted, each behind the name of its part.
    """

    site: str
    path: str
    tail: str
    query: tuple[tuple[str, str], ...]
    place: str

    @classmethod
    def of(cls, url: str) -> Address | None:
        """Take a URL apart; None if it is not an HTTP URL, or too long."""
        if len(url) > _LONGEST_URL:
            return None
        try:
            split = split_url(url)
        except ValueError:
            return None
        given = sorted(filter(None, split.query.split("&")))
        is_web = split.scheme in {"http", "https"} and split.netloc
        if not is_web or len(given) > _MOST_PARAMETERS:
            return None
        path = split.path or "/"
        # A path that consists of dates and facets has no folder.
        start = _start_of_tail(path) or len(path)
        host = split.netloc.rpartition("@")[2].lower()
        first = path[:start].split("/", 2)[1]
        folder = "*" if any(map(str.isdigit, first)) else first
        is_folder = "/" in path[1:]
        if not is_folder and first.endswith((".html", ".htm")):
            folder = f"*.{first.rpartition('.')[2]}"
        place = f"{host}/{folder}{'/' if is_folder else ''}"
        query = tuple((f"{place}?{one.partition('=')[0]}", one) for one in given)
        return cls(f"{split.scheme}://{host}", path[:start], path[start:], query, place)

    def parts(self) -> list[str]:
        """The names of its parts."""
        found = list(dict.fromkeys(part for part, _ in self.query))
        return [*found, f"{self.place}*"] if self.tail else found

    def without(self, parts: Collection[str]) -> str:
        """The URL without some of its parts, in a form that is equal for equal URLs."""
        tail = "" if f"{self.place}*" in parts else self.tail
        query = "&".join([given for part, given in self.query if part not in parts])
        # A folder is the same page with and without a slash at the end.
        return f"{self.site}{(self.path + tail).rstrip('/')}?{query}"


def _start_of_tail(path: str) -> int:
    """The index at which the dates and facets at the end of a path start; its length if none."""
    segments = path.removesuffix("/").split("/")
    count = days = 0  # segments of the tail; months and days in front of it, without their year yet
    for segment in reversed(segments[1:]):
        if days < 2 and _MONTH_OR_DAY.fullmatch(segment):
            days += 1
        elif _YEAR.fullmatch(segment) if days else _DATE_OR_FACET.fullmatch(segment):
            count, days = count + 1 + days, 0
        else:
            break
    return len("/".join(segments[:-count])) if count else len(path)


def address_of(key: str, url: str) -> str:
    """The address of an item: that in its identity key, if there is one, else that of its page."""
    address = key.partition(" ")[2] or key
    return address if address.startswith(("http://", "https://")) else url


def lister_of(key: str) -> str:
    """The site that lists an item under the address of another site (see `key_on`); else ""."""
    lister, _, address = key.partition(" ")
    return lister if address_of(address, "") else ""
