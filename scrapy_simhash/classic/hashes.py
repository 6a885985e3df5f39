"""Hash functions for features."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache, partial, wraps
from operator import index
from typing import Any

from scrapy_simhash.loading import digest, import_path, is_import_path, load_object

#: From a feature to an unsigned integer, or None if the feature does not count.
FeatureHash = Callable[[Any], "int | None"]

MAX_BITS = 160
_MASK_32 = (1 << 32) - 1
_MASK_64 = (1 << 64) - 1


def _remembered(function: Callable[[str], int]) -> Callable[[str], int]:
    """Cache the hashes of words of up to 64 characters, which recur throughout a crawl."""
    cached = lru_cache(1 << 16)(function)

    @wraps(function)
    def hashed(word: str) -> int:
        return cached(word) if len(word) <= 64 else function(word)

    return hashed


def _utf8(word: str) -> bytes:
    return word.encode("utf-8", "surrogatepass")


@_remembered
def fnv1a(word: str) -> int:
    """FNV-1a of the UTF-8 bytes, 64 bits (Fowler, Noll and Vo; RFC 9923)."""
    value = 0xCBF29CE484222325
    for byte in _utf8(word):
        value = (value ^ byte) * 0x100000001B3 & _MASK_64
    return value


@_remembered
def ooat(word: str) -> int:
    """Jenkins' one-at-a-time hash of the UTF-8 bytes, 32 bits (Dr. Dobb's, September 1997)."""
    value = 0
    for byte in _utf8(word):
        value = (value + byte) * 1025 & _MASK_32  # value += value << 10
        value ^= value >> 6
    value = value * 9 & _MASK_32
    value ^= value >> 11
    return value * 32769 & _MASK_32


@_remembered
def ooat_codepoints(word: str) -> int:
    """One-at-a-time as printed in a widely copied text on SimHash, 32 bits.

    It adds code points instead of bytes, and shifts signed integers to the right.
    """
    value = 0
    for character in word:
        value = _signed((value + ord(character)) * 1025)
        value ^= value >> 6
    value = _signed(value * 9)
    value ^= value >> 11
    return value * 32769 & _MASK_32


def _signed(value: int) -> int:
    value &= _MASK_32
    return value - (1 << 32) if value >> 31 else value


@_remembered
def lookup2(word: str) -> int:
    """Jenkins' lookup2 of the UTF-8 bytes, 32 bits (burtleburtle.net/bob/hash/evahash.html)."""
    data = _utf8(word)
    a = b = 0x9E3779B9
    c = 0
    whole = len(data) - len(data) % 12
    for start in range(0, whole, 12):
        x, y, z = _three_words(data[start : start + 12])
        a, b, c = _lookup2_mix(a + x, b + y, c + z)
    # The lowest byte of c is reserved for the length.
    x, y, z = _three_words(data[whole:])
    return _lookup2_mix(a + x, b + y, c + len(data) + (z << 8))[2]


def _three_words(data: bytes) -> tuple[int, int, int]:
    """Up to 12 bytes as three little-endian 32-bit integers."""
    return struct.unpack("<3I", data.ljust(12, b"\0"))


def _lookup2_mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    b &= _MASK_32
    c &= _MASK_32
    for first, second, third in ((13, 8, 13), (12, 16, 5), (3, 10, 15)):
        a = (a - b - c & _MASK_32) ^ (c >> first)
        b = (b - c - a & _MASK_32) ^ (a << second & _MASK_32)
        c = (c - a - b & _MASK_32) ^ (b >> third)
    return a, b, c


@_remembered
def lookup3(word: str) -> int:
    """Jenkins' lookup3 of the UTF-8 bytes, 64 bits (burtleburtle.net/bob/c/lookup3.c).

    Both results of `hashlittle2` from zero seeds, the primary one in the high half.
    """
    data = _utf8(word)
    a = b = c = 0xDEADBEEF + len(data) & _MASK_32
    if not data:
        return c << 32 | b
    # The last block has 1 to 12 bytes and is mixed differently.
    last = (len(data) - 1) // 12 * 12
    for start in range(0, last, 12):
        x, y, z = _three_words(data[start : start + 12])
        a, b, c = _lookup3_mix(a + x & _MASK_32, b + y & _MASK_32, c + z & _MASK_32)
    x, y, z = _three_words(data[last:])
    a, b, c = a + x & _MASK_32, b + y & _MASK_32, c + z & _MASK_32
    for distance in (14, 11, 25, 16, 4, 14, 24):
        c = (c ^ b) - _rotated(b, distance) & _MASK_32
        a, b, c = b, c, a
    # After seven turns the result c is in b, and b in a.
    return b << 32 | a


def _lookup3_mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    for distance in (4, 6, 8, 16, 19, 4):
        a = (a - c & _MASK_32) ^ _rotated(c, distance)
        c = c + b & _MASK_32
        a, b, c = b, c, a
    return a, b, c


def _rotated(value: int, distance: int) -> int:
    return (value << distance | value >> 32 - distance) & _MASK_32


def _digest_of(algorithm: Callable[[bytes], Any]) -> Callable[[str], int]:
    return lambda word: int.from_bytes(algorithm(_utf8(word)).digest(), "big")


#: Hash functions by name, each with its width in bits.
HASHES: Mapping[str, tuple[Callable[[str], int], int]] = {
    "fnv1a": (fnv1a, 64),
    "ooat": (ooat, 32),
    "ooat-codepoints": (ooat_codepoints, 32),
    "lookup2": (lookup2, 32),
    "lookup3": (lookup3, 64),
    "md5": (_digest_of(partial(hashlib.md5, usedforsecurity=False)), 128),
    "sha1": (_digest_of(partial(hashlib.sha1, usedforsecurity=False)), 160),
    "blake2b": (_digest_of(partial(hashlib.blake2b, digest_size=MAX_BITS // 8)), 160),
    "crc32": (lambda word: zlib.crc32(_utf8(word)), 32),
}


def load_hash(hash: str | Mapping[Any, int] | FeatureHash, bits: int) -> tuple[str, FeatureHash]:  # noqa: A002
    """Find a hash function and narrow it to its lowest bits.

    Args:
        hash: A name of `HASHES`; a function from a feature to an integer, or its import path
            "package.module:name"; or a mapping from features to integers, for examples worked by
            hand. Features that are not in the mapping do not count.
        bits: The width of the hashes, 1 to 160.

    Returns:
        The name of the function in the id of a scheme, and the function.

    Raises:
        TypeError: If an argument is of another type.
        ValueError: If there is no such hash, or the hash or a value does not fit the bits.
    """
    if isinstance(bits, bool) or not isinstance(bits, int):
        raise TypeError(f"bits: {bits!r} is no integer; allowed are 1 to {MAX_BITS}")
    if not 1 <= bits <= MAX_BITS:
        raise ValueError(f"bits: {bits}; allowed are 1 to {MAX_BITS}")
    if isinstance(hash, Mapping):
        table = {feature: _fitting(feature, value, bits) for feature, value in hash.items()}
        return f"mapping:{digest(table)}", table.get
    allowed = f'{", ".join(HASHES)}, an import path "package.module:name", a function, a mapping'
    function: Any = hash
    if isinstance(hash, str) and hash in HASHES:
        function = _named(hash, bits)
    elif isinstance(hash, str):
        if not is_import_path(hash):
            raise ValueError(f"hash: there is no {hash!r}; allowed are {allowed}")
        function = load_object("hash", hash)
    if not callable(function):
        raise TypeError(f"hash: {hash!r}; allowed are {allowed}")
    name = hash if isinstance(hash, str) and hash in HASHES else import_path(function)
    mask = (1 << bits) - 1
    return name, lambda feature: index(function(feature)) & mask


def with_secret(value: int, bits: int, secret: bytes) -> int:
    """Hash the hash of a feature, at most 160 bits, again with a secret of 1 to 64 bytes.

    A secret in front of the feature would not be enough: with CRC-32 it changes the same bits of
    every hash, which leaves distances as they were, and FNV-1a is hardly better.
    """
    size = MAX_BITS // 8
    digest = hashlib.blake2b(value.to_bytes(size, "big"), key=secret, digest_size=size).digest()
    return int.from_bytes(digest, "big") & (1 << bits) - 1


def _named(name: str, bits: int) -> Callable[[str], int]:
    function, width = HASHES[name]
    if bits > width:
        wide = [other for other, (_, width) in HASHES.items() if width >= bits]
        raise ValueError(
            f"bits: {bits}, but the hash {name!r} has {width}; as many have {', '.join(wide)}"
        )
    return function


def _fitting(feature: Hashable, value: int, bits: int) -> int:
    try:
        number = index(value)
    except TypeError:
        raise TypeError(f"hash: the value {value!r} of {feature!r} is no integer") from None
    if not 0 <= number < 1 << bits:
        raise ValueError(f"hash: the value {number} of {feature!r} does not fit into {bits} bits")
    return number
