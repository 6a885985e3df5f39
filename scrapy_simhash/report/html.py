"""The HTML report: one file that opens offline and requests nothing.

Its rows and texts are compressed JSON, which its script unpacks on demand and shows as text only. A
Content-Security-Policy allows that script and the style sheet, by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import json
import re
import shlex
import zlib
from collections import Counter
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from scrapy_simhash.durable import replace_file
from scrapy_simhash.history.decisions import with_contents
from scrapy_simhash.history.record import Record
from scrapy_simhash.index.words import KEPT, field_label
from scrapy_simhash.item.irrelevant import LEAST
from scrapy_simhash.item.urls import site
from scrapy_simhash.report.data import ReportData
from scrapy_simhash.report.difference import LONGEST, difference
from scrapy_simhash.report.verdict import findings, headline, remarks, steps
from scrapy_simhash.simhash.measure import similarity_at
from scrapy_simhash.simhash.scheme import load_scheme
from scrapy_simhash.visible import format_time, plural, shortened, visible

#: Rows of each list, such as the largest groups.
TOP = 15

# Similarities are drawn from this one on.
_LEAST_DRAWN = 0.5
# The width of a bin of similarities.
_BIN_WIDTH = 0.01

# Similarities are sums of fractions: one on the edge of a bin may fall short by rounding.
_ROUNDING = 1e-9


def _histogram(data: ReportData) -> dict[str, Any] | None:
    """How similar items are to the nearest one; None if there is nothing to draw.

    Each bin has the least similarity, and how many items were kept and dropped; without equal
    texts, beside which all others would be too small to see. The threshold is its place among the
    bins. The axis ends at an even number, so that half of it can be labelled.
    """
    found = Counter((drop.similarity or 0.0) + _ROUNDING for drop in data.duplicates)
    equal = sum(count for similarity, count in found.items() if similarity >= 1)
    nearest = Counter[float]()
    for distance, count in data.nearest.items():
        near = similarity_at(distance, data.namespace.bits)
        nearest[min(1, near + _ROUNDING)] += count
    edges = np.linspace(_LEAST_DRAWN, 1, round((1 - _LEAST_DRAWN) / _BIN_WIDTH) + 1)
    below = Counter({similarity: count for similarity, count in found.items() if similarity < 1})
    kept, dropped = (
        np.histogram([*counted], edges, weights=[*counted.values()])[0].astype(int)
        for counted in (nearest, below)
    )
    if not (kept.any() or dropped.any()):
        return None
    more = f". Not drawn: {equal:,} {plural(equal, 'duplicate')} with an equal text"
    most = int((kept + dropped).max())
    return {
        "summary": f"The dashed line is the threshold, {data.threshold:.2g}{more if equal else ''}",
        "bins": list(zip(edges[:-1].tolist(), kept.tolist(), dropped.tolist(), strict=True)),
        "threshold": max(0.0, (data.threshold - _LEAST_DRAWN) / _BIN_WIDTH),
        "top": max(2, most + most % 2),
    }


def write_report(data: ReportData, path: Path) -> None:
    """Write the file; an old one is replaced once the new one is complete. Raises OSError."""
    replace_file(path, _render(data).encode())


def _render(data: ReportData) -> str:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"time": format_time, "shortened": shortened, "code": _code}
    environment.filters |= {"number": "{:,}".format, "href": _href}
    style, script = _template("report.css"), _template("report.js")
    groups = Counter((drop.original_id, drop.original) for drop in data.duplicates)
    return environment.from_string(_template("report.html")).render(
        policy=_policy(style, script),
        # Files of this package; neither contains a closing tag.
        style=Markup(style),  # noqa: S704
        script=Markup(script),  # noqa: S704
        data=data,
        headline=headline(data),
        remarks=list(remarks(data)),
        steps=list(steps(data)),
        findings=list(findings(data)),
        histogram=_histogram(data),
        groups=[(original, count) for original, count in groups.most_common(TOP) if count > 1],
        written=datetime.now(UTC).timestamp(),
        least=LEAST,
        total=data.counts.total(),
        longest=LONGEST,
        **pack(data),
    )


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


#: The details of so many rows are unpacked together.
BLOCK = 40

#: Rows with details in one file.
MOST_DETAILS = 5_000
#: The packed size of all details in one file, in bytes.
MOST_BYTES = 8_000_000

# Characters shown of a URL.
_LONGEST_URL = 500
# Characters shown of a field's value in a comparison.
_LONGEST_VALUE = 2_000
# Characters shown of a field's value in the table.
_LONGEST_CELL = 80

# Fields that name an item, the preferred ones first.
_TITLES = ("title", "headline", "name", "heading")


def pack(data: ReportData) -> dict[str, Any]:
    """Everything that the script shows, for the template.

    `rows` are all rows, `blocks` the details of some, packed; `details` is how many rows have some.
    """
    rows: list[Record] = [*data.drops, *data.kept[::-1], *data.changes]
    # The least similar pairs are the ones to look at.
    order = sorted(range(len(rows)), key=lambda number: _near(data, rows[number]))
    chosen = order[:MOST_DETAILS]
    listed: dict[int, dict[str, Any]] = {}
    blocks: list[str] = []
    default, left = load_scheme(), MOST_BYTES
    scheme = default if data.namespace.scheme.startswith(default.id) else None
    for start in range(0, len(chosen), BLOCK):
        if left <= 0:
            break
        numbers = chosen[start : start + BLOCK]
        part = [rows[number] for number in numbers]
        contents = with_contents(data.namespace, part, scheme)
        details: dict[int, Any] = {}
        for number, row in zip(numbers, contents, strict=True):
            detail = -1
            if compared := _compared(row):
                detail = len(blocks) * BLOCK + len(details)
                details[detail] = compared
            listed[number] = _listed(data, number, row, detail)
        if details:
            blocks.append(_packed(details))
            left -= len(blocks[-1])
    every = [listed.get(number) or _listed(data, number, row) for number, row in enumerate(rows)]
    name = shlex.quote(shortened(data.namespace.name))
    shown = {
        "block": BLOCK,
        "command": "" if data.is_trial else f"scrapy simhash restore --namespace {name} --id ",
        "rows": every,
    }
    return {
        "rows": _packed(shown),
        "blocks": blocks,
        "details": sum(row["detail"] >= 0 for row in every),
    }


def _near(data: ReportData, row: Record) -> float:
    return data.threshold if row.similarity is None else row.similarity


def _listed(data: ReportData, number: int, row: Record, detail: int = -1) -> dict[str, Any]:
    """A row as the script knows it: a record, in the form in which the table shows it.

    Of a field that differs it has the label, the stored value and the item's own, if known.
    """
    own, stored = row.own.values, row.stored.values
    names = {name.lower(): name for name in (*stored, *own)}
    title = next((names[name] for name in _TITLES if name in names), "")
    fields, original, about = row.fields, row.original, "about " if row.estimated else ""
    similarity, status = row.similarity, row.status
    if row.is_change:
        original = original or row.formerly or row.url
    else:
        original = original or f"item {row.original_id}, deleted"
        if similarity is None:
            similarity, about = data.threshold, "at least "
        if data.is_trial and status == "dropped":
            status = "would be dropped"
        status += ", orphan" if row.is_orphan else ""
    if row.status == KEPT:
        fields = {row.differs: fields.get(row.differs, (None, None))}
    return {
        "key": row.id or str(number),
        "change": row.is_change,
        "url": shortened(row.url, _LONGEST_URL),
        "title": shortened(own.get(title, ""), 200),
        "original": {
            "item": str(row.original_id),
            "url": shortened(original, _LONGEST_URL),
            "first": row.first_seen and int(row.first_seen),
            "title": shortened(stored.get(title, ""), 200),
        },
        "similarity": similarity and round(similarity, 4),
        "about": about,
        "created": int(row.created),
        "status": status,
        "run": row.run,
        "detail": detail,
        "fields": [
            [field_label(name), *(_shown(value, _LONGEST_CELL) for value in values)]
            for name, values in fields.items()
        ],
        "restorable": row.has_item,
        "site": shortened(site(row.url) or "(no site)", 80),
        "distance": row.distance,
        "how": shortened("" if row.status == KEPT else row.how, _LONGEST_URL),
    }


def _compared(row: Record) -> list[Any] | None:
    """The stored text, the steps to the other one, and the values of both; None without any."""
    own, stored = row.own, row.stored
    both = (text and visible(text[:LONGEST])[:LONGEST] for text in (stored.text, own.text))
    text, steps = difference(*both) if own.text and stored.text else ("", None)
    names = {**own.values, **stored.values} if own.values and stored.values else ()
    fields = [
        [field_label(name), _shown(own.values.get(name)), _shown(stored.values.get(name))]
        for name in names
    ]
    return [text, steps, fields] if steps is not None or fields else None


def _shown(value: str | None, length: int = _LONGEST_VALUE) -> str | None:
    return None if value is None else shortened(value, length)


def _packed(value: Any) -> str:
    """The value as compressed JSON in Base64."""
    encoded = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "replace"
    )
    return base64.b64encode(zlib.compress(encoded, 6)).decode()
