"""Writes benchmarks/accuracy_parts/results.md: the figures, put into a template."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.accuracy_parts.others import installed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.accuracy_parts.tables import Section

__all__ = ["write"]

_OTHERS = "simhash", "datasketch", "gaoya", "rensa"
_PACKAGES = ("trafilatura", "resiliparse", *_OTHERS, "lxml", "numpy")


def write(sections: Sequence[Section], path: Path | None) -> None:
    """Write the page, or print the tables where there is no path."""
    if path is None:
        for section in sections:
            print(f"## {section.name}\n\n{section.text}\n")
        return
    page = Path(__file__).with_name("template.md").read_text(encoding="utf-8")
    for section in sections:
        page = page.replace(f"{{{section.name}}}", section.text)
    path.write_text(page.replace("{versions}", _versions(sections)), encoding="utf-8")


def _versions(sections: Sequence[Section]) -> str:
    versions = ", ".join(f"{name} {installed(name) or 'not installed'}" for name in _PACKAGES)
    sizes = [f"{name}: {size:,}" for section in sections for name, size in section.sizes.items()]
    return f"Versions: {versions}.\n\nSets: {'; '.join(sizes)}."
