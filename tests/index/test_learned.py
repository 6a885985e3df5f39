"""Fields that differ between two visits of one page are not compared on its host."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from claims import article
from servers import ENGINES, cleared_database
from sqlalchemy import text

from scrapy_simhash.db.transactions import Database
from scrapy_simhash.index import learned
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.learned import LearnedField, read_learned
from scrapy_simhash.index.upkeep import forget_learned
from scrapy_simhash.index.verdict import Verdict
from scrapy_simhash.item.content import read_item

SHOP = "https://www.shop.com"
#: Counts, for values that differ at every visit.
tick = count(1000)

on_all_engines = pytest.mark.parametrize("engine", ENGINES)


def meet(
    index: Index, *pages: tuple[str, int, dict[str, Any]], listed: bool = False
) -> list[Verdict]:
    """Meet items, each alone on its page, in one batch: address, number of its text, fields."""
    documents = []
    visit = next(tick)
    for url, number, fields in pages:
        body = article(number)
        facts = read_item(fields, page_url=url, since=0, now=1).facts.with_numbers(body)
        document = index.document(body, key=fields.get("key", url), url=url, facts=facts)
        if listed:
            document.visit, document.listing = None, visit
        documents.append(document)
    verdicts = index.execute(documents)
    index.confirm(*verdicts)
    return verdicts


def visit(index: Index, pages: int = 3, host: str = SHOP, **fields: Any) -> None:
    """Meet pages again, whose readers differ each time."""
    meet(
        index, *((f"{host}/{one}", one, {"readers": next(tick), **fields}) for one in range(pages))
    )


def kind(index: Index, url: str, number: int, **fields: Any) -> str:
    (verdict,) = meet(index, (url, number, fields))
    return verdict.differs or verdict.kind


def names(index: Index) -> list[str]:
    return [one.name for one in read_learned(index.database, index.id)]


def rows_of(index: Index) -> list[tuple[Any, ...]]:
    query = text("SELECT name, differed, agreed, since FROM simhash_learned ORDER BY host, name")
    return index.database.read(lambda one: [tuple(row) for row in one.execute(query)])


@on_all_engines
def test_a_count_of_views_is_learned_from_two_visits(db: Database) -> None:
    index = Index(db)
    visit(index)
    assert kind(index, f"{SHOP}/sale/0", 0, readers=next(tick)) == "readers"
    visit(index)
    assert names(index) == ["readers"]
    assert kind(index, f"{SHOP}/new/1", 1, readers=next(tick)) == "duplicate"


@on_all_engines
def test_variants_of_a_product_are_kept_while_views_and_ranks_differ(db: Database) -> None:
    index = Index(db)
    variants = [
        (f"{SHOP}/lamp?size={size}", 0, {"sku": f"L-{size}", "size": size, "price": f"{size}.90 €"})
        for size in range(5)
    ]
    # Some differ in their size, others in sku and price only, or in one of the two.
    variants += [(f"{SHOP}/code/{one}", 1, {"sku": f"C-{one}"}) for one in range(5)]
    variants += [(f"{SHOP}/cost/{one}", 2, {"price": f"{one}.50 €"}) for one in range(5)]
    for day in range(4):
        met = [
            (url, number, {**fields, "readers": next(tick), "popularity": (place + day) % 15})
            for place, (url, number, fields) in enumerate(variants)
        ]
        assert "duplicate" not in {verdict.kind for verdict in meet(index, *met)}
    assert names(index) == ["popularity", "readers"]
    copies = [(f"{url}{'&' if '?' in url else '?'}s=1", *rest) for url, *rest in met]
    assert {verdict.kind for verdict in meet(index, *copies)} == {"duplicate"}


@pytest.mark.parametrize(
    "dates",
    [
        [f"2026-03-0{day}" for day in range(1, 6)],
        [f"{day}. März" for day in range(1, 6)],
        ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"],
        [f"{hour}:30" for hour in range(15, 20)],
    ],
)
@pytest.mark.parametrize("name", ["date", "when", "info"])
@pytest.mark.parametrize("engine", ["sqlite"])
def test_events_are_kept_while_their_dates_move(db: Database, name: str, dates: list[str]) -> None:
    """A weekly event: its page always has the next date."""
    index = Index(db)
    for day in range(5):
        fields = {name: dates[day], "readers": next(tick)}
        meet(index, *((f"{SHOP}/{one}", one, fields) for one in range(4)))
    assert names(index) == ["readers"]
    assert kind(index, f"{SHOP}/other/0", 0, **{name: "2027-01-01"}) == name


@pytest.mark.parametrize("engine", ["sqlite"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("title", "A title {}"),
        ("job_title", "Cook {}"),
        ("isbn", "978{}"),
        ("productCode", "A{}"),
        ("price", "{}"),
        ("info", "{}.50 €"),
    ],
)
def test_titles_codes_and_prices_are_never_learned(db: Database, name: str, value: str) -> None:
    index = Index(db)
    for _ in range(5):
        visit(index, **{name: value.format(next(tick))})
    assert name not in names(index)
    assert kind(index, f"{SHOP}/other/0", 0, **{name: value.format(1)}) == name


@pytest.mark.parametrize("engine", ["sqlite"])
class TestPairs:
    """What counts as two visits of one thing."""

    def test_tracking_parameters(self, db: Database) -> None:
        index = Index(db)
        for query in ("", "?utm_source=mail"):
            meet(index, *((f"{SHOP}/{n}{query}", n, {"readers": next(tick)}) for n in range(3)))
        assert names(index) == ["readers"]

    @pytest.mark.parametrize("parameter", ["ref", "from", "s", "id", "sid"])
    def test_a_parameter_may_tell_which_thing_it_is(self, db: Database, parameter: str) -> None:
        index = Index(db)
        urls = [f"{SHOP}/{page}?{parameter}={n}" for page in range(3) for n in range(4)]
        meet(index, *((url, 0, {"size": next(tick)}) for url in urls))
        assert rows_of(index) == []

    def test_another_code_is_another_thing_at_the_same_address(self, db: Database) -> None:
        """Such as "product of the day"."""
        index = Index(db)
        for _ in range(5):
            visit(index, sku=f"{next(tick)}", color=f"c{next(tick)}")
        assert rows_of(index) == []

    def test_another_text_is_no_pair(self, db: Database) -> None:
        index = Index(db)
        for day in range(5):
            met = ((f"{SHOP}/{n}", 10 * n + day, {"color": next(tick)}) for n in range(3))
            meet(index, *met)
        assert rows_of(index) == []

    def test_rows_that_share_an_address_are_not_told_apart(self, db: Database) -> None:
        """The sizes of a product, on one page, each with the link of the product."""
        for day in range(5):
            index = Index(db)
            met = [
                (f"{SHOP}/list", page, {"key": f"{SHOP}/{page}", "size": f"{day + size} cm"})
                for page in range(4)
                for size in range(3)
            ]
            meet(index, *met, listed=True)
            index.close()
        index = Index(db)
        assert names(index) == []

    def test_listed_items_with_addresses_of_their_own(self, db: Database) -> None:
        for _ in range(2):
            with Index(db) as index:
                met = (
                    (f"{SHOP}/list", n, {"key": f"{SHOP}/{n}", "popularity": next(tick)})
                    for n in range(4)
                )
                meet(index, *met, listed=True)
        assert names(index) == ["popularity"]

    def test_one_page_is_not_enough(self, db: Database) -> None:
        index = Index(db)
        for _ in range(9):
            visit(index, pages=2)
        assert names(index) == []
        visit(index)
        visit(index)
        assert names(index) == ["readers"]


@on_all_engines
def test_what_is_learned_counts_on_its_host_only(db: Database) -> None:
    index = Index(db)
    for _ in range(2):
        visit(index)
    for url in ("https://shop.com/0", "https://blog.shop.com/0"):
        assert kind(index, url, 0, readers=next(tick)) == "readers"
    # Nor beside what another host of the site has.
    assert kind(index, "https://blog.shop.com/9", 9, readers=next(tick)) == "unique"
    assert kind(index, f"{SHOP}/9", 9, readers=next(tick)) == "readers"


@on_all_engines
def test_a_field_that_differs_rarely_is_not_learned(db: Database) -> None:
    index = Index(db)
    for day in range(8):
        visit(index, badge=day // 4)
    ((_, differed, agreed, since), _) = rows_of(index)
    assert (differed, agreed, since) == (3, 18, None)


@on_all_engines
def test_what_is_learned_is_taken_back(db: Database) -> None:
    index = Index(db)
    colors = ["red", "blue", "green"]
    for color in colors[:2]:
        visit(index, color=color)
    assert names(index) == ["color", "readers"]
    visit(index, color="blue")
    assert names(index) == ["readers"]
    assert kind(index, f"{SHOP}/other/0", 0, readers=next(tick), color="green") == "color"


def test_counts_are_bounded_and_old_ones_weigh_less() -> None:
    field = LearnedField("a.example", 1, "readers")
    for number in range(1000):
        known, field = field, field.with_pair((f"/{number}", f"/{number}"), number)
    assert field is known, "nothing more to be written"
    assert (field.differed, field.agreed) == (learned.MOST_PAIRS, 0)
    assert field.since == 2
    pairs = 0
    while field.since is not None:
        field = field.with_pair(None, 2000)
        pairs += 1
    assert pairs == 13


@on_all_engines
def test_processes_share_what_is_learned(engine: str, tmp_path: Any) -> None:
    url = cleared_database(engine, tmp_path)
    one, other = (Index(url) for _ in range(2))
    try:
        visit(one)
        visit(other)
        assert kind(one, f"{SHOP}/sale/0", 0, readers=next(tick)) == "duplicate"
        assert kind(other, f"{SHOP}/sale/1", 1, readers=next(tick)) == "duplicate"
        forget_learned(one.database, one.id)
        assert kind(other, f"{SHOP}/sale/2", 2, readers=next(tick)) == "readers"
    finally:
        one.close()
        other.close()


@on_all_engines
def test_one_field_is_forgotten(db: Database) -> None:
    index = Index(db)
    for _ in range(2):
        visit(index, likes=next(tick))
    forget_learned(db, index.id, "likes")
    assert names(index) == ["readers"]
    forget_learned(db, index.id)
    assert names(index) == []


@on_all_engines
def test_what_is_learned_is_forgotten_with_the_namespace(db: Database) -> None:
    from scrapy_simhash.index.upkeep import reset_namespace

    index = Index(db)
    for _ in range(2):
        visit(index)
    reset_namespace(db, "default")
    visit(index)
    assert kind(index, f"{SHOP}/sale/0", 0, readers=next(tick)) == "readers"


@pytest.mark.parametrize("engine", ["sqlite"])
@pytest.mark.parametrize("off", [{"learn": False}, {"facts": "always"}])
def test_it_can_be_turned_off(db: Database, off: dict[str, Any]) -> None:
    with Index(db) as index:
        for _ in range(2):
            visit(index)
    with Index(db, **off) as index:
        assert kind(index, f"{SHOP}/sale/0", 0, readers=next(tick)) == "readers"
        for _ in range(3):
            visit(index, likes=next(tick))
        assert names(index) == ["readers"]


@pytest.mark.parametrize("engine", ["sqlite"])
def test_rows_are_bounded(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned, "MOST_HOSTS", 3)
    monkeypatch.setattr(learned, "MOST_FIELDS", 5)
    index = Index(db)
    for _ in range(3):
        fields = {f"field{one}": next(tick) for one in range(9)}
        meet(index, *((f"https://{host}.com/", n, fields) for n, host in enumerate("abcdef")))
    assert len(rows_of(index)) == 15
    for _ in range(2):
        meet(index, ("https://a.com/", 0, {"another": next(tick)}))
    assert len(rows_of(index)) == 15


@pytest.mark.parametrize("engine", ["sqlite"])
def test_an_unchanged_page_needs_no_claim_if_only_its_views_differ(db: Database) -> None:
    index = Index(db)
    for _ in range(2):
        visit(index)
    size = len(index)
    visit(index)
    assert len(index) == size


def test_a_field_is_explained_in_a_sentence() -> None:
    field = LearnedField("www.shop.example", 1, "readers", 3, 0)
    assert str(field) == (
        "readers differs between two visits of one page: not compared on www.shop.example (3 of 3 "
        "pairs)"
    )
