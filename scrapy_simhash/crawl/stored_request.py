"""Requests as they are stored: JSON, so that nobody who can write the index can run code."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from scrapy import Request, Spider

#: A request without what is left at its default, by the names that `Request` uses.
Plain = dict[str, Any]

#: In the meta of a request whose page is recorded: {}, or the `Plain` that it was made of. False
#: leaves a request alone. While a callback runs, it is the id of the `Plain`.
ASKED = "simhash_asked"

#: What components add to the meta while a request is made, and copies of a meta carry on; and what
#: is stored beside the request.
_BOOKKEEPING = frozenset(
    {
        ASKED,
        "depth",
        "download_latency",
        "is_start_request",
        "redirect_reasons",
        "redirect_times",
        "redirect_ttl",
        "redirect_urls",
        "retry_times",
    }
)

#: What depends on the page that led to a request, but not what its callback makes of the response.
#: URLs of one page may differ in their fragments.
_OF_PARENT = ("url", "priority", "dont_filter", "errback", "flags")
_META_OF_PARENT = ("link_text", "proxy", "download_slot", "download_timeout")

#: What Scrapy adds to the meta of a link.
_OF_LINK = {ASKED, "depth", "link_text", "rule"}

#: Characters of the JSON of a request that is stored.
_LONGEST = 100_000


class StoredRequests:
    """Turns the requests of a spider into JSON, and back."""

    def __init__(self, spider: Spider) -> None:
        self._spider = spider

    def is_storable(self, request: Request) -> bool:
        """Whether a later visit can make this request again, as it is.

        Not if it passes the duplicate filter: a page that is tried again, or asked for by several
        pages, each with values of its own, is recorded once.

        Called for each link of each page: the usual ones are recognised without making the JSON.
        """
        if request.dont_filter:
            return False
        is_link = (
            type(request) is Request
            and request.method == "GET"
            and request.meta.keys() <= _OF_LINK
            and {type(value) for value in request.meta.values()} <= {int, str}
            and not (request.cb_kwargs or request.cookies or request.body or request.flags)
            and len(request.url) < 2000
            and all(one is None or self._name(one) for one in (request.callback, request.errback))
        )
        return is_link or self.plain(request) is not None

    def plain(self, request: Request) -> Plain | None:
        """A request, if it can be stored: it is a GET, and all it has is a value of JSON."""
        names = ("url", "cookies", "priority", "dont_filter", "flags", "cb_kwargs")
        calls = [name for name in ("callback", "errback") if getattr(request, name) is not None]
        given = {
            **{name: getattr(request, name) for name in names},
            **{name: self._name(getattr(request, name)) for name in calls},
            "encoding": request.encoding if request.encoding != "utf-8" else "",
            "headers": {
                name.decode("latin-1"): [value.decode("latin-1") for value in values]
                for name, values in request.headers.items()
            },
            "body": request.body.decode("latin-1"),
            "meta": _without(request.meta, _BOOKKEEPING),
        }
        plain = {name: value for name, value in given.items() if value}
        is_ours = type(request).__module__.startswith("scrapy.http.") and request.method == "GET"
        if not is_ours or not plain.keys() >= set(calls):
            return None
        try:
            written = json.dumps(plain)
            # A copy, as callbacks may change what they are given.
            copy: Plain = json.loads(written)
        except (TypeError, ValueError, RecursionError):
            return None
        return copy if copy == plain and len(written) <= _LONGEST else None

    def restore(self, plain: Plain, depth: int) -> Request:
        """The request; raises ValueError if the spider lacks its callback, or it is damaged."""
        try:
            calls = plain.keys() & {"callback", "errback"}
            given = {**plain, **{name: getattr(self._spider, plain[name]) for name in calls}}
            given["meta"] = {**plain.get("meta", {}), "depth": depth, ASKED: plain}
            given["body"] = plain.get("body", "").encode("latin-1")
            given["headers"] = {
                name.encode("latin-1"): [value.encode("latin-1") for value in values]
                for name, values in plain.get("headers", {}).items()
            }
            return Request(**given)
        except (AttributeError, TypeError) as error:
            raise ValueError(str(error)) from error

    def _name(self, callback: Any) -> str | None:
        """The name of a method of the spider, by which it can be found again."""
        name = getattr(callback, "__name__", "")
        return name if getattr(self._spider, name, None) == callback else None


def are_same(one: Plain, other: Plain) -> bool:
    """Whether two requests with one fingerprint lead to the same items.

    What the page that led to it has passed on may have changed.
    """
    return _essence(one) == _essence(other)


def hash_of(plain: Plain) -> int:
    """A hash that is equal for requests that lead to the same items, in this process only."""
    return hash(json.dumps(_essence(plain), sort_keys=True))


def _essence(plain: Plain) -> Plain:
    meta = _without(plain.get("meta", {}), _META_OF_PARENT)
    headers = _without(plain.get("headers", {}), ("Referer",))
    return {**_without(plain, _OF_PARENT), "meta": meta, "headers": headers}


def redirected(request: Request, before: Plain) -> Plain:
    """The request that is made instead of one, without what components have added to that."""
    if request.url == before["url"]:
        return before
    headers = before.get("headers", {})
    gone = headers.keys() - {name.decode("latin-1") for name in request.headers}
    plain = {**_without(before, ("cookies", "body")), "url": request.url}
    return {**plain, "headers": _without(headers, gone)} if headers else plain


def _without(given: Mapping[str, Any], names: Collection[str]) -> Plain:
    return {name: value for name, value in given.items() if name not in names}
