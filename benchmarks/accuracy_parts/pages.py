"""docs/accuracy.md: the figures put into the page that is written around them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.accuracy_parts.others import installed
from benchmarks.accuracy_parts.plots import draw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.accuracy_parts.tables import Section

__all__ = ["write"]

_PACKAGES = ("trafilatura", "resiliparse", "simhash", "datasketch", "gaoya", "lxml", "numpy")


def write(sections: Sequence[Section], folder: Path | None) -> None:
    """Write the page and its plots into a folder, or print the tables where there is none."""
    if folder is None:
        for section in sections:
            print(f"## {section.name}\n\n{section.text}\n")
        return
    page = Path(__file__).with_name("accuracy.md").read_text(encoding="utf-8")
    for section in sections:
        text = section.text
        if section.plot is not None:
            path = folder / f"accuracy-{section.name.replace(' ', '-')}.svg"
            draw(section.plot, path)
            text = f"![The figures of the tables below]({path.name})\n\n{text}"
        page = page.replace(f"{{{section.name}}}", text)
    page = page.replace("{versions}", _versions(sections))
    (folder / "accuracy.md").write_text(page, encoding="utf-8")


def _versions(sections: Sequence[Section]) -> str:
    versions = ", ".join(f"{name} {installed(name) or 'not installed'}" for name in _PACKAGES)
    sizes = [f"{name}: {size:,}" for section in sections for name, size in section.sizes.items()]
    return f"Versions: {versions}.\n\nSets: {'; '.join(sizes)}."
