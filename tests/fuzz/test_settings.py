"""Whatever a setting is, it is accepted and then works, or refused by its name."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz.grammar import Mute, texts
from fuzz.target import target
from hypothesis import example
from hypothesis import strategies as st
from scrapy.settings import Settings as ScrapySettings

from scrapy_simhash.crawl.settings import DEFAULTS, Settings
from scrapy_simhash.db.transactions import Database
from scrapy_simhash.exceptions import SettingError

SECRETS = {"SIMHASH_DATABASE_URL", "SIMHASH_ENGINE_OPTIONS", "SIMHASH_SECRET"}

usual = st.sampled_from(
    [
        *(None, True, False, "True", "false", "None", "", "0", "1", 0, 1, -1, 2, 8),
        *(0.9, "0.9", ".7"),
        *(10**12, 10**400, 1e300, float("nan"), float("inf"), "inf", "nan", "1e400", "9" * 5000),
        *("drop", "skip", "report", "pass", "release", "keep", "close", "auto", "always", "never"),
        *("bands", "blocks", "shingles", "keywords", "density", "body", "page", "item", "INFO"),
        *("sqlite://", "sqlite:///x.db", "postgresql://a:b@[", "mysql://", "://", "x://y", "a:b:c"),
        *("{spider}", "{", "{spider", "{}{spider}", "a,b", ",", "title", ["title"], [], [""], [1]),
        *({}, {"a": 1}, '{"a": 1}', "{", "[]", "[[1]]", "1", b"", b"a", object, len, "os:path"),
        *({"hash": "blake2b"}, {"bits": 64}, {"bits": -1}, {"bits": "x"}, {"hash": "no"}, {1: 2}),
        *("no.such:thing", "os.path:no", ".:", "a.b", "a..b", "os:", "json:loads", "x" * 5000),
        *(
            {"scrapy.Item": ["a"]},
            {"scrapy.Item": []},
            {object: "a"},
            {5: ["a"]},
            {"no.item": ["a"]},
        ),
        *("a" * 300 + "/report.html", "\0", "/no/such/report.html", Path("report.html"), "."),
        *(Decimal("0.9"), Decimal("sNaN"), Fraction(9, 10), timedelta(1), 1j, (1, 2), range(3)),
        *(np.float64(0.9), np.array([1, 2]), np.array([0.9]), "０.９", "1_0", " 8 ", "\ud800"),
    ]
)
values = st.one_of(
    usual,
    usual,
    texts.filter(lambda text: ":" not in text and "." not in text),
    st.integers(),
    st.floats(),
    st.builds(Mute),
    st.lists(texts, max_size=3),
    st.dictionaries(texts, st.integers(), max_size=2),
)
some = st.dictionaries(
    st.sampled_from([*DEFAULTS, "SIMHASH_SCHEME_OPTIONS"]), values, min_size=1, max_size=2
)


@target(some, examples=250)
@example({"SIMHASH_REPORT": "a" * 300 + "/report.html"})
@example({"SIMHASH_TEXT_BUDGET": 1e300})
@example({"SIMHASH_SCHEME": "keywords", "SIMHASH_SCHEME_OPTIONS": {"hash": 5}})
@example({"SIMHASH_SCHEME_OPTIONS": {"bits": -1}})
@example({"SIMHASH_SCHEME": "x" * 5000})
@example({"SIMHASH_SIMILARITY": Decimal("sNaN")})
def test_settings(given: dict[str, Any]) -> None:
    try:
        settings = Settings.read(ScrapySettings(given))
    except SettingError as error:
        message = str(error)
        assert any(name in message for name in (*given, "SIMHASH_DISTANCE"))
        assert "\n" not in message
        assert len(message) < 2000
        for name in SECRETS & given.keys():
            # What it was is not repeated; a word of the message itself may be the same.
            if isinstance(given[name], str) and "a:b@" in given[name]:
                assert given[name] not in message
        return
    assert settings.near
    assert isinstance(settings.compared, str)
    assert isinstance(settings.namespace_of(None), str)
    database = Database("sqlite://")
    try:
        index = settings.open_index(database, "n")
        text = " ".join(f"word{number}" for number in range(50))
        (verdict,) = index.execute(claims=[index.document(text, key="a")])
        assert verdict.kind in {"unique", "skipped"}
        index.execute(confirm=[verdict])
    finally:
        database.close()


@target(texts, examples=50)
def test_names_of_settings(name: str) -> None:
    if f"SIMHASH_{name}" not in DEFAULTS:
        with pytest.raises(SettingError, match="SIMHASH_"):
            Settings.read(ScrapySettings({f"SIMHASH_{name}": 1}))
