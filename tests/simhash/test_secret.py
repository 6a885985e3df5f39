"""Schemes with the secret of a database in them."""

from __future__ import annotations

import random

import pytest
from loopback import prose

from scrapy_simhash.classic.hashes import HASHES, with_secret
from scrapy_simhash.classic.scheme import Keywords
from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.item.content import read_item
from scrapy_simhash.item.evidence import Relation
from scrapy_simhash.item.facts import conflict
from scrapy_simhash.simhash.scheme import Sketch, key_part, keyed, load_scheme
from scrapy_simhash.simhash.shingles import Shingles, fingerprint

ONE, OTHER = b"one secret of 16", b"another of the s"
PLAIN = {"tokenizer": "words", "weights": "tf", "stop_words": None, "top": None}
SCHEMES = [Shingles(), Keywords(**PLAIN), Keywords(**PLAIN, hash="crc32", bits=32)]


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.id[:20] + scheme.id[-20:])
def test_each_secret_makes_another_scheme_and_leaves_the_public_one(scheme) -> None:
    text, public = prose(1), scheme.id
    before = scheme.sketch(text).fingerprint
    one, other = scheme.keyed(ONE), scheme.keyed(OTHER)
    assert [one.id, other.id] == [f"{public} {key_part(ONE)}", f"{public} {key_part(OTHER)}"]
    assert (scheme.id, scheme.sketch(text).fingerprint) == (public, before)
    prints = [made.sketch(text).fingerprint for made in (scheme, one, other)]
    assert len({*prints}) == 3
    assert one.sketch(text).size == scheme.sketch(text).size
    # Given another one it has that alone.
    again = other.keyed(ONE)
    assert (again.id, again.sketch(text).fingerprint) == (one.id, prints[1])
    assert one.explain(text).fingerprint == prints[1]
    assert one.explain(text).scheme == one.id


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.id[:20] + scheme.id[-20:])
def test_near_texts_stay_near_and_others_far(scheme) -> None:
    words = prose(1, 300).split()
    near = [*words[:150], "other", *words[151:]]
    for number in range(8):
        made = scheme.keyed(random.Random(number).randbytes(16))
        prints = [made.sketch(" ".join(text)).fingerprint for text in (words, near)]
        far = made.sketch(prose(2, 300)).fingerprint
        assert (prints[0] ^ prints[1]).bit_count() <= scheme.bits // 6
        assert (prints[0] ^ far).bit_count() >= scheme.bits // 6


@pytest.mark.parametrize("name", HASHES)
def test_differing_bits_of_named_hashes_say_nothing_of_those_with_a_secret(name: str) -> None:
    """With CRC-32 a secret in front of the word would change the same bits of every hash."""
    function, width = HASHES[name]
    a, b = function("first") & (1 << width) - 1, function("second") & (1 << width) - 1
    found = {with_secret(a, width, s) ^ with_secret(b, width, s) for s in (ONE, OTHER)}
    assert len(found) == 2
    assert a ^ b not in found


@pytest.mark.parametrize("hash_", [{"美国": 37, "51区": 43}, len], ids=["mapping", "function"])
def test_a_hash_of_your_own_is_left_as_it_is(hash_) -> None:
    scheme = Keywords(**PLAIN, hash=hash_, bits=6)
    assert scheme.keyed(ONE) is scheme


class Own:
    """A scheme that knows nothing of secrets."""

    id = "lengths/1 bits=64"
    bits = 64

    def sketch(self, text: str) -> Sketch:
        return Sketch(len(text), len(text), None)


class OwnWithSecret(Own):
    def __init__(self, secret: bytes = b"") -> None:
        self.id = f"{Own.id} {key_part(secret)}" if secret else Own.id
        self.secret = secret

    def keyed(self, secret: bytes) -> OwnWithSecret:
        return OwnWithSecret(secret)


def test_a_scheme_of_your_own_is_used_as_it_is_unless_it_takes_a_secret() -> None:
    own = Own()
    assert keyed(own, ONE) is own
    with Index("sqlite://", rule=Rule(scheme=own, distance=3)) as index:
        assert index.scheme is own
    with Index("sqlite://", rule=Rule(scheme=OwnWithSecret(), distance=3)) as index:
        assert index.scheme.secret == index.database.secret
        assert index.scheme.id.endswith(key_part(index.database.secret))


def test_an_index_hashes_with_its_secret_and_functions_on_texts_without() -> None:
    text = prose(1)
    with Index("sqlite://") as one, Index("sqlite://") as other:
        prints = {index.scheme.sketch(text).fingerprint for index in (one, other)}
        assert len({*prints, fingerprint(text)}) == 3
    assert load_scheme().sketch(text).fingerprint == fingerprint(text)


def test_facts_and_digest_of_an_item_depend_on_it() -> None:
    item = {"title": "Ferry", "price": "19.99 EUR", "text": prose(1), "pages": 3}

    def read(secret: bytes):
        return read_item(item, page_url="", since=0, now=0, secret=secret)

    one, again, other, public = map(read, (ONE, ONE, OTHER, b""))
    assert (one.facts, one.digest, one.text) == (again.facts, again.digest, other.text)
    assert conflict(one.facts, again.facts, frozenset({Relation.SAME_SITE})) is None
    values = [{value for _, _, value in facts.facts.records} for facts in (one, other, public)]
    assert len(set.union(*values)) == sum(map(len, values))
    assert len({one.digest, other.digest, public.digest}) == 3
    names = [[name for name, _, _ in facts.facts.records] for facts in (one, other, public)]
    assert names[0] == names[1] == names[2]
