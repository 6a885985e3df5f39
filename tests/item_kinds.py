"""Items of all kinds that Scrapy takes, for tests."""

from __future__ import annotations

from dataclasses import make_dataclass
from typing import Any

import attrs
import pydantic
import scrapy


def kinds_of(*fields: str, frozen: bool = False) -> list[type[Any]]:
    """A dict and a class of each kind with these fields, all of which may be missing."""
    slots = {name: attrs.field(default=None) for name in fields}
    named = [(name, Any, None) for name in fields]
    return [
        dict,
        type("ScrapyItem", (scrapy.Item,), {name: scrapy.Field() for name in fields}),
        make_dataclass("DataItem", named, frozen=frozen, slots=frozen),
        attrs.make_class("AttrsItem", slots, frozen=frozen),
        pydantic.create_model(
            "PydanticItem", __config__={"frozen": frozen}, **dict.fromkeys(fields, (Any, None))
        ),
    ]
