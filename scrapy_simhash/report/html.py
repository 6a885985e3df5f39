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

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from scrapy_simhash.durable import replace_file
from scrapy_simhash.item.irrelevant import LEAST
from scrapy_simhash.report.data import ReportData
from scrapy_simhash.report.difference import LONGEST
from scrapy_simhash.report.packing import pack
from scrapy_simhash.report.verdict import findings, headline, remarks, steps
from scrapy_simhash.simhash.measure import similarity_at
from scrapy_simhash.visible import format_time, plural, shortened

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
