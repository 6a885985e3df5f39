"""The HTML report: one file that opens offline and requests nothing.

Its rows and texts are compressed JSON, which its script unpacks on demand and shows as text only. A
Content-Security-Policy allows that script and the style sheet, by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from scrapy_simhash.durable import replace_file
from scrapy_simhash.history.patterns import LEAST
from scrapy_simhash.item.urls import site
from scrapy_simhash.report import figures
from scrapy_simhash.report.difference import LONGEST
from scrapy_simhash.report.findings import findings, steps
from scrapy_simhash.report.packing import pack
from scrapy_simhash.report.subject import Subject
from scrapy_simhash.report.verdict import headline, remarks
from scrapy_simhash.visible import format_time, shortened


def write_report(subject: Subject, path: Path) -> None:
    """Write the file; an old one is replaced once the new one is complete. Raises OSError."""
    replace_file(path, _render(subject).encode())


def _render(subject: Subject) -> str:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"time": format_time, "shortened": shortened, "code": _code}
    environment.filters |= {"number": "{:,}".format, "href": _href}
    style, script = _template("report.css"), _template("report.js")
    views = subject.views()
    opened = views[0].run if len(views) > 1 else None
    packed = pack(subject, opened)
    return environment.from_string(_template("report.html")).render(
        policy=_policy(style, script),
        # Files of this package; neither contains a closing tag.
        style=Markup(style),  # noqa: S704
        script=Markup(script),  # noqa: S704
        subject=subject,
        database=str(subject.database),
        views=[_view(view) for view in views],
        written=datetime.now(UTC).timestamp(),
        top=figures.TOP,
        least=LEAST,
        total=sum(subject.counts.values()),
        details=packed.details,
        rows=packed.rows,
        blocks=packed.blocks,
        longest=LONGEST,
    )


def _view(subject: Subject) -> dict[str, Any]:
    """What is shown of one run, or of all together."""
    duplicates = subject.duplicates
    groups = Counter((drop.claim, drop.original) for drop in duplicates)
    return {
        "subject": subject,
        "id": "all" if subject.run is None else str(subject.run),
        "row": None if subject.run is None else subject.runs[0],
        "headline": headline(subject),
        "remarks": list(remarks(subject)),
        "steps": list(steps(subject)),
        "findings": list(findings(subject)),
        "histograms": list(figures.histograms(subject)),
        "groups": groups.most_common(figures.TOP),
        "sites": figures.shares(Counter(site(drop.url) or "(no site)" for drop in duplicates)),
        "patterns": figures.shares(Counter(figures.url_pattern(drop.url) for drop in duplicates)),
    }


def _code(text: str) -> Markup:
    """A text in which `this` is set as code."""
    # Escaped first, so that it contains no other tag.
    return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704


def _href(url: str | None) -> str | None:
    """The URL, if it is a web page's, and neither very long nor with escapes or a password."""
    if url and url.lower().startswith(("http://", "https://")) and shortened(url, 500) == url:
        return url
    return None


def _policy(style: str, script: str) -> str:
    def hashed(content: str) -> str:
        digest = base64.b64encode(sha256(content.encode()).digest()).decode()
        return f"'sha256-{digest}'"

    return (
        f"default-src 'none'; style-src {hashed(style)}; script-src {hashed(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def _template(name: str) -> str:
    return (resources.files(__package__) / "templates" / name).read_text(encoding="utf-8")
