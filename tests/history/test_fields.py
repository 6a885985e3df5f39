"""The fields of dropped items, beside what is known of the stored ones."""

from __future__ import annotations

import pytest
from loopback import prose

from scrapy_simhash.crawl.quarantine import pack
from scrapy_simhash.history.fields import read_fields
from scrapy_simhash.history.namespaces import choose_namespace
from scrapy_simhash.history.pages import read_contents
from scrapy_simhash.history.pairs import read_newest
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.verdict import Duplicate
from scrapy_simhash.item.facts import Facts
from scrapy_simhash.item.folding import fold
from scrapy_simhash.item.names import name_of

FIELDS = {"title": "Snow", "price": "5 EUR", "offer.size": "M"}
ITEM = {"url": "http://b.test/1", "title": "Snow", "price": "6 EUR", "offer": {"size": "M"}}


def facts(stated):
    return Facts.of({name: fold(name_of(name), value) for name, value in stated.items()})


def fields(index, number):
    """The fields of a duplicate by name."""
    namespace = choose_namespace(index.database, None)
    (drop,) = [one for one in read_newest(index.database, namespace) if one.id == number]
    pair = drop.places
    contents = read_contents(index.database, namespace, pair)
    (found,) = read_fields(index.database, namespace, [pair], contents)
    return {field.name: field for field in found}


def marks(index, number):
    return {name: field.mark for name, field in fields(index, number).items()}


@pytest.fixture
def index():
    with Index("sqlite://") as index:
        yield index


def remember(index, stated, *packed):
    """Store a duplicate, with these fields, of an item with FIELDS; gives its number."""
    first = index.document(prose(1), key="a", url="http://a.test/1", facts=facts(FIELDS))
    index.confirm(*index.execute(claims=[first]))
    (verdict,) = index.execute(
        claims=[index.document(prose(1), key="b", url="http://b.test/1", facts=facts(FIELDS))]
    )
    copy = index.document(prose(1), key="b", url="http://b.test/1", facts=facts(stated))
    dropped = Duplicate(copy, verdict.match, "drop", *packed)
    index.execute(duplicates=[dropped])
    return dropped.id


def test_each_field_is_the_same_another_or_missing(index):
    stated = FIELDS | {"price": "6 EUR", "award": "yes", "page:title": "Snow"}
    number = remember(index, stated, *pack(ITEM | {"award": "yes", "empty": None}))
    assert marks(index, number) == {
        "url": "",
        "title": "same",
        "price": "differs",
        "offer.size": "same",
        "award": "missing",
        "page:title": "missing",
    }


def test_an_amount_without_a_currency_may_be_the_same(index):
    number = remember(index, FIELDS | {"price": "5.00"}, *pack(ITEM | {"price": "5.00"}))
    assert marks(index, number)["price"] == "same"


def test_what_was_not_kept_or_is_damaged_has_no_fields(index):
    assert marks(index, remember(index, FIELDS)) == {}
    assert marks(index, remember(index, FIELDS, b"damaged", "builtins.dict")) == {}
