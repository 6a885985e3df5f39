"""The message for an invalid setting: its name, its value, the valid values."""

from __future__ import annotations

import pytest
from scrapy.settings import Settings as ScrapySettings

from scrapy_simhash.crawl.settings import DEFAULTS, Settings
from scrapy_simhash.exceptions import SettingError

#: Of these the value is, or may hold, a password.
SECRET = {"SIMHASH_DATABASE_URL", "SIMHASH_ENGINE_OPTIONS", "SIMHASH_SECRET"}


def message_for(given):
    with pytest.raises(SettingError) as raised:
        Settings.read(ScrapySettings(given))
    return str(raised.value)


@pytest.mark.parametrize("name", sorted(DEFAULTS))
def test_a_wrong_value_is_named_with_what_is_allowed(name):
    wrong = {
        "SIMHASH_ENABLED": [],
        "SIMHASH_RESET": [],
        "SIMHASH_VALUES": [],
    }.get(name, -5.5)
    words = message_for({name: wrong})
    assert words.startswith(f"{name}: " if name in SECRET else f"{name} = {wrong!r}: ")
    assert any(word in words for word in ("must be", "wanted", "an extractor", "examples:"))
    assert "object" not in words


def test_unknown_settings_are_all_reported_with_the_nearest_name():
    words = message_for({"SIMHASH_SIMILARTY": 1, "SIMHASH_ON_DUPLICATES": 1, "SIMHASH_Q": 1})
    assert "SIMHASH_SIMILARTY (did you mean SIMHASH_SIMILARITY?)" in words
    assert "nor SIMHASH_ON_DUPLICATES (did you mean SIMHASH_ON_DUPLICATE?)" in words


def test_settings_of_others_are_no_business_of_ours():
    others = ["MINHASH_SCHEME", "MINHASH_ENABLED", "MY_SIMHASH_KEY", "SIMASH_COLOUR", "SIM", "KEY"]
    names = {f"{start}{name[8:]}" for name in DEFAULTS for start in ("MINHASH_", "PHASH_", "")}
    Settings.read(ScrapySettings(dict.fromkeys([*others, *names])))
