from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scrapy_simhash.classic.hashes import load_hash
from scrapy_simhash.classic.words import load_tokenizer
from scrapy_simhash.crawl.fields import Fields
from scrapy_simhash.loading import is_import_path, load_object
from scrapy_simhash.text.page import load_extractor


class Product(dict[str, str]):
    class Part(dict[str, str]):
        pass


def constant(feature: Any) -> int:
    return 5


LOADERS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "extractor": ("constant", load_extractor),
    "hash": ("constant", lambda path: load_hash(path, 64)),
    "tokenizer": ("constant", lambda path: load_tokenizer(path, [])),
    "item class": ("Product", lambda path: Fields({path: ["name"]})),
}


@pytest.mark.parametrize("separator", [".", ":"])
@pytest.mark.parametrize("loader", LOADERS)
def test_import_path_is_taken_with_a_dot_and_with_a_colon(loader: str, separator: str) -> None:
    name, load = LOADERS[loader]
    load(f"{__name__}{separator}{name}")
    with pytest.raises(ValueError, match=rf"{loader}: '{__name__}{separator}missing' cannot be"):
        load(f"{__name__}{separator}missing")


def test_name_inside_a_class_is_reached() -> None:
    assert load_object("item class", f"{__name__}.Product.Part") is Product.Part


@pytest.mark.parametrize("name", ["", "shingles", "ooat-codepoints", ":", ".", "a:", ".a"])
def test_plain_name_is_no_import_path(name: str) -> None:
    assert not is_import_path(name)
