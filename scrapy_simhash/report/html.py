"""The HTML report: one file that opens offline, asks nothing of anybody, and hides nothing.

Every chart is drawn here, by Vega-Lite, as inline SVG. The drops and the texts are in the file as
compressed JSON, which its script unpacks on demand and shows as text only. A
Content-Security-Policy allows that one script and that one style sheet, by their hashes, and
nothing else.
"""

from __future__ import annotations

import base64
from collections import Counter
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from scrapy_simhash import history
from scrapy_simhash.report.charts import draw_charts
from scrapy_simhash.report.difference import LONGEST
from scrapy_simhash.report.differences import BLOCK, pack_differences, packed, table_rows
from scrapy_simhash.report.figures import (
    key_figures,
    list_groups,
    other_thresholds,
    shares,
    similarity_of_limit,
    skipped_counts,
    sum_stats,
    url_pattern,
)
from scrapy_simhash.report.subject import MOST_ROWS, Report, format_time
from scrapy_simhash.report.visible import shortened
from scrapy_simhash.simhash.measure import limits

if TYPE_CHECKING:
    from scrapy_simhash.db.transactions import Database

__all__ = ["write_report"]


def write_report(
    database: Database,
    path: str | Path,
    *,
    run: int | None = None,
    namespace: str | None = None,
    limit: int | None = None,
) -> None:
    """Write the report.

    Args:
        database: what it is about.
        path: of the file; one that is there is replaced once the new one is complete.
        run: the run it is about; all of them otherwise.
        namespace: which one; may be left out where there is one only.
        limit: the distance up to which documents are near-duplicates; otherwise the largest one of
            a drop, or what a similarity of 0.9 means if nothing was dropped.

    Raises:
        LookupError: there is no such namespace or run.
        OSError: the file can't be written.
        IndexUnavailable: the database did not answer in time.
    """
    chosen = history.choose_namespace(database, namespace)
    runs = history.runs(database, chosen)
    if run is not None:
        runs = [row for row in runs if row.id == run]
        if not runs:
            raise LookupError(f"the namespace {chosen.name!r} has nothing of a run {run}")
    drops = history.drops(database, chosen, run, limit=MOST_ROWS)
    if limit is None:
        limit = max((drop.distance for drop in drops), default=limits(0.9)[1])
    counts = history.count_drops(database, chosen, run)
    page = _render(Report(database, chosen, run, runs, drops, counts, limit))
    target = Path(path)
    beside = target.with_name(f"{target.name}.new")
    beside.write_text(page, encoding="utf-8", newline="\n")
    beside.replace(target)


def _render(report: Report) -> str:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = lambda number: f"{number:,}"
    environment.filters["time"] = format_time
    environment.filters["shortened"] = shortened
    style, script = _template("report.css"), _template("report.js")
    blocks, explained = pack_differences(report)
    rows, originals = table_rows(report, explained)
    nearest = history.nearest_kept(report.database, report.namespace, report.run)
    stats = sum_stats([row.stats for row in report.runs])
    return environment.from_string(_template("report.html")).render(
        policy=_policy(style, script),
        # Both are ours, and neither has a closing tag in it.
        style=Markup(style),  # noqa: S704
        script=Markup(script),  # noqa: S704
        namespace=report.namespace,
        database=str(report.database),
        limit=report.limit,
        similarity=similarity_of_limit(report.limit, report.namespace.bits),
        run=report.runs[0] if report.run is not None else None,
        runs=report.runs,
        written=datetime.now(UTC).timestamp(),
        figures=key_figures(report, stats),
        skipped=skipped_counts(stats),
        charts=draw_charts(report, nearest, stats),
        others=other_thresholds(report, nearest),
        patterns=shares(Counter(url_pattern(drop.url) for drop in report.duplicates)),
        groups=list_groups(report),
        total=sum(report.counts.values()),
        shown=len(report.drops),
        explained=len(explained),
        without=len(report.drops) - len(explained),
        rows=packed(
            {
                "rows": rows,
                "originals": originals,
                "bits": report.namespace.bits,
                "block": BLOCK,
            }
        ),
        blocks=blocks,
        longest=LONGEST,
    )


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
