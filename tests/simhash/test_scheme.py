from __future__ import annotations

from collections import UserDict

import pytest

from scrapy_simhash.simhash.scheme import Sketch, load_scheme
from scrapy_simhash.simhash.shingles import Shingles, fingerprint

ENGLISH = "The quick brown fox jumps over the lazy dog, and the lazy dog does not mind at all."
CHINESE = "敏捷的棕色狐狸跳过了懒狗，懒狗一点也不介意。"


# Frozen: a change of any of these is another scheme, and needs another number in its id.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ENGLISH, 0x16AA4CE865B16769EB728D3AF3ECBF83),
        (CHINESE, 0x7CDF30810CC1FE693E2C2A76D9D3E810),
        ("two words", 0x6023EE2EB0D3F5A7537A34261637FA32),
        ("两字", 0x1A9A87B7C0E528204039060C19482218),
        ("Ünïcode ﬁne 𠀀𠀁 한국어 カナ naïve १२३ x²", 0x9BB6403A78196C73CE9907362B51B88B),
        ("ข้อความภาษาไทยไม่มีช่องว่างระหว่างคำ ພາສາລາວກໍຄືກັນ", 0xA27D0F0FDFEF8340BD9057F0BDA57E6A),
        ("👍🏽🎉★", 0x244E2800AD9102673096C67F7D45116F),
        (
            f"{ENGLISH} {CHINESE} " * 40 + " ".join(map(str, range(9000))),
            0x70C68C43E9B2B10B2E0AE0146C5B282E,
        ),
    ],
)
def test_fingerprints_are_frozen(text: str, expected: int) -> None:
    assert fingerprint(text) == expected


def test_id_is_frozen() -> None:
    scheme = load_scheme()
    assert scheme.id == (
        "shingles/2 tokens=2,4 hash=poly+splitmix64 bits=128 tie=bit fold=unicode14"
    )
    assert scheme.bits == 128


@pytest.mark.parametrize("text", ["", "!!!", "word", "字", " \n\t", "。。。", "<!-- -->"])
def test_text_with_nothing_to_say_has_no_fingerprint(text: str) -> None:
    sketch = load_scheme().sketch(text)
    assert sketch.fingerprint is None
    assert sketch.size == 0
    assert fingerprint(text) is None


class Letters:
    """A scheme of somebody else."""

    id = "letters/1"
    bits = 64

    def __init__(self, salt: int = 0) -> None:
        self.salt = salt

    def sketch(self, text: str) -> Sketch:
        return Sketch(len(text) + self.salt, len(text), None)


class NoSketch(Letters):
    sketch = None


class Broken(Letters):
    bits = "64"


def any_options(**options: int) -> Letters:
    return Letters(**options)


NOT_CALLABLE = 5


@pytest.mark.parametrize("name", ["Letters", "any_options"])
def test_scheme_from_an_import_path(name: str) -> None:
    scheme = load_scheme(f"{__name__}:{name}", UserDict(salt=3))
    assert scheme.sketch("ab").fingerprint == 5


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("shingle", None, ValueError, "no scheme 'shingle'; there are 'shingles', 'keywords'"),
        ("shingles", {"bits": 64}, ValueError, "no option 'bits'; its options: none"),
        (f"{__name__}:Letters", {"pepper": 1}, ValueError, "no option 'pepper'.*: salt"),
        ("no.such.module:Name", None, ValueError, "cannot be imported.*no"),
        (f"{__name__}:Missing", None, ValueError, "cannot be imported.*Missing"),
        (f"{__name__}:NOT_CALLABLE", None, TypeError, "is 5, not a class"),
        (f"{__name__}:Broken", None, TypeError, "its bits an integer"),
        (f"{__name__}:NoSketch", None, TypeError, "must have sketch"),
        ("builtins:object", None, TypeError, "its id must be"),
    ],
)
def test_wrong_scheme_is_refused(
    name: str, options: dict[str, int] | None, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        load_scheme(name, options)


def test_explanation_of_shingles() -> None:
    scheme = load_scheme()
    assert isinstance(scheme, Shingles)
    explanation = scheme.explain("To be, or not to be")
    assert explanation.tokens == ["to", "be", "or", "not", "to", "be"]
    assert [f.name for f in explanation.features] == ["to be", "be or", "or not", "not to"]
    assert {f.weight for f in explanation.features} == {1}
    assert explanation.fingerprint == fingerprint("to be or not to be")
    for position, total in enumerate(reversed(explanation.sums)):
        ones = sum(f.hash >> position & 1 for f in explanation.features)
        assert total == 2 * ones - 4
    assert "to / be / or" in str(explanation)
    assert "none" in str(scheme.explain("word"))
