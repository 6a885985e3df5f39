"""Whatever was crawled, the report shows it as text: no script, request or foreign element."""

from __future__ import annotations

import base64
import json
import re
import tempfile
import zlib
from pathlib import Path

from fuzz.grammar import characters, prose, texts
from fuzz.target import target
from hypothesis import strategies as st
from lxml import etree, html
from stored import store

from scrapy_simhash import Index
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.db.values import storable
from scrapy_simhash.history.sql import choose_namespace
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.runs import Run
from scrapy_simhash.report.data import read_report
from scrapy_simhash.report.html import write_report

LOADS = {"img", "iframe", "object", "embed", "link", "base", "form", "image"}
harms = st.sampled_from(
    [
        *("<script>harm()</script>", "</script><script>harm()", "<img src=x onerror=harm()>"),
        *("javascript:harm()", "data:text/html,<script>harm()", '"onmouseover="harm()', "<!--"),
        *("</bdi></title><style>@import 'http://x.test'", "'><svg/onload=x>", "vbscript:x"),
        *("{{ 7 * 7 }}", "{% raw %}", "]]>", "--><p>", "\0\x1b[2J", "\ud800"),
        *("http://a.test/\u202egpj.exe", "http://<img src=x onerror=harm()>.test/"),
        *("http://a.test/?q=</script><iframe src=//x.test>", "http://user:pass@a.test/"),
        *("HTTPS://a.test/\"'><a href=javascript:x>", "http://a.test/&#34;&lt;", "http://[broken"),
    ]
)
strings = st.one_of(
    harms,
    harms,
    st.builds(lambda one, other: one + other, harms, harms),
    texts,
    st.text(characters, min_size=1, max_size=60),
)
things = st.lists(st.tuples(strings, strings, strings, prose(), strings), min_size=1, max_size=4)


@target(strings, strings, things, examples=6)
def test_reports(namespace: str, spider: str, things: list[tuple[str, ...]]) -> None:
    root = html.document_fromstring(report(storable(namespace, 200) or "n", spider, things))
    blocks = 0
    for element in root.iter(etree.Element):
        assert element.tag not in LOADS
        for name, value in element.attrib.items():
            assert not name.startswith("on"), (element.tag, name)
            assert name not in {"src", "srcdoc", "action", "formaction", "ping", "xlink:href"}
            if name == "href":
                assert re.match(r"#|https?://", value, re.IGNORECASE), value
            if name == "style":
                assert not re.search(r"url|import|expression", value)
        if element.tag == "script" and element.get("type") == "application/json":
            blocks += 1
            json.loads(zlib.decompress(base64.b64decode(element.text)))
    scripts = [one for one in root.iter("script") if one.get("type") is None]
    assert len(scripts) == len([*root.iter("style")]) == len(root.findall("head/title")) == 1
    assert blocks >= 1
    assert root.find(".//meta[@http-equiv='Content-Security-Policy']") is not None


def report(namespace: str, spider: str, things: list[tuple[str, ...]]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        database = Database("sqlite://")
        try:
            run = Run.open(database, spider=spider, job=spider)
            index = Index(database, namespace=namespace, run=run)
            for number, thing in enumerate(things):
                decide_on(index, number, *thing)
            run.close(settled=True, reason=spider, stats={f"skipped/{spider}"[:60]: 1})
            path = Path(folder, "report.html")
            write_report(read_report(choose_namespace(database, None), Rule()), path)
            return path.read_text("utf-8")
        finally:
            database.close()


def decide_on(index: Index, number: int, url: str, *thing: str) -> None:
    """Store a text, drop an equal one, and keep one that differs in a field."""
    key, other, words, field = thing
    for name, value in (("", "1"), (" copy", "1"), (" kept", "2")):
        more = {"key": f"{number} {key}{name}", "item": {"url": url, field: other}}
        store(index, f"{words} {url} {other}", url, {field: value}, **more)
