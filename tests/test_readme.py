"""What the README shows does what it says."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from email import message_from_bytes
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


@pytest.fixture(scope="module")
def metadata(tmp_path_factory):
    """What a build says of the package, given the environment; read from a copy of the project."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("README.md", "LICENSE", "pyproject.toml", "setup.py"):
        shutil.copy(README.parent / name, folder)
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(README.parent / "scrapy_simhash", folder / "scrapy_simhash", ignore=ignored)

    def metadata(**given):
        kept = {key: os.environ[key] for key in os.environ if not key.startswith("GITHUB_")}
        subprocess.run(
            [
                sys.executable,
                "-c",
                "from setuptools.build_meta import *; prepare_metadata_for_build_wheel('.')",
            ],
            cwd=folder,
            env=kept | given,
            capture_output=True,
            check=True,
        )
        (path,) = folder.glob("*.dist-info/METADATA")
        return message_from_bytes(path.read_bytes())

    return metadata


LINK = re.compile(r"(!?)\[([^]]+)\]\(([^)]+)\)")


def links_of(text):
    found = LINK.findall(text)
    return [link for link in found if not re.match("https?:", link[2]) or "code.test" in link[2]]


def test_on_an_index_links_lead_to_the_repository_that_publishes(metadata):
    found = metadata(
        GITHUB_SERVER_URL="https://code.test",
        GITHUB_REPOSITORY="people/simhash",
        GITHUB_REF_NAME="v1.2.3",
    )
    here = links_of(README.read_text("utf-8"))
    assert len(here) > 15
    base = "https://code.test/people/simhash"
    assert links_of(found.get_payload()) == [
        (mark, name, f"{base}/{'raw' if mark else 'blob'}/v1.2.3/{path}")
        for mark, name, path in here
    ]
    urls = dict(line.split(", ") for line in found.get_all("Project-URL"))
    assert urls["Source"] == base
    assert urls["Changelog"] == f"{base}/blob/HEAD/CHANGELOG.md"
    assert found["Description-Content-Type"] == "text/markdown"


def test_a_package_that_nobody_publishes_has_no_link_that_leads_nowhere(metadata):
    found = metadata()
    text = found.get_payload()
    assert links_of(text) == []
    assert "Five minutes from nothing to a crawl of your own" in text
    assert "(https://scrapy.org/)" in text
    assert found.get_all("Project-URL") is None


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
