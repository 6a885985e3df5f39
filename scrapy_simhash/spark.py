"""Find the near-duplicates of a Spark DataFrame: for a corpus too large for one machine.

Sketches are made where the rows are. Documents that share keys form components, each of which is
decided by `corpus.greedy.decide_corpus` like a corpus. So the result is that of a single machine,
whatever the cluster.

    sketch (mapInArrow) > explode keys > shuffle by key > pairs > driver: components
    > shuffle by component > decide (applyInArrow) > join with the rows

A key that many documents share is a row for each of them, not a list, so it needs no memory in any
task. A component is decided in one task, though, which needs some kilobytes for each document.

Needs `pip install 'scrapy-simhash[spark]'` and Java.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from secrets import token_hex
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import functions as f

from scrapy_simhash.corpus.candidates import FEW
from scrapy_simhash.corpus.greedy import decide_corpus
from scrapy_simhash.corpus.plan import Plan, criteria_of
from scrapy_simhash.corpus.sketches import make_sketches
from scrapy_simhash.db.values import secret_of
from scrapy_simhash.feed.documents import ItemReader
from scrapy_simhash.index.batch import identity_hash, keys_of, slotted
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.index.verdict import Document, FactsMode
from scrapy_simhash.simhash.measure import hamming
from scrapy_simhash.simhash.scheme import load_scheme

_SKETCH = "number long, lookups array<long>, fingerprint binary, document binary"
_SCHEMA = pa.schema(
    {
        "number": pa.int64(),
        "lookups": pa.list_(pa.int64()),
        "fingerprint": pa.binary(),
        "document": pa.binary(),
    }
)
_DECIDED = "number long, kept boolean, original_id long, similarity float, differs string"
_NEW = ("group", "kept", "similarity", "original_id", "differs")

# Documents that are decided in one task, unless a component is larger.
_TOGETHER = 20_000


def deduplicate(
    df: Any,
    order: str,
    *,
    url: str = "url",
    fields: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    key: Sequence[str] | None = None,
    prefer: str = "",
    similarity: float = 0.9,
    facts: FactsMode = "auto",
    scheme: str = "shingles",
    scheme_options: Mapping[str, Any] | None = None,
    min_features: int = 8,
    max_text: int = 1_000_000,
    secret: str | None = None,
) -> Any:
    """Mark each row as kept or as a near-duplicate, with its original.

    Args:
        df: a DataFrame whose rows are items.
        order: a column of distinct whole numbers. The first row of a group in this order is kept.
            The column is not compared.
        url: column with the address of the item; it may be missing.
        fields: compare these columns only; None for all.
        ignore: irrelevant columns.
        key: columns that identify an item on its page.
        prefer: which copy to keep instead of the first, as for `dedupe --prefer`.
        similarity: of near-duplicate texts, 0.7 to 1.
        facts: where different facts keep items with similar texts; see :class:`Rule`.
        scheme: of the fingerprints; must have shingles.
        scheme_options: options of the scheme.
        min_features: an item whose text has fewer features is compared as a whole.
        max_text: so is an item whose text has more characters.
        secret: at least 16 characters on which all hashes depend; random by default.

    Returns:
        The rows with the columns `kept`; `group`, the number of the kept row of the group;
        `original_id`, the number of the original or, for a kept row, of a row with a similar text
        from which it `differs`; and `similarity`, that of the texts of these two rows.

    Raises:
        ValueError: an argument is out of range, a column is missing, a column has the name of one
            that is added, or the numbers in `order` are not distinct.
    """
    _check_columns(df, order, fields)
    rule = Rule(similarity=similarity, scheme=load_scheme(scheme, scheme_options), facts=facts)
    criteria = criteria_of(prefer.split(",")) if prefer else ()
    secret_ = secret_of(secret or token_hex())
    plan = Plan.make(rule, secret_, prefer=criteria)
    if not plan.keys.needs_shingles:
        raise ValueError(f"the scheme {scheme!r} has a distance, Spark takes a similarity")
    how = (min_features, max_text, fields, ignore, key)
    reader = ItemReader(plan.scheme, plan.secret, *how)
    sketches = df.mapInArrow(partial(_sketched, plan, reader, order, url), _SKETCH)
    return _joined(df, _decisions(sketches.persist(), plan, order), order)


def _check_columns(df: Any, order: str, fields: Sequence[str] | None) -> None:
    types = dict(df.dtypes)
    if types.get(order) not in {"tinyint", "smallint", "int", "bigint"}:
        raise ValueError(f"order {order!r}: not a column of whole numbers, such as an id")
    if fields is not None and not {name.partition(".")[0] for name in fields} & types.keys():
        raise ValueError(f"no column has a name of {', '.join(fields)}")
    if taken := [name for name in (*_NEW, "number") if name in types and name != order]:
        raise ValueError(f"column {taken[0]!r} already exists: rename it")


def _decisions(sketches: Any, plan: Plan, order: str) -> Any:
    """The decisions, made now, while the sketches are kept, and removed with the result."""
    try:
        rows, distinct = sketches.agg(f.count("*"), f.countDistinct("number")).first()
        if distinct < rows:
            raise ValueError(
                f"order {order!r}: null and repeated numbers are not allowed "
                f"(rows: {rows:,}, distinct numbers: {distinct:,})"
            )
        return (
            sketches.join(_linked(sketches, plan), "number")
            .groupBy("bucket")
            # Spark inspects the function, and accepts no partial.
            .applyInArrow(lambda table: _decided(plan, table), _DECIDED)
            .localCheckpoint()
        )
    finally:
        sketches.unpersist()


def _joined(df: Any, decided: Any, order: str) -> Any:
    """The rows with the decisions; a row without candidates is a group of its own."""
    found = df.join(decided.withColumnRenamed("number", order), order, "left")
    kept = f.coalesce("kept", f.lit(True))
    group = f.when(kept, f.col(order).cast("long")).otherwise(f.col("original_id"))
    return found.withColumns({"kept": kept, "group": group}).select(*df.columns, *_NEW)


def _linked(sketches: Any, plan: Plan) -> Any:
    """The documents that have candidates, with the bucket of their component."""
    all_ = sketches.select("number", "fingerprint", f.explode("lookups").alias("lookup"))
    shared = all_.groupBy("lookup").agg(f.count("*").alias("count"), f.min("number").alias("first"))
    few = all_.join(shared.where(f"count between 2 and {FEW}").select("lookup"), "lookup")
    document = f.struct("number", "fingerprint")
    lists = few.groupBy("lookup").agg(f.collect_list(document).alias("documents"))
    pairs = lists.mapInArrow(partial(_paired, plan), "one long, other long")
    stars = all_.join(shared.where(f"count > {FEW}"), "lookup").selectExpr("number", "first")
    links = pairs.union(stars).distinct().toArrow()
    numbers, components = _components(*(np.asarray(column) for column in links.columns))
    _, bucket = np.unique(components, return_inverse=True)
    buckets = len(numbers) // _TOGETHER + 1
    table = pa.table({"number": numbers, "bucket": (bucket % buckets).astype(np.int64)})
    return sketches.sparkSession.createDataFrame(table)


def _components(
    one: NDArray[np.int64], other: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The linked documents and, for each, the least number in its component."""
    numbers, places = np.unique(np.concatenate([one, other]), return_inverse=True)
    ours, theirs = np.split(places, 2)
    least = np.arange(len(numbers))
    while True:
        before = least.copy()
        np.minimum.at(least, ours, before[theirs])
        np.minimum.at(least, theirs, before[ours])
        least = least[least]
        if np.array_equal(least, before):
            return numbers, numbers[least]


def _sketched(
    plan: Plan, reader: ItemReader, order: str, url: str, batches: Iterable[Any]
) -> Iterator[Any]:
    """The sketches of rows."""
    for batch in batches:
        made = []
        for row in batch.to_pylist():
            number = row.pop(order)
            if url in row:
                row["url"] = row.pop(url)
            document = reader.document(row, number)
            fingerprint = (document and document.sketch.fingerprint) or 0
            made.append(
                {
                    "number": number,
                    "lookups": [] if document is None else _lookups(document, plan),
                    "fingerprint": fingerprint.to_bytes(plan.width, "big"),
                    "document": pickle.dumps(document),
                }
            )
        yield pa.RecordBatch.from_pylist(made, _SCHEMA)


def _lookups(document: Document, plan: Plan) -> list[int]:
    """What candidates share with a document: keys, or its identity if a page lists it."""
    keys = keys_of(document, plan.keys)
    if document.listing:
        keys.append(slotted(plan.keys.slots + 1, identity_hash(document.key)))
    return keys


def _paired(plan: Plan, batches: Iterable[Any]) -> Iterator[Any]:
    """Links of documents that share a key with few others and whose fingerprints are close."""
    schema = pa.schema([("one", pa.int64()), ("other", pa.int64())])
    for batch in batches:
        found = [pair for row in batch.to_pylist() for pair in _pairs(plan, **row)]
        yield pa.RecordBatch.from_pylist(found, schema)


def _pairs(
    plan: Plan, lookup: int, documents: Sequence[dict[str, Any]]
) -> Iterator[dict[str, int]]:
    prints = np.array([list(one["fingerprint"]) for one in documents], np.uint8)
    are_close = hamming(prints[:, None], prints[None]) <= plan.rule.limit
    # Fingerprints contain neither equal items nor identities.
    is_text = lookup >> 32 < plan.keys.slots
    for one, other in combinations(range(len(documents)), 2):
        if are_close[one, other] or not is_text:
            yield {"one": documents[one]["number"], "other": documents[other]["number"]}


def _decided(plan: Plan, table: Any) -> Any:
    """The decisions on the documents of a bucket: whole components, each as a corpus."""
    table = table.sort_by("number")
    numbers = np.asarray(table["number"])
    # They were pickled by another task of the same job.
    documents = [pickle.loads(packed) for packed in table["document"].to_pylist()]  # noqa: S301
    sketches = make_sketches(documents, plan)
    made = decide_corpus(sketches, plan, sketches.order())
    has_none = made.matches < 0
    differs = [made.reasons[reason] or None for reason in made.differs]
    match = pa.array(numbers[made.matches], mask=has_none)
    similarity = pa.array(made.similarities, mask=has_none)
    columns = [numbers, made.kept, match, similarity, pa.array(differs, pa.string())]
    return pa.table(columns, [name.split()[0] for name in _DECIDED.split(", ")])
