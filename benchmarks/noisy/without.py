"""Parts of the rule and of reading that can be switched off, to see which verdicts need them.

A part that changes no verdict in any set goes. A part that is added comes with a kind of site on
which it changes one.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from scrapy_simhash.item import evidence


def _nothing(*_: Any) -> tuple[()]:
    return ()


#: Readers and tests by their names: where each is, and what stands in its place.
PARTS: dict[str, tuple[str, Any]] = {
    "state in fields": ("item.names:state_of", lambda name: None),
    "state in texts": ("item.state:_without", lambda text, *_: text),
    "ids": ("item.fields:FieldReader.drop_ids_of", _nothing),
    "links": ("item.fields:links_elsewhere", lambda *_: set[str]()),
    "files": ("item.folding:file_of", lambda *_: ""),
    "rows": ("text.page_facts:PageFacts.rows", {}),
    "times": ("text.page_facts:_time", lambda *_: ""),
    "price alone": ("text.page_facts:_price", lambda *_: dict[str, str]()),
    "json-ld": ("text.page_facts:_json_properties", _nothing),
    "microdata": ("text.page_facts:_microdata", _nothing),
    "site names": ("text.markup:_without_site", lambda title, domain: title),
    "rest of the page": ("index.decide:REST", 0.0),
    "loose cuts": ("crawl.page_text:PageText.cut", lambda *_: None),
    "shared texts": ("index.decide:sharing_sites", lambda *_: frozenset()),
}
#: Relations that lessen what a difference weighs.
RELATIONS = [
    relation.name
    for relation in evidence.Relation
    if None in [getattr(row, relation.name.lower()) for row in evidence.TABLE.values()]
]
NAMES = (*PARTS, *RELATIONS, *(kind.name for kind in evidence.TABLE))


def switch_off(name: str | None) -> None:
    """Switch a part off in this process, if any: a reader, a kind of evidence or a relation."""
    if name in PARTS:
        path, instead = PARTS[name]
        module, _, names = path.partition(":")
        *owners, last = names.split(".")
        owner: Any = import_module(f"scrapy_simhash.{module}")
        for one in owners:
            owner = getattr(owner, one)
        getattr(owner, last)  # raises where the part has another name by now
        setattr(owner, last, instead)
    for kind, row in evidence.TABLE.items():
        changed = row
        if kind.name == name:
            changed = row._make(evidence.Weight.NEVER for _ in row)
        elif name in RELATIONS:
            changed = row._replace(**{name.lower(): None})
        evidence.TABLE[kind] = changed  # type: ignore[index]
    evidence.weight.cache_clear()
