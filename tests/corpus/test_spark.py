"""A DataFrame of Spark is decided on as a corpus on one machine, in the same order."""

from __future__ import annotations

import shutil
import sys

import numpy as np
import pytest
from corpora import documents_of, items, sketches_of

from scrapy_simhash.corpus.greedy import decide_corpus
from scrapy_simhash.corpus.plan import Plan, criteria_of
from scrapy_simhash.db.values import secret_of
from scrapy_simhash.index.rule import Rule

GIVEN = "correct horse battery"
SECRET = secret_of(GIVEN)


@pytest.fixture(scope="module")
def session():
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("there is no Java")
    with pytest.MonkeyPatch.context() as patch:
        # Its processes find the package, and the tests' own modules, where this one does.
        patch.setenv("PYTHONPATH", ":".join(filter(None, sys.path)))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        made = (
            pyspark.sql.SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.sql.shuffle.partitions", "2")
            .getOrCreate()
        )
        yield made
        made.stop()


def frame(session, given):
    names = ("url", "link", "text", "name", "age", "title", "price")
    schema = ", ".join(f"{name} {'int' if name == 'age' else 'string'}" for name in names)
    rows = [(number, *(item.get(name) for name in names)) for number, item in enumerate(given)]
    return session.createDataFrame(rows, f"id long, {schema}")


def nothing_is_cached(session):
    return session._jsparkSession.sharedState().cacheManager().isEmpty()


@pytest.mark.parametrize(("count", "prefer"), [(5000, ""), (600, "own-site=c.test,shortest-url")])
def test_rows_are_decided_on_as_on_one_machine(session, count, prefer):
    from scrapy_simhash.spark import deduplicate

    given = list(items(count, seed=1))
    criteria = criteria_of(prefer.split(",")) if prefer else ()
    plan = Plan.make(Rule(), SECRET, prefer=criteria)
    sketches = sketches_of(documents_of(plan, given), plan)
    made = decide_corpus(sketches, plan, sketches.order())

    df = deduplicate(frame(session, given), "id", prefer=prefer, secret=GIVEN)
    rows = sorted(df.collect(), key=lambda row: row.id)
    assert [row.id for row in rows] == list(range(count))
    assert nothing_is_cached(session)
    assert [row.kept for row in rows] == made.kept.tolist()
    matches = [-1 if row.original_id is None else row.original_id for row in rows]
    assert matches == made.matches.tolist()
    assert [row.differs or "" for row in rows] == [made.reasons[one] for one in made.differs]
    similarities = [np.nan if row.similarity is None else row.similarity for row in rows]
    assert np.array_equal(np.float32(similarities), made.similarities, equal_nan=True)
    assert all(row.group == (row.id if row.kept else row.original_id) for row in rows)


def test_what_a_frame_does_not_support_is_reported(session):
    from scrapy_simhash.spark import deduplicate

    df = frame(session, [{"text": "a"}])
    with pytest.raises(ValueError, match="whole numbers"):
        deduplicate(df, "text")
    with pytest.raises(ValueError, match="'kept' already"):
        deduplicate(df.withColumnRenamed("name", "kept"), "id")
    with pytest.raises(ValueError, match="allowed are own-site"):
        deduplicate(df, "id", prefer="best")


@pytest.mark.parametrize("numbers", [[1, 2, 2], [1, None, 2], [None, None, 1]])
def test_numbers_that_are_not_distinct_are_refused(session, numbers):
    from scrapy_simhash.spark import deduplicate

    rows = [(number, "http://a.test/", f"text {place}") for place, number in enumerate(numbers)]
    df = session.createDataFrame(rows, "id long, url string, text string")
    with pytest.raises(ValueError, match=r"rows: 3, distinct numbers: [12]"):
        deduplicate(df, "id")
    assert nothing_is_cached(session)
    with pytest.raises(ValueError, match="no column has a name of txt"):
        deduplicate(df, "id", fields=["txt"])
