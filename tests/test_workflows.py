"""What the workflows on GitHub may do, and in which order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

WORKFLOWS = Path(__file__).parent.parent / ".github" / "workflows"
OF_THIS_REPOSITORY = {"./.github/workflows/ci.yml"}
# Trusted publishing asks for a token of its own, and nothing else writes.
WRITES = {"id-token: write"}

pytestmark = pytest.mark.skipif(not WORKFLOWS.is_dir(), reason="a source package has none")


@pytest.fixture(scope="module")
def workflows() -> dict[str, str]:
    found = {path.name: path.read_text("utf-8") for path in WORKFLOWS.glob("*.y*ml")}
    assert found
    return found


def _jobs(workflow: str) -> dict[str, str]:
    """The text of each job by its name."""
    parts = re.split(r"\n  ([\w-]+):\n", workflow[workflow.index("\njobs:") :])
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_action_is_pinned_by_its_commit(workflows: dict[str, str]) -> None:
    """A tag or a branch can be moved to other code; the comment says which version it is."""
    for name, workflow in workflows.items():
        used = re.findall(r"\buses: *(.*)", workflow)
        assert used, name
        for action in set(used) - OF_THIS_REPOSITORY:
            assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), name


def test_no_checkout_leaves_credentials_behind(workflows: dict[str, str]) -> None:
    for name, workflow in workflows.items():
        steps = re.split(r"\n *- ", workflow)
        for step in steps:
            assert "actions/checkout" not in step or "persist-credentials: false" in step, name


def test_nothing_is_published_before_its_tests(workflows: dict[str, str]) -> None:
    jobs = _jobs(workflows["release.yml"])
    needs = re.search(r"needs: \[(.*)\]", jobs["publish"])
    assert needs
    assert set(needs[1].split(", ")) == set(jobs) - {"publish"}
    # With conditions like always() a job runs although one that it needs has failed.
    conditions = re.findall(r"\bif: *(.*)", workflows["release.yml"])
    assert set(conditions) == {"github.event_name == 'push'"}
    assert "    uses: ./.github/workflows/ci.yml\n" in jobs["tests"]
    assert "continue-on-error" not in "".join(workflows.values())
    assert "\n  workflow_call:" in workflows["ci.yml"]


def test_jobs_may_do_no_more_than_they_need(workflows: dict[str, str]) -> None:
    for name, workflow in workflows.items():
        assert re.search(r"\npermissions:( \{\}|\n  contents: read)\n\n", workflow), name
        assert "pull_request_target" not in workflow, name
        assert "secrets" not in workflow, name
        writing = {
            job: set(re.findall(r"[\w-]+: write\S*", text)) for job, text in _jobs(workflow).items()
        }
        assert {job for job, writes in writing.items() if writes} <= {"publish"}, name
        assert set().union(*writing.values()) <= WRITES, name
