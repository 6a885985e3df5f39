"""The HTML report: one file that opens offline, asks nothing of anybody, and hides nothing.

Every chart is drawn here, by Vega-Lite, as inline SVG. The drops and the texts are in the file as
compressed JSON, which its script unpacks on demand and shows as text only. A
Content-Security-Policy allows that one script and that one style sheet, by their hashes, and
nothing else.
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
from typing import TYPE_CHECKING

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from scrapy_simhash.durable import replace_file
from scrapy_simhash.history import LEAST
from scrapy_simhash.report.charts import draw_charts
from scrapy_simhash.report.difference import LONGEST
from scrapy_simhash.report.differs import in_words
from scrapy_simhash.report.figures import (
    TOP,
    key_figures,
    list_groups,
    list_parts,
    other_thresholds,
    shares,
    url_pattern,
)
from scrapy_simhash.report.packing import pack
from scrapy_simhash.report.subject import read_subject
from scrapy_simhash.report.times import format_time
from scrapy_simhash.report.verdict import in_sentences
from scrapy_simhash.visible import shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_simhash.db.transactions import Database
    from scrapy_simhash.report.subject import Subject

__all__ = ["write_report", "write_subject"]


def write_report(
    database: Database,
    path: str | Path,
    *,
    run: int | None = None,
    namespace: str | None = None,
    limit: int | None = None,
    similarity: float | None = None,
) -> None:
    """Write the report.

    Args:
        database: what it is about.
        path: of the file; one that is there is replaced once the new one is complete.
        run: the run it is about; all of them otherwise.
        namespace: which one; may be left out where there is one only.
        limit: the distance up to which documents are compared; otherwise what the similarity
            means, or the largest one of a drop.
        similarity: from which they are near-duplicates; None where the distance alone decides.

    Raises:
        NotFound: there is no such namespace or run.
        OSError: the file can't be written.
        IndexUnavailable: the database did not answer in time.
    """
    write_subject(read_subject(database, namespace, run, limit, similarity), Path(path))


def write_subject(subject: Subject, path: Path) -> None:
    """Write the report on what was read; raises as :func:`write_report` does."""
    replace_file(path, _render(subject).encode())


def _render(subject: Subject) -> str:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = lambda number: f"{number:,}"
    environment.filters["time"] = format_time
    environment.filters["shortened"] = shortened
    environment.filters["code"] = _code
    style, script = _template("report.css"), _template("report.js")
    packed = pack(subject)
    verdict, *remarks = in_sentences(subject)
    says_nothing, nothing_new = list_parts(subject)
    return environment.from_string(
        _template("report.html")
    ).render(
        policy=_policy(style, script),
        # Both are ours, and neither has a closing tag in it.
        style=Markup(style),  # noqa: S704
        script=Markup(script),  # noqa: S704
        subject=subject,
        database=str(subject.database),
        run=subject.runs[0] if subject.run is not None else None,
        written=datetime.now(UTC).timestamp(),
        verdict=verdict,
        remarks=remarks,
        figures=key_figures(subject),
        charts=draw_charts(subject),
        others=other_thresholds(subject),
        patterns=shares(Counter(url_pattern(drop.url) for drop in subject.duplicates)),
        groups=list_groups(subject),
        says_nothing=says_nothing,
        nothing_new=nothing_new,
        top=TOP,
        least=LEAST,
        kept=[(count, name, in_words(name)) for name, count in subject.kept.counts[:TOP]],
        total=sum(subject.counts.values()),
        details=packed.details,
        cost=_cost(subject.stats),
        table=packed.table,
        blocks=packed.blocks,
        longest=LONGEST,
    )


def _code(text: str) -> Markup:
    """A text in which what stands between backticks is set as code."""
    # Escaped before, so that no tag but ours is in it.
    return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704


def _cost(stats: Mapping[str, float]) -> list[tuple[str, str]]:
    """What was spent on each thing that was checked, where that is known."""
    checked = stats.get("checked")
    if not checked:
        return []
    parts = (
        ("text", "text_seconds"),
        ("fingerprint", "fingerprint_seconds"),
        ("index, in a thread of its own", "index/seconds"),
    )
    return [(name, f"{1000 * stats.get(key, 0) / checked:.2f} ms") for name, key in parts]


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
