"""Whether a callback's body runs only as its output is asked for."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING

from scrapy.spiders import CrawlSpider

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.http import Response

__all__ = ["is_lazy"]


def is_lazy(response: Response | None, spider: Spider | None) -> bool:
    """Whether the callback's body runs only as its output is asked for."""
    request = response.request if response is not None else None
    callback = request.callback if request is not None else None
    if callback is None:
        callback = spider._parse if spider is not None else None
    while isinstance(callback, partial):
        callback = callback.func
    if isinstance(spider, CrawlSpider) and callback in (spider._parse, spider._callback):
        # They return a generator, and that calls what the rule names.
        return True
    if spider is not None and callback == spider._parse:
        callback = getattr(spider, "parse", None)
    return inspect.isgeneratorfunction(callback) or inspect.isasyncgenfunction(callback)
