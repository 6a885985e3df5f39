"""Any text has shingles, a fingerprint and keys, which depend on the text alone."""

from __future__ import annotations

import unicodedata

import numpy as np
from fuzz.grammar import characters, long_texts, secrets, texts
from fuzz.target import target
from hypothesis import example
from hypothesis import strategies as st

from scrapy_simhash.features.shingles import shingle_names, shingles
from scrapy_simhash.features.tokens import fold, tokens
from scrapy_simhash.item import folding
from scrapy_simhash.item.evidence import TABLE, Evidence
from scrapy_simhash.item.names import name_of
from scrapy_simhash.keys.bands import bands_for
from scrapy_simhash.keys.plan import blocks_for
from scrapy_simhash.simhash.scheme import keyed, load_scheme
from scrapy_simhash.text.packed import pack_text, unpack_text
from scrapy_simhash.visible import shortened, visible


@target(long_texts, secrets, examples=150)
def test_fingerprints(text: str, secret: bytes) -> None:
    assert fold(text).size >= 1
    hashes = shingles(text, secret)
    assert hashes.dtype == np.uint64
    assert hashes.tolist() == sorted(set(hashes.tolist()))
    assert sorted(set(shingle_names(text, secret).values())) == hashes.tolist()
    # A secret changes what the hashes are, and not how many.
    assert hashes.size == shingles(text).size
    # Nor does it matter in which form the letters are composed.
    if len(text) < 100 and not any(map(unicodedata.combining, text)):
        assert shingles(unicodedata.normalize("NFC", text), secret).tolist() == hashes.tolist()
    for name in ("shingles", "keywords"):
        scheme = keyed(load_scheme(name), secret) if secret else load_scheme(name)
        sketch = scheme.sketch(text)
        again = scheme.sketch(text)
        assert (sketch.fingerprint, sketch.size) == (again.fingerprint, again.size)
        assert sketch.fingerprint is None or 0 <= sketch.fingerprint < 1 << scheme.bits
        assert (sketch.size == 0) == (sketch.fingerprint is None)
    sketch = load_scheme("shingles").sketch(text)
    assert tokens(text) == tokens(text.replace("\u200b", ""))
    if sketch.fingerprint is not None:
        bands = bands_for(0.9)
        assert len(bands.keys(sketch)) == bands.slots
        blocks = blocks_for(64, 3, 1_000_000)
        assert len(blocks.keys(sketch)) == blocks.slots


@target(long_texts, examples=150)
@example("a \ud800 b")
def test_what_is_shown_and_kept(text: str) -> None:
    shown = visible(text)
    assert visible(shown) == shown
    shown.encode()
    line = shortened(text)
    assert "\n" not in line
    assert all(character.isprintable() or character.isspace() for character in line) or text
    packed = pack_text(text)
    assert packed is not None
    assert unpack_text(packed)[0] == text.encode("utf-8", "replace").decode()


FIELDS = st.one_of(
    st.sampled_from(
        ["price", "title", "lang", "date", "isbn", "phone", "published", "", "updated"]
    ),
    texts,
)
FIGURES = st.text(
    st.one_of(st.sampled_from("0123456789.,' €$£-+eE%()/:kKmM\u00a0\u202f٣½²"), characters),
    max_size=30,
)


@target(FIELDS, st.one_of(FIGURES, texts, st.integers(), st.floats(), st.decimals()), examples=250)
def test_facts(name: str, value: object) -> None:
    named = name_of(name)
    folded = folding.fold(named, value)
    assert folded == folding.fold(named, value)
    assert folding.fold(named, [value]) == folded
    assert folding.fold(named, [value, value]) == folded
    if folded is not None:
        assert folded.text[:2] in {"t:", "n:", "l:", "d:", "b:", "f:"}
        assert Evidence(min(folded.kind, Evidence.AMOUNT)) in TABLE
