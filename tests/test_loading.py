from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

from scrapy_simhash.classic.hashes import load_hash
from scrapy_simhash.classic.words import load_tokenizer
from scrapy_simhash.crawl.fields import Fields
from scrapy_simhash.loading import import_large, is_import_path, load_object
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


def test_a_large_module_is_imported_without_the_garbage_collector(tmp_path, monkeypatch):
    for name in ("watched", "started"):
        (tmp_path / f"{name}.py").write_text("import gc\nIS_WATCHED = gc.isenabled()\n")
    (tmp_path / "broken.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    frozen = gc.get_freeze_count()
    assert not import_large("watched", is_start=False).IS_WATCHED
    assert gc.isenabled()
    assert gc.get_freeze_count() <= frozen
    assert not import_large("started", is_start=True).IS_WATCHED
    assert gc.get_freeze_count() > frozen
    # Once only: what a second command leaves behind is collected.
    gc.unfreeze()
    import_large("started", is_start=True)
    assert gc.get_freeze_count() == 0
    with pytest.raises(ZeroDivisionError):
        import_large("broken", is_start=True)
    assert gc.isenabled()
