"""Which fields of a corpus only tell when, or in which order, its items were stored."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json

import pytest
from corpora import jsonl
from loopback import prose

from scrapy_simhash.corpus import bookkeeping
from scrapy_simhash.corpus.bookkeeping import find_written
from scrapy_simhash.feed.csv_file import CsvFile
from scrapy_simhash.feed.json_file import JsonLines

START = dt.datetime(2024, 3, 7, 7, 24, 43, tzinfo=dt.UTC)
NOTHING = ([], [])


@pytest.fixture
def find(tmp_path):
    """Find the fields in items, one file for each list."""

    def run(*files, ignore=()):
        sources = []
        for number, items in enumerate(files):
            path = tmp_path / f"{number}.jsonl"
            path.write_bytes(jsonl(items))
            sources.append(JsonLines(path))
        return find_written(sources, ignore)

    return run


def at(minutes: float) -> str:
    return f"{START + dt.timedelta(minutes=minutes):%Y-%m-%d %H:%M:%S}"


# Numbers of rows


@pytest.mark.parametrize("name", ["", "#", "index", "Unnamed: 0", "row", "row_number", "序号"])
@pytest.mark.parametrize("first", [0, 1, 500])
@pytest.mark.parametrize("kind", [int, str, float])
def test_an_index_that_counts_the_items_is_none_of_their_fields(find, name, first, kind):
    items = [{name: kind(first + n), "text": f"text {n % 2}"} for n in range(4)]
    # Only digits are a number in CSV.
    expected = NOTHING if kind is float and type(items[0][name]) is str else ([name], [])
    assert find(items) == expected
    assert find(items, ignore=[name]) == NOTHING


@pytest.mark.parametrize("written", ["[{}, {}]", "({},{})"])
def test_a_list_of_numbers_counts_the_items_level_by_level(find, written):
    places = [(page, row) for page in range(2) for row in range(3)]
    for make in (written.format, lambda *numbers: [*numbers]):
        assert find([{"id": make(*place), "text": "a"} for place in places]) == ([], ["id"])
        back = [{"id": make(*place), "text": "a"} for place in [*places, (1, 1)]]
        assert find(back) == NOTHING
    assert find([{"id": written.format(7, n % 2), "text": "a"} for n in range(6)]) == NOTHING


def test_an_index_begins_again_where_a_data_frame_was_appended_and_in_each_file(find):
    items = [{"index": n % 3, "id": n + 1, "text": "a"} for n in range(6)]
    assert find(items) == (["index"], ["id"])
    assert find(items[:4], items[4:]) == (["index"], ["id"])
    assert find(items[:4], [{"text": "b"}], items[:4]) == (["index"], ["id"])
    assert find([{"index": n % 2 + 5, "id": n % 3, "text": "a"} for n in range(6)]) == NOTHING


@pytest.mark.parametrize(
    "values",
    [[1, 2], [1, 3, 4], [3, 2, 1], [1, 2, None], [1, 2, 2], ["01", "02", "03"], [1, 2, "x"]],
)
def test_other_ids_are_facts(find, values):
    assert find([{"id": value, "text": "a"} for value in values]) == NOTHING


@pytest.mark.parametrize("name", ["lot", "year", "episode", "no", "number", "price", "page"])
def test_a_field_with_a_meaning_counts_nothing(find, name):
    assert find([{name: 2000 + n, "text": "a"} for n in range(9)]) == NOTHING


# Moments


def polled(count: int = 9, **more):
    """Items that a crawl found again and again."""
    return [
        {"title": f"Title {n % 3}", "text": "a", "created_at": at(17 * n)}
        | {name: value(n) for name, value in more.items()}
        for n in range(count)
    ]


CRAWLED = {
    "the same items within an hour": polled(),
    "three of one": [item | {"title": "One"} for item in polled(3)],
    "the same pages, once a day": polled(
        url=lambda n: f"/{n % 3}", created_at=lambda n: at(1e3 * n)
    ),
    "the same pages, some changed": polled(
        url=lambda n: f"/{n % 3}", title=lambda n: f"Title {n % 3}{n == 5}"
    ),
    "some without one": [*polled(), {"text": "a", "created_at": ""}],
    "by writers that work together": polled(created_at=lambda n: at(n - 0.5 * (n % 2))),
    "in epochs": polled(created_at=lambda n: 1_700_000_000 + n),
}


@pytest.mark.parametrize("items", CRAWLED.values(), ids=CRAWLED)
def test_a_moment_is_the_crawls_where_the_whole_corpus_shows_it(find, items):
    assert find(items) == ([], ["created_at"])
    assert find(items, items) == ([], ["created_at"])


OWN = {
    "one pair": polled(2, title=lambda n: "One"),
    "the newest first": polled()[::-1],
    "posts of threads": polled(
        title=lambda n: f"Title {n}" if n % 4 else "Bump", url=lambda n: f"/{n % 2}"
    ),
    "bumps without a URL": polled(title=lambda n: f"Title {n}" if n % 3 else "Bump"),
    "one notice a day": polled(created_at=lambda n: at(1440 * n)),
    "the same words at other URLs": polled(url=lambda n: f"/{n}"),
    "other pages, with a date of publication": polled(
        url=lambda n: f"/{n}", title=lambda n: f"Title {n}", published=lambda n: at(-90 * n)
    ),
    "no moment": polled(created_at=lambda n: f"on request {n}"),
    "either day": polled(created_at=lambda n: f"03/{4 + n:02}/2024"),
}


@pytest.mark.parametrize("items", OWN.values(), ids=OWN)
def test_a_feed_that_is_sorted_by_its_own_dates_keeps_them(find, items):
    assert find(items) == NOTHING


@pytest.mark.parametrize(
    "name",
    [
        *("createdAt", "created", "inserted_at", "added_at", "date_added", "saved_at", "ts"),
        *("run_at",),
        *("collected_at", "import_date", "first_seen", "record_time", "request_time", "timestamp"),
        *("snapshotDate", "load_ts", "创建时间", "登録日時", "erstellt_am", "fecha_creacion"),
    ],
)
def test_names_that_may_be_the_crawls(find, name):
    items = [{"text": "a", name: at(n)} for n in range(3)]
    assert find(items) == ([], [name])


@pytest.mark.parametrize(
    "name", ["published_at", "posted", "event_time", "deadline", "born", "runtime"]
)
def test_names_that_are_not(find, name):
    assert find([{"text": "a", name: at(n)} for n in range(3)]) == NOTHING


# What becomes of them


def test_only_the_first_items_of_a_corpus_tell(find, monkeypatch):
    items = [*polled(9), *polled(9)[::-1]]
    assert find(items) == NOTHING
    monkeypatch.setattr(bookkeeping, "_MOST", 9)
    assert find(items) == ([], ["created_at"])
    assert find(items[:9], items[::-1]) == ([], ["created_at"])


def test_of_damaged_lines_and_csv(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_bytes(jsonl(polled(4)) + b"{\n" + jsonl(polled(9)[4:]))
    source = JsonLines(path)
    assert find_written([source]) == ([], ["created_at"])
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerows([("", "name"), *((n, "Ann") for n in range(3))])
    (tmp_path / "in.csv").write_text(text.getvalue())
    table = CsvFile(tmp_path / "in.csv")
    assert find_written([table]) == (["Unnamed: 0"], [])


@pytest.mark.parametrize("text", [prose(1, 60), "short"])
def test_moments_and_ids_tell_rows_of_data_apart_and_no_texts(call, tmp_path, text):
    items = [{"id": n, "created_at": at(n), "text": text} for n in range(3)]
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(jsonl(items))
    _, out, _ = call("dedupe", source, "-o", output)
    told = [] if text == "short" else ["id", "created_at"]
    assert output.read_bytes() == jsonl(items[:1] if told else items)
    assert ("items were stored: id, created_at" in out) is bool(told)
    output.unlink()
    _, out, _ = call("dedupe", source, "-o", output, "--json")
    assert json.loads(out)["written"] == told
    output.unlink()
    # Who names them wants them compared.
    call("dedupe", source, "-o", output, "--fields", "id,text")
    assert output.read_bytes() == jsonl(items)
