"""Every message of a crawl and of the commands is on the page of troubleshooting, and no other."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "scrapy_simhash"
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
ROOMS = {"cli", "crawl", "db", "feed", "index"}
LOGGED = {"warning", "error", "critical", "exception"}
# Caught before anybody sees them, or said by Scrapy.
UNSEEN = {"AssertionError", "TooLarge", "NotConfigured"}
WORDS = re.compile(r"\w{2,}")

# The first column: what is looked for.
SHOWN = [
    span
    for line in PAGE.splitlines()
    if line.startswith("| ")
    for span in re.findall(r"`([^`]+)`", line.split(" | ")[0])
]
SHOWN += re.findall(r"^One line that begins with `([^`]+)`", PAGE, re.MULTILINE)


def template(node: ast.expr) -> str:
    """The fixed words of a message, with … for what is put in."""
    match node:
        case ast.Constant(value=str(text)):
            return re.sub(r"%[-.\d]*[a-z%]", "…", text)
        case ast.JoinedStr(values=parts):
            return "".join(
                str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts
            )
    return ""


def messages(path: Path) -> Iterator[str]:
    """What is logged in a file or, in rooms that users meet, raised."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Call(func=ast.Attribute(ast.Name("logger"), how), args=[said, *_]):
                if how in LOGGED:
                    yield template(said)
            case ast.Raise(exc=ast.Call(func=raised, args=[said, *_])):
                name = ast.unparse(raised)
                if name.endswith("NotFound") or (path.parent.name in ROOMS and name not in UNSEEN):
                    yield template(said)


MESSAGES = {said for path in PACKAGE.rglob("*.py") for said in messages(path)}


def is_shown(message: str) -> bool:
    # A span without words of its own would stand for anything.
    return any(span in message for span in SHOWN if len(WORDS.findall(span)) > 1)


def test_every_message_is_on_the_page():
    # What has no words of its own passes on those of another.
    said = {message for message in MESSAGES if len(WORDS.findall(message)) > 1}
    assert len(said) > 80
    assert [message for message in sorted(said) if not is_shown(message)] == []


def test_every_message_on_the_page_is_one_of_the_code():
    strings = " ".join(
        template(node)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant | ast.JoinedStr)
    )
    # Not the names of settings and stats, which stand in the first table.
    shown = [span for span in SHOWN if " " in span and not span.startswith("scrapy ")]
    assert len(shown) > 80
    pieces = {
        piece.rstrip(": ") for span in shown for piece in span.split("…") if WORDS.search(piece)
    }
    assert [piece for piece in sorted(pieces) if piece not in strings] == []
