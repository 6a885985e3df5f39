"""Tuning a scheme of one's own."""

from __future__ import annotations

import json

import pytest
from scrapy.cmdline import execute
from scrapy.settings import Settings
from stored import store

from scrapy_simhash.index.index import Index
from scrapy_simhash.index.rule import Rule
from scrapy_simhash.simhash.scheme import Sketch

TEXTS = ["aaaa bbbb", "aaaa bbb", "zz"]


class Characters:
    """A scheme whose id does not say how wide its fingerprints are, with a distance of its own."""

    id = "characters/1"
    bits = 32
    distance = 2

    def sketch(self, text: str) -> Sketch:
        return Sketch(sum(1 << (ord(one) & 31) for one in set(text)), 10, None)


@pytest.mark.parametrize("given", [{}, {"SIMHASH_DISTANCE": 2}])
def test_a_scheme_that_does_not_say_its_width_is_tuned_by_distance(capsys, tmp_path, given) -> None:
    path = tmp_path / "seen.db"
    with Index(f"sqlite:///{path}", rule=Rule(scheme=Characters())) as index:
        for number, text in enumerate(TEXTS):
            store(index, text, f"http://a.test/{number}")
    with pytest.raises(SystemExit) as ended:
        execute(
            ["scrapy", "simhash", "tune", "--json", "--database", str(path)],
            Settings({"SIMHASH_SCHEME": f"{__name__}:Characters", **given}),
        )
    out, err = capsys.readouterr()
    assert (ended.value.code, err) == (0, "")
    tuned = json.loads(out)
    (present,) = (one for one in tuned["levels"] if one["threshold"] == tuned["present"])
    assert (present["threshold"], present["kept"]) == ("2", 2)
    assert tuned["documents"] == 3
