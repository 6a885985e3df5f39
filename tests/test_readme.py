"""The README as a package index shows it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from email import message_from_bytes

import pytest
from sources import PACKAGE, ROOT

README = ROOT / "README.md"


@pytest.fixture(scope="module")
def metadata(tmp_path_factory):
    """The metadata of a build from a copy of the project, given the environment."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("README.md", "LICENSE", "pyproject.toml", "setup.py"):
        shutil.copy(ROOT / name, folder)
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(PACKAGE, folder / "scrapy_simhash", ignore=ignored)

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
