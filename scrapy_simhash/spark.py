"""Near-duplicates of a DataFrame of Spark: a corpus that is larger than one machine.

Sketches are made where the rows are. Who shares a key with whom falls apart into components that
have nothing to do with each other, and each is decided on as a corpus of its own, by
`corpus.greedy.decide_corpus`: so the result is that of a single machine, whatever the cluster.

    sketch (mapInArrow) > keys exploded > shuffle by key > pairs > driver: components
    > shuffle by component > decide (applyInArrow) > join with the rows

A key that many share is one row for each of them, never a list: no task has to hold them. All of
them are decided on together, though, which takes some kilobytes of memory for each.
"""

from __future__ import annotations

import json
from itertools import combinations
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import numpy as np

from scrapy_simhash.corpus.greedy import decide_corpus
from scrapy_simhash.corpus.meeting import FEW
from scrapy_simhash.corpus.plan import Plan
from scrapy_simhash.corpus.sketches import Sketches, make_part, row_type
from scrapy_simhash.corpus.stored import Part
from scrapy_simhash.db.secret import secret_of
from scrapy_simhash.feed.documents import ItemReader, What
from scrapy_simhash.index.batch import KeyRow, keys_of, owner_of, slotted
from scrapy_simhash.item.quality import criteria_of
from scrapy_simhash.simhash.measure import hamming
from scrapy_simhash.simhash.scheme import load_scheme

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from scrapy_simhash.index.verdict import Document, FactsMode
    from scrapy_simhash.item.quality import Criterion

__all__ = ["deduplicate"]

_SKETCH = (
    "number long, fingerprint binary, row binary, keys binary, shingles binary, said binary, "
    "names string, meets array<long>"
)
_DECIDED = "number long, kept boolean, match long, similarity float, differs string"
_NEW = ("group", "kept", "similarity", "match", "differs")

# Linked documents that are decided on together; components are not torn.
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
    """Say of each row whether it is a near-duplicate, and of which.

    Args:
        df: a DataFrame, whose rows are items.
        order: a column of whole numbers, another one for each row: in their order the first of a
            group is kept. It says nothing else.
        url: the column with the address of an item, if there is one.
        fields: columns that alone say what an item is; None for all.
        ignore: columns that say nothing.
        key: columns that identify an item among others of its page.
        prefer: which copy to keep instead of the first, as `dedupe --prefer` takes it.
        similarity: from which two texts are near-duplicates, 0.7 to 1.
        facts: where what items say beside their texts keeps them apart; see :class:`Index`.
        scheme: of the fingerprints; it must have shingles.
        scheme_options: for it.
        min_features: a text of fewer says nothing; such an item is compared as a whole.
        max_text: so is one whose text has more characters.
        secret: 16 characters or more that fingerprints hang on; drawn by default.

    Returns:
        The rows with `kept`; `group`, the number of the row that was kept of its group; `match`,
        the number of the row that it is a copy of or, if it was kept, that its text is near to and
        that it `differs` from; and the `similarity` of these two.

    Raises:
        ValueError: an argument is out of its range, a column is not there, or there is one already
            of a name that is to be added.
    """
    _check_columns(df, order)
    made = load_scheme(scheme, scheme_options)
    plan = Plan.make(
        made,
        secret_of(secret or token_hex()),
        similarity=similarity,
        candidates="bands",
        facts=facts,
    )
    criteria = criteria_of(prefer.split(",")) if prefer else ()
    reader = ItemReader(
        "spark",
        plan.scheme,
        What(fields, ignore, key),
        plan.secret,
        min_features=min_features,
        max_text=max_text,
    )
    sketch = _Sketching(plan, reader, criteria, order, url)
    sketches = df.mapInArrow(sketch, _SKETCH).persist()
    linked = _linked(sketches, plan)
    deciding = _Deciding(plan, len(criteria))
    decided = (
        sketches.join(linked, "number")
        .groupBy("bucket")
        # How many arguments it takes is counted, and a method would have one more.
        .applyInArrow(lambda table: deciding.decide(table), _DECIDED)  # noqa: PLW0108
    )
    return _joined(df, decided, order)


def _check_columns(df: Any, order: str) -> None:
    types = dict(df.dtypes)
    if types.get(order) not in {"tinyint", "smallint", "int", "bigint"}:
        raise ValueError(f"order {order!r}: a column of whole numbers is wanted, such as an id")
    if taken := [name for name in (*_NEW, "number") if name in types and name != order]:
        raise ValueError(f"there is a column {taken[0]!r} already: rename it")


def _joined(df: Any, decided: Any, order: str) -> Any:
    """The rows, with what was decided on them; what meets nobody is a group of its own."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - for whoever has it

    found = df.join(decided.withColumnRenamed("number", order), order, "left")
    kept = f.coalesce("kept", f.lit(True))
    group = f.when(kept, f.col(order).cast("long")).otherwise(f.col("match"))
    return found.withColumns({"kept": kept, "group": group}).select(*df.columns, *_NEW)


def _linked(sketches: Any, plan: Plan) -> Any:
    """The documents that may have to do with another, with the bucket of their component."""
    from pyspark.sql import functions as f  # noqa: PLC0415

    met = sketches.select("number", "fingerprint", f.explode("meets").alias("meet"))
    shared = met.groupBy("meet").agg(f.count("*").alias("count"), f.min("number").alias("first"))
    few = met.join(shared.where(f"count between 2 and {FEW}").select("meet"), "meet")
    lists = few.groupBy("meet").agg(f.collect_list(f.struct("number", "fingerprint")).alias("who"))
    pairs = lists.mapInArrow(_Pairing(plan), "one long, other long")
    stars = met.join(shared.where(f"count > {FEW}"), "meet").selectExpr("number", "first")
    links = pairs.union(stars).distinct().toArrow()
    numbers, components = _components(*(np.asarray(column) for column in links.columns))
    _, bucket = np.unique(components, return_inverse=True)
    buckets = len(numbers) // _TOGETHER + 1
    arrow = _pyarrow()
    table = arrow.table({"number": numbers, "bucket": (bucket % buckets).astype(np.int64)})
    return sketches.sparkSession.createDataFrame(table)


def _components(
    one: NDArray[np.int64], other: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Who is linked, and by whom: the least number that each can be reached from."""
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


class _Sketching:
    """Makes sketches of rows, where these are."""

    def __init__(
        self, plan: Plan, reader: ItemReader, criteria: Sequence[Criterion], order: str, url: str
    ) -> None:
        self._plan = plan
        self._reader = reader
        self._criteria = criteria
        self._order = order
        self._url = url

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            yield self._batch(batch.to_pylist())

    def _batch(self, rows: Sequence[dict[str, Any]]) -> Any:
        columns: dict[str, list[Any]] = {name.split()[0]: [] for name in _SKETCH.split(", ")}
        for row in rows:
            number = row.pop(self._order)
            if self._url in row:
                row["url"] = row.pop(self._url)
            document = self._reader.document(row, number)
            part = make_part([document], self._plan, self._criteria)
            values = {
                "number": number,
                "fingerprint": part.rows["fingerprint"].tobytes(),
                "row": part.rows.tobytes(),
                "keys": part.keys.tobytes(),
                "shingles": part.shingles.tobytes(),
                "said": part.said,
                "names": json.dumps(part.names),
                "meets": [] if document is None else self._meets(document),
            }
            for name, value in values.items():
                columns[name].append(value)
        return _pyarrow().RecordBatch.from_pydict(columns, _schema())

    def _meets(self, document: Document) -> list[int]:
        """Under what it may meet others: its keys, and its owner if a page lists it."""
        keys = list(keys_of(document, self._plan.keys))
        if document.fetch:
            keys.append(KeyRow(self._plan.keys.slots + 1, owner_of(document.key)))
        return [int(slotted(slot, np.array([key]))[0]) for slot, key in keys]


class _Pairing:
    """Links those that share a key with a few, and are near enough; by their texts alone."""

    def __init__(self, plan: Plan) -> None:
        self._slots = plan.keys.slots
        self._limit = plan.rule.limit

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        arrow = _pyarrow()
        for batch in batches:
            found = [pair for row in batch.to_pylist() for pair in self._pairs(**row)]
            one, other = zip(*found, strict=True) if found else ((), ())
            columns = [arrow.array(column, arrow.int64()) for column in (one, other)]
            yield arrow.RecordBatch.from_arrays(columns, ["one", "other"])

    def _pairs(self, meet: int, who: Sequence[dict[str, Any]]) -> Iterator[tuple[int, int]]:
        prints = np.array([list(one["fingerprint"]) for one in who], np.uint8)
        apart = hamming(prints[:, None], prints[None])
        for one, other in combinations(range(len(who)), 2):
            if meet >> 32 >= self._slots or apart[one, other] <= self._limit:
                yield who[one]["number"], who[other]["number"]


class _Deciding:
    """Decides on whole components."""

    def __init__(self, plan: Plan, criteria: int) -> None:
        self._plan = plan
        self._criteria = criteria

    def decide(self, table: Any) -> Any:
        """What the documents of some components are."""
        table = table.sort_by("number")
        numbers = np.asarray(table["number"])
        sketches = self._sketches(table)
        made = decide_corpus(sketches, self._plan, sketches.order)
        matched = made.matches >= 0
        arrow = _pyarrow()
        return arrow.table(
            {
                "number": numbers,
                "kept": made.kept,
                "match": arrow.array(numbers[made.matches], mask=~matched),
                "similarity": arrow.array(made.similarities, mask=~matched),
                "differs": arrow.array(
                    [made.reasons[reason] or None for reason in made.differs], arrow.string()
                ),
            }
        )

    def _sketches(self, table: Any) -> Sketches:
        packed = {name: table[name].to_pylist() for name in ("row", "keys", "shingles", "said")}
        kind = row_type(self._plan.width, self._criteria)
        rows = np.frombuffer(b"".join(packed["row"]), kind).copy()
        # Each counted for itself.
        rows["shingles"] = np.cumsum(rows["hashes"]) - rows["hashes"]
        rows["said"] = np.cumsum(rows["said"])
        names: dict[int, str] = {}
        for said in set(table["names"].to_pylist()):
            names.update({int(key): name for key, name in json.loads(said).items()})
        keys = np.frombuffer(b"".join(packed["keys"]), np.int32)
        return Sketches.of(
            Part(
                rows,
                keys.reshape(len(rows), -1),
                np.frombuffer(b"".join(packed["shingles"]), np.uint64),
                b"".join(packed["said"]),
                names,
            )
        )


def _schema() -> Any:
    arrow = _pyarrow()
    types = {
        "long": arrow.int64(),
        "binary": arrow.binary(),
        "string": arrow.string(),
        "array<long>": arrow.list_(arrow.int64()),
    }
    return arrow.schema([(name, types[kind]) for name, kind in map(str.split, _SKETCH.split(", "))])


def _pyarrow() -> Any:
    import pyarrow as pa  # noqa: PLC0415 - comes with the extra

    return pa
