from __future__ import annotations

from zlib import crc32

import pytest

from scrapy_simhash.classic.hashes import HASHES, fnv1a, load_hash, lookup2, lookup3


@pytest.mark.parametrize(
    ("name", "word", "expected"),
    [
        ("fnv1a", "", 0xCBF29CE484222325),
        ("fnv1a", "a", 0xAF63DC4C8601EC8C),
        ("fnv1a", "foobar", 0x85944171F73967E8),
        ("fnv1a", "上海", 0x4EF4EF9EE82AF0C5),
        ("fnv1a", "北京", 0x9AA1E75CF0257D61),
        ("ooat", "a", 0xCA2E9442),
        ("ooat", "中国好声音", 0x105274F6),
        ("ooat", "今晚", 0x7A89ED2D),
        ("ooat", "开播", 0x2072F95B),
        # As the document prints them, in binary: it hashes code points, with signed shifts.
        ("ooat-codepoints", "中国好声音", 0b100100110100100011100001110101),
        ("ooat-codepoints", "今晚", 0b100010101100111001000011101),
        ("ooat-codepoints", "开播", 0b1001110110101010011000001111110),
        ("lookup2", "中国", 0xFD7F1FC1),
        ("lookup2", "美国", 0x05E9F48F),
        ("lookup2", "51区", 0xEF3A050F),
        ("lookup2", "hello", 0xB706399E),
        ("lookup2", "a", 0x29EEC818),
        # The document's code returns 0 here, which the published function does not.
        ("lookup2", "", 0xBD49D10D),
        # lookup3.c prints these in its own driver: hashlittle2 from zero seeds.
        ("lookup3", "", 0xDEADBEEF_DEADBEEF),
        ("lookup3", "Four score and seven years ago", 0x17770551_CE7226E6),
        ("md5", "", 0xD41D8CD98F00B204E9800998ECF8427E),
        ("md5", "abc", 0x900150983CD24FB0D6963F7D28E17F72),
        ("sha1", "abc", 0xA9993E364706816ABA3E25717850C26C9CD0D89D),
        ("blake2b", "abc", 0x384264F676F39536840523F284921CDC68B6846B),
        ("crc32", "123456789", 0xCBF43926),
    ],
)
def test_published_values(name: str, word: str, expected: int) -> None:
    function, _ = HASHES[name]
    assert function(word) == expected


@pytest.mark.parametrize(("function", "expected"), [(lookup2, 0xC3F01604), (lookup3, 0x796E15D1)])
def test_jenkins_hashes_of_words_of_all_lengths_are_frozen(function, expected: int) -> None:
    hashes = [function(("abcdefghijklm" * 3)[:length]) for length in range(40)]
    assert crc32(repr(hashes).encode()) == expected


@pytest.mark.parametrize("name", HASHES)
def test_narrow_hash_is_the_low_bits_of_a_wide_one(name: str) -> None:
    width = HASHES[name][1]
    _, wide = load_hash(name, width)
    for bits in (1, 3, 31):
        _, narrow = load_hash(name, bits)
        assert narrow("美国") == wide("美国") & ((1 << bits) - 1)
    assert wide("x" * 1000) == HASHES[name][0]("x" * 1000) < 1 << width


def signed(word: str) -> int:
    return fnv1a(word) - 2**64


def test_function_and_import_path() -> None:
    """A function may return signed integers, as databases and Go programs do."""
    name, function = load_hash(signed, 64)
    path, imported = load_hash(f"{__name__}:signed", 64)
    assert name == path == f"{__name__}:signed"
    assert function("上海") == imported("上海") == fnv1a("上海")


def test_mapping_holds_all_that_counts() -> None:
    name, function = load_hash({"美国": 0b100101}, 6)
    assert function("美国") == 0b100101
    assert function("51区") is None
    assert name != load_hash({"美国": 0b100100}, 6)[0]
    assert load_hash({"a": 1, "b": 2}, 6)[0] == load_hash({"b": 2, "a": 1}, 6)[0]


@pytest.mark.parametrize(
    ("hash_", "bits", "error", "message"),
    [
        ("md6", 64, ValueError, "hash: there is no 'md6'; allowed are fnv1a, ooat"),
        ("fnv1a", 65, ValueError, "bits: 65, but the hash 'fnv1a' has 64; .* md5, sha1"),
        ("sha1", 161, ValueError, "bits: 161; allowed are 1 to 160"),
        ("sha1", 0, ValueError, "bits: 0; allowed"),
        ("sha1", 64.0, TypeError, r"bits: 64\.0 is no integer"),
        ("sha1", True, TypeError, "bits: True"),
        (5, 64, TypeError, "hash: 5; allowed"),
        ({"a": 64}, 6, ValueError, "value 64 of 'a' does not fit into 6 bits"),
        ({"a": -1}, 6, ValueError, "value -1 of 'a'"),
        ({"a": "1"}, 6, TypeError, "value '1' of 'a' is no integer"),
        ("no.such:hash", 6, ValueError, "hash: 'no.such:hash' cannot be imported"),
    ],
)
def test_wrong_hash_is_refused(
    hash_: object, bits: int, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        load_hash(hash_, bits)  # type: ignore[arg-type]
