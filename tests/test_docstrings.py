"""The examples in docstrings."""

from __future__ import annotations

import doctest
import importlib

import pytest

import scrapy_simhash
from tests.sources import PACKAGE, ROOT

# Those of the public API that run; the others are classes that the pages of docs/ show at work.
SHOWN = ["distance", "fingerprint", "page_text", "similarity", "Index"]
WITH_EXAMPLES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted(PACKAGE.rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_give_what_they_show(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0


@pytest.mark.parametrize("name", SHOWN)
def test_a_public_function_shows_an_example(name: str) -> None:
    assert ">>> " in (getattr(scrapy_simhash, name).__doc__ or "")
