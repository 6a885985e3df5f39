"""What tests read of the project itself: its sources, each parsed once, and its pages."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "scrapy_simhash"
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.glob("*.md"))]


@cache
def trees() -> dict[Path, ast.Module]:
    """Every file of the package, parsed."""
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def text_of(page: Path) -> str:
    return page.read_text("utf-8")


def blocks(page: Path, *languages: str) -> list[str]:
    """The fenced blocks of these languages."""
    fence = rf"^```(?:{'|'.join(languages)})\n(.*?)^```$"
    return re.findall(fence, text_of(page), re.DOTALL | re.MULTILINE)
