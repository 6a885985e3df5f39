from __future__ import annotations

import marshal
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scrapy_simhash.classic.scheme import Keywords, fingerprint_features
from scrapy_simhash.simhash.scheme import load_scheme

NEWS = (
    "昨天下午，市图书馆新馆正式开放，馆长介绍说新馆藏书超过八十万册，阅览座位比老馆多一倍。"
    "许多读者一早就来排队，有的读者带着孩子参观儿童阅览室。图书馆还准备了几场讲座，"
    "讲座的内容包括古籍修复、地方历史和科学幻想小说。The library opens at 9.30 every day."
)


def weights_of(text: str, **options: object) -> dict[str, float]:
    return Keywords(**options).extract(text).weights  # type: ignore[arg-type]


def test_segmentation_drops_punctuation_and_marks_stop_words() -> None:
    extraction = Keywords().extract("我们的图书馆，is open !!!")
    assert extraction.tokens == ["我们", "的", "图书馆", "is", "open"]
    assert extraction.left_out == ["我们", "的", "is"]
    assert set(extraction.keywords) == {"图书馆", "open"}


@pytest.mark.parametrize(
    ("tokenizer", "expected"),
    [
        ("words", ["neo", "读", "书", "3", "times"]),
        ("characters", list("neo读书3times")),
        (str.split, ["Ｎeo", "读书", "3", "Times"]),
    ],
)
def test_tokenizers(tokenizer: object, expected: list[str]) -> None:
    text = "Ｎeo 读书 3 Times"
    assert Keywords(tokenizer=tokenizer, stop_words=None).extract(text).tokens == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("weights", ["tfidf", "pos"])
def test_text_without_a_mark_is_cut_by_the_dictionary(weights: str) -> None:
    """Left to guess new words in it, jieba would be busy with such a page for hours."""
    text = "龘" * 250_000 + "图书馆"
    tokens = Keywords(weights=weights).extract(text).tokens
    assert tokens == [*text[:250_000], "图书馆"]


# jieba.analyse leaves a file open when it is imported.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_tfidf_is_jiebas() -> None:
    """The same words with the same weights as jieba's own extractor, but for its divisor."""
    from jieba.analyse import TFIDF

    extractor = Keywords(top=None)
    reference = TFIDF()
    reference.stop_words = set(extractor._stop_words)
    expected = dict(reference.extract_tags(NEWS, None, withWeight=True))
    weights = extractor.extract(NEWS).weights
    assert set(weights) == set(expected)
    ratio = weights["图书馆"] / expected["图书馆"]
    assert all(weights[word] == pytest.approx(ratio * expected[word]) for word in expected)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_textrank_is_jiebas() -> None:
    from jieba.analyse import TextRank

    extractor = Keywords(weights="textrank", top=None)
    reference = TextRank()
    reference.stop_words = set(extractor._stop_words)
    expected = dict(reference.textrank(NEWS, None, withWeight=True))
    assert extractor.extract(NEWS).weights == pytest.approx(expected)
    assert max(expected.values()) == 1


def test_levels_are_1_to_5() -> None:
    weights = weights_of(NEWS, weights="levels", stop_words=None)
    assert set(weights.values()) <= {1, 2, 3, 4, 5}
    assert max(weights.values()) == 5
    assert weights["的"] == 1
    tfidf = weights_of(NEWS, weights="tfidf", stop_words=None)
    heaviest = max(tfidf.values())
    assert all(weights[w] == max(1, math.ceil(5 * v / heaviest)) for w, v in tfidf.items())


def test_parts_of_speech() -> None:
    weights = weights_of("北京的读者观看电影", weights="pos", stop_words=None)
    assert weights["北京"] == 5
    assert weights["读者"] == 4
    assert weights["观看"] == 3
    assert "的" not in weights


def test_mapping_of_weights_holds_all_that_counts() -> None:
    extraction = Keywords(weights={"图书馆": 2, "讲座": -3.5, "火星": 1}).extract(NEWS)
    assert extraction.keywords == {"讲座": -3.5, "图书馆": 2}


def test_own_idf(tmp_path: Path) -> None:
    path = tmp_path / "idf.txt"
    path.write_text("cat 2.5\ndog 1\nbird 0.5\n", encoding="utf-8")
    weights = weights_of("cat cat emu", idf=path, tokenizer="words")
    assert weights == {"cat": 5, "emu": 1}
    before = Keywords(idf=path).id
    path.write_text("cat 2.5\ndog 1\nbird 0.25\nemu 3\n", encoding="utf-8")
    assert Keywords(idf=path).id != before
    assert weights_of("cat cat emu", idf=path, tokenizer="words") == {"cat": 5, "emu": 3}


@pytest.mark.parametrize(
    ("size", "count"), [(0, 5), (600, 5), (1200, 10), (7800, 65), (10**5, 200)]
)
def test_adaptive_top(size: int, count: int) -> None:
    """One keyword for 120 bytes of UTF-8, at least 5 and at most 200."""
    many = [f"w{i}" for i in range(300)]
    extractor = Keywords(tokenizer=lambda text: many, weights="tf", stop_words=None)
    assert len(extractor.extract("x" * size).keywords) == count
    assert len(extractor.extract("字" * (size // 3)).keywords) == count


def test_stop_words_of_all_kinds(tmp_path: Path) -> None:
    path = tmp_path / "stop.txt"
    path.write_text("\ufeff# a comment\nCat\n\n狗\n", encoding="utf-8")
    options = {"tokenizer": str.split, "weights": "tf"}
    for stop_words, expected in (
        (path, {"the": 1, "bird": 1}),
        (str(path), {"the": 1, "bird": 1}),
        (["cat", "bird"], {"狗": 1, "the": 1}),
        (None, {"CAT": 1, "狗": 1, "the": 1, "bird": 1}),
        ("default", {"CAT": 1, "狗": 1, "bird": 1}),
    ):
        extractor = Keywords(stop_words=stop_words, **options)  # type: ignore[arg-type]
        assert extractor.extract("CAT 狗 the bird").weights == expected


def test_user_dictionary_from_a_file_and_a_list(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("51区 10 ns\n9架\n", encoding="utf-8")
    from_file = Keywords(user_dictionary=path, stop_words=None)
    from_list = Keywords(user_dictionary=["51区 10 ns", "9架"], stop_words=None)
    assert from_file.extract("51区有9架").tokens == ["51区", "有", "9架"]
    assert from_file.id == from_list.id != Keywords(stop_words=None).id


def test_user_dictionary_stays_our_own() -> None:
    """Words added to jieba's global tokenizer would change the texts of everybody else."""
    import jieba

    assert "磁悬浮飞毯" in Keywords(user_dictionary=["磁悬浮飞毯"]).extract("磁悬浮飞毯").tokens
    assert "磁悬浮飞毯" not in jieba.lcut("磁悬浮飞毯")
    assert "磁悬浮飞毯" not in Keywords().extract("磁悬浮飞毯").tokens


OPTIONS = {
    "tokenizer": "words",
    "user_dictionary": ["51区"],
    "stop_words": None,
    "weights": "tf",
    "top": 7,
    "hash": "md5",
    "bits": 63,
    "tie": ">=",
}


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_is_part_of_the_id(option: str) -> None:
    assert Keywords(**{option: OPTIONS[option]}).id != Keywords().id  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"token": "jieba"}, ValueError, "no option 'token'; its options: tokenizer, user_"),
        ({"tokenizer": "mecab"}, ValueError, "tokenizer: there is no 'mecab'; allowed are jieba"),
        ({"tokenizer": 3}, TypeError, "tokenizer: 3; allowed"),
        ({"tokenizer": "no:where"}, ValueError, "tokenizer: 'no:where' cannot be imported"),
        ({"stop_words": "/no/such/file"}, ValueError, "stop_words: cannot read '/no/such/file'"),
        ({"stop_words": 5}, TypeError, "stop_words: 5; allowed"),
        ({"stop_words": [5]}, TypeError, "stop_words: 5 is no word"),
        ({"user_dictionary": "/no/dict"}, ValueError, "user_dictionary: cannot read '/no/dict'"),
        ({"user_dictionary": ["a 1 n x"]}, ValueError, "word 1: 'a 1 n x' is not a word"),
        ({"user_dictionary": ["a"], "tokenizer": "words"}, ValueError, "'words' has none"),
        ({"weights": "bm25"}, ValueError, "weights: 'bm25'; allowed are levels, tf, tfidf"),
        ({"weights": {"a": math.nan}}, ValueError, "weights: nan, the weight of 'a', is not fin"),
        ({"weights": {"a": -math.inf}}, ValueError, "weights: -inf, the weight of 'a'"),
        ({"weights": {"a": "5"}}, TypeError, "weights: '5', the weight of 'a', is not a number"),
        ({"weights": "pos", "tokenizer": "words"}, ValueError, "'pos' needs parts of speech"),
        ({"weights": "textrank", "tokenizer": str.split}, ValueError, "'textrank' needs parts"),
        ({"idf": "/no/idf"}, ValueError, "idf: cannot read '/no/idf'"),
        ({"idf": "/no/idf", "weights": "tf"}, ValueError, "idf: of no use with the weights 'tf'"),
        ({"top": 0}, ValueError, "top: 0; allowed"),
        ({"top": True}, ValueError, "top: True; allowed"),
        ({"top": "all"}, ValueError, "top: 'all'; allowed"),
        ({"hash": "md6"}, ValueError, "hash: there is no 'md6'"),
        ({"bits": 161}, ValueError, "bits: 161; allowed are 1 to 160"),
        ({"bits": 128}, ValueError, "bits: 128, but the hash 'fnv1a' has 64"),
        ({"tie": "="}, ValueError, "tie: '='; allowed are '>'"),
    ],
)
def test_wrong_option_is_refused(
    options: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        load_scheme("keywords", options)


@pytest.mark.parametrize("option", ["stop_words", "user_dictionary", "idf"])
def test_file_in_another_encoding_is_refused(tmp_path: Path, option: str) -> None:
    path = tmp_path / "gbk.txt"
    path.write_bytes("中文 1".encode("gbk"))
    with pytest.raises(ValueError, match=rf"{option}: .*gbk\.txt, line 1 is not UTF-8"):
        Keywords(**{option: path})


def test_features_that_say_nothing_have_no_fingerprint() -> None:
    assert fingerprint_features({}) is None
    assert fingerprint_features({"a": 0.0}) is None
    assert fingerprint_features({"b": 1.0}, hash={"a": 1}) is None


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | environment,
    )


LOAD = """
import logging, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
from scrapy_simhash.simhash.scheme import load_scheme
scheme = load_scheme("keywords", {"weights": "pos"})
print("jieba" in sys.modules)
print(scheme.sketch("我们的图书馆开放了").fingerprint)
"""


@pytest.mark.slow
def test_jieba_is_loaded_late_and_silently_and_leaves_no_file(tmp_path: Path) -> None:
    """With every warning an error and every log line shown."""
    folders = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "TMPDIR"), str(tmp_path))
    done = run(LOAD, **folders)
    lines = done.stdout.split()
    assert lines[0] == "False"
    assert len(lines) == 2
    assert done.stderr == ""
    assert not list(tmp_path.iterdir())


def test_a_dictionary_that_others_have_compiled_is_not_trusted(tmp_path: Path) -> None:
    """Whoever puts a file there decides how texts are cut; jieba reads one of that name."""
    (tmp_path / "jieba.cache").write_bytes(marshal.dumps(({"我们的": 10**6}, 10**6)))
    code = LOAD.replace('sketch("', 'extract("').replace(".fingerprint", ".tokens")
    assert "'我们'" in run(code, TMPDIR=str(tmp_path)).stdout
