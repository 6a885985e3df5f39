"""benchmarks/hostile.py measures pages, in a process each, and prints a row of each."""

from __future__ import annotations

import sys

import pytest

from benchmarks import hostile


def test_pages_are_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["linked_reference", "attributes_behind"]
    monkeypatch.setattr(sys, "argv", ["hostile", *names])
    hostile.main()
    *_, first, second = capsys.readouterr().out.splitlines()
    # What nobody waits for has no tree.
    assert first.startswith("| attributes behind quotes | 495,638 |  | | |")
    assert first.endswith("| too_complex |")
    assert second.startswith("| linked reference | 201,540 | 0.")
    assert second.endswith("| compared |")
