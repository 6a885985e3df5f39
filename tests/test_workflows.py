"""What the workflows on GitHub may do, and in which order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

WORKFLOWS = Path(__file__).parent.parent / ".github" / "workflows"

pytestmark = pytest.mark.skipif(not WORKFLOWS.is_dir(), reason="a source package has none")


def test_no_checkout_leaves_credentials_behind() -> None:
    for path in WORKFLOWS.glob("*.yml"):
        steps = re.split(r"\n *- ", path.read_text("utf-8"))
        for step in steps:
            assert "actions/checkout" not in step or "persist-credentials: false" in step, path


def test_nothing_is_published_before_its_tests() -> None:
    release = (WORKFLOWS / "release.yml").read_text("utf-8")
    publish = release[release.index("\n  publish:") :]
    assert re.search(r"needs: \[tests,", publish)
    assert "\n    uses: ./.github/workflows/ci.yml" in release
    assert "\n  workflow_call:" in (WORKFLOWS / "ci.yml").read_text("utf-8")
