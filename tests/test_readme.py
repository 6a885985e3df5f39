"""What the README shows does what it says."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import get_args

import pytest

from scrapy_simhash.crawl.document import Reason
from scrapy_simhash.crawl.settings import DEFAULTS

README = Path(__file__).parent.parent / "README.md"
SETTINGS = README.parent / "docs" / "settings.md"


@pytest.mark.parametrize("page", [README, SETTINGS.with_name("api.md")], ids=lambda page: page.name)
def test_python_block_runs_and_prints_what_its_comments_say(page, capsys):
    (block,) = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    exec(compile(block, str(page), "exec"), {})
    kind, again = capsys.readouterr().out.splitlines()
    assert kind == "unique"
    assert again == "duplicate https://example.com/story"


def test_settings_page_has_every_setting_with_its_default():
    page = SETTINGS.read_text("utf-8")
    # One is a variable of the environment: it says what the machine does, not a project.
    assert set(re.findall(r"SIMHASH_[A-Z_]+", page)) == {*DEFAULTS, "SIMHASH_NATIVE"}
    described = {}
    for heading, default in re.findall(r"^### (SIMHASH_.+)\nDefault: (.+)$", page, re.MULTILINE):
        values = re.findall(r"`([^`]+)`", default)
        described |= dict(zip(heading.split(", "), map(ast.literal_eval, values), strict=False))
    assert described == DEFAULTS


def test_settings_of_the_readme_have_their_defaults():
    rows = re.findall(r"^\| `(SIMHASH_\w+)` \| `(.+?)` \|", README.read_text("utf-8"), re.MULTILINE)
    assert len(rows) > 4
    assert [row for row in rows if DEFAULTS[row[0]] != ast.literal_eval(row[1])] == []


def test_settings_page_has_every_reason_for_which_something_is_not_compared():
    _, table = SETTINGS.read_text("utf-8").split("| reason in `simhash/skipped/` |")
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(get_args(Reason))
