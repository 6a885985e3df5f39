"""Requests as they are stored: JSON, so that nobody who can write the index can run code."""

from __future__ import annotations

import json
from typing import Any

from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict

#: A request without what is left at its default, by the names that `Request.to_dict` uses.
Plain = dict[str, Any]

#: What components add to the meta while a request is made, and copies of a meta carry on.
_BOOKKEEPING = frozenset(
    {
        "download_latency",
        "is_start_request",
        "redirect_reasons",
        "redirect_times",
        "redirect_ttl",
        "redirect_urls",
        "retry_times",
        "simhash_asked",
        "simhash_scheduled",
    }
)

#: What depends on the page that led to a request, but not what its callback makes of the response.
#: URLs of one page may differ in their fragments.
_OF_PARENT = ("url", "priority", "dont_filter", "errback", "flags")
_META_OF_PARENT = ("depth", "link_text", "proxy", "download_slot", "download_timeout")
_HEADERS_OF_PARENT = ("Referer",)

_DEFAULTS = {"method": "GET", "encoding": "utf-8"}
_SIMPLE = frozenset({int, bool, type(None)})

#: Characters of the JSON of a request that is stored.
_LONGEST = 100_000


class StoredRequests:
    """Turns the requests of a spider into JSON, and back."""

    def __init__(self, spider: Spider) -> None:
        self._spider = spider
        self._names: dict[Any, str | None] = {}

    def is_storable(self, request: Request) -> bool:
        """Whether a later visit can make this request again, as it is.

        Called for each link of each page: the usual ones are recognised without making the JSON.
        """
        if type(request) is not Request or request.method != "GET" or request.cookies:
            return self.plain(request) is not None
        for given in (request.meta, request.cb_kwargs):
            for name, value in given.items():
                kind = type(value)
                is_short = len(value) < 1000 if kind is str else kind in _SIMPLE
                if not is_short or type(name) is not str:
                    return self.plain(request) is not None
        # Most are methods that were named before.
        names, spider = self._names, self._spider
        return all(
            (getattr(one, "__self__", None) is spider and getattr(one, "__func__", None) in names)
            or self._is_named(one)
            for one in (request.callback, request.errback)
        )

    def plain(self, request: Request) -> Plain | None:
        """A request, if it can be stored: it is a GET, and all it has is a value of JSON."""
        plain: Plain = {}
        for name in request.attributes:
            value = getattr(request, name)
            if value and value != _DEFAULTS.get(name):
                plain[name] = value
        for name in plain.keys() & {"callback", "errback"}:
            if not self._is_named(plain[name]):
                return None
            plain[name] = self._names[_function(plain[name])]
        if headers := plain.pop("headers", None):
            plain["headers"] = {
                name.decode("latin-1"): [value.decode("latin-1") for value in values]
                for name, values in headers.items()
            }
        if body := plain.get("body"):
            plain["body"] = body.decode("latin-1")
        if meta := plain.pop("meta", None):
            kept = {name: value for name, value in meta.items() if name not in _BOOKKEEPING}
            plain |= {"meta": kept} if kept else {}
        if type(request) is not Request:
            plain["_class"] = f"{type(request).__module__}.{type(request).__qualname__}"
        is_ours = plain.get("_class", "scrapy.http.").startswith("scrapy.http.")
        return plain if request.method == "GET" and is_ours and _is_json(plain) else None

    def restore(self, plain: Plain) -> Request:
        """The request; raises ValueError if the spider lacks its callback, or it is damaged."""
        given = dict(plain)
        try:
            if "body" in given:
                given["body"] = given["body"].encode("latin-1")
            given["headers"] = {
                name.encode("latin-1"): [value.encode("latin-1") for value in values]
                for name, values in given.get("headers", {}).items()
            }
            if not given.get("_class", "scrapy.http.").startswith("scrapy.http."):
                raise ValueError(f"the class {given['_class']} is not one of Scrapy's")
            return request_from_dict(given, spider=self._spider)
        except (AttributeError, TypeError, KeyError, NameError, ImportError) as error:
            raise ValueError(str(error)) from error

    def _is_named(self, callback: Any) -> bool:
        """Whether a callback is a method of the spider, by which it can be found again."""
        if callback is None:
            return True
        function = _function(callback)
        # A method of a different object may have the same function.
        if function in self._names and getattr(callback, "__self__", None) is self._spider:
            return True
        try:
            probe = Request("data:,", callback=callback).to_dict(spider=self._spider)
        except ValueError:
            return False
        self._names[function] = probe["callback"]
        return bool(getattr(callback, "__self__", None) is self._spider)


def _function(callback: Any) -> Any:
    return getattr(callback, "__func__", callback)


def _is_json(plain: Plain) -> bool:
    """Whether JSON gives back exactly the same."""
    try:
        written = json.dumps(plain)
        return len(written) <= _LONGEST and bool(json.loads(written) == plain)
    except (TypeError, ValueError, RecursionError):
        return False


def are_same(one: Plain, other: Plain) -> bool:
    """Whether two requests with one fingerprint lead to the same items.

    What the page that led to it has passed on may have changed.
    """
    return _essence(one) == _essence(other)


def _essence(plain: Plain) -> Plain:
    kept = {name: value for name, value in plain.items() if name not in _OF_PARENT}
    for part, names in (("meta", _META_OF_PARENT), ("headers", _HEADERS_OF_PARENT)):
        if part in kept:
            kept[part] = {name: one for name, one in kept[part].items() if name not in names}
    return {name: value for name, value in kept.items() if value}


def redirected(request: Request, before: Plain) -> Plain:
    """The request that a redirect makes, without what components have added to the one before."""
    kept = {name: one for name, one in before.items() if name not in {"headers", "cookies", "body"}}
    headers = before.get("headers", {})
    headers = {name: values for name, values in headers.items() if name in request.headers}
    return {**kept, "url": request.url, **({"headers": headers} if headers else {})}
