"""Schemes: named and versioned ways from a text to its fingerprint."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from scrapy_simhash.loading import is_import_path, load_object

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Sketch:
    """A text, reduced to what is compared.

    Attributes:
        fingerprint: An unsigned integer of the scheme's width; None for a text without features,
            which is not compared with anything.
        size: The number of distinct features of the text, of which a scheme may use a part.
        shingles: The hashes of the features, if the scheme has shingles: distinct, sorted, 64 bits,
            evenly spread.
        digest: 64 bits, signed, that are equal if the words of two texts are, in their order, and
            practically never otherwise; None if the scheme does not tell.
    """

    fingerprint: int | None
    size: int
    shingles: NDArray[np.uint64] | None
    digest: int | None = None


class Scheme(Protocol):
    """A way from a text to its fingerprint.

    Optional members and their defaults:

    - ``has_shingles: bool = False``: whether sketches have shingles, from which bands and the exact
      similarity of two texts are computed.
    - ``distance: int | None = None``: the default distance up to which documents are
      near-duplicates. If None, a similarity is used, which takes shingles and 128 bits.
    - ``max_text: int``: the number of characters above which a text takes too long. Longer texts
      of a crawl are not compared, even if SIMHASH_MAX_TEXT is larger.
    - ``sketch_all(texts: list[str]) -> list[Sketch]``: sketches of many texts in less time.
    - ``explain(text) -> Explanation``: the steps to a fingerprint, for `scrapy simhash explain`.
    - ``keyed(secret: bytes) -> Scheme``: the scheme with that secret in the hash of every feature
      and `key_part(secret)` in its id. An index calls it with the 16 bytes of its database.
      Without it, anybody can make texts whose fingerprint is near that of another text.
    """

    @property
    def id(self) -> str:
        """An identifier; only fingerprints with equal ids are compared.

        A part ``bits=`` with the width lets programs that only have the database know the width to
        the bit, otherwise to the byte.
        """

    @property
    def bits(self) -> int:
        """The width of the fingerprints."""

    def sketch(self, text: str) -> Sketch:
        """Reduce a text to its fingerprint."""


def has_shingles(scheme: Scheme) -> bool:
    """Whether the sketches of a scheme have shingles."""
    return bool(getattr(scheme, "has_shingles", False))


def own_distance(scheme: Scheme) -> int | None:
    """The default distance of a scheme, such as 3 of "keywords"; None if it has none."""
    return getattr(scheme, "distance", None)


def sketch_all(scheme: Scheme, texts: list[str]) -> list[Sketch]:
    """The sketches of texts, at once if the scheme supports that."""
    make = getattr(scheme, "sketch_all", None)
    return [scheme.sketch(text) for text in texts] if make is None else make(texts)


def longest_text(scheme: Scheme, most: int) -> int:
    """The most characters that a text may have, within the limit for all schemes."""
    return min(most, getattr(scheme, "max_text", most))


def keyed(scheme: Scheme, secret: bytes) -> Scheme:
    """A scheme keyed with the secret of a database, if it supports that."""
    method = getattr(scheme, "keyed", None)
    return scheme if method is None else cast("Scheme", method(secret))


def key_part(secret: bytes) -> str:
    """The part of the id of a keyed scheme: "key=" and 32 bits of a hash of the secret."""
    return f"key={blake2b(key=secret, digest_size=4, person=b'scheme').hexdigest()}"


# Import paths, so that the classic pipeline is only imported when used.
_SCHEMES = {
    "shingles": "scrapy_simhash.simhash.shingles:Shingles",
    "keywords": "scrapy_simhash.classic.scheme:Keywords",
}


def load_scheme(name: str = "shingles", options: Mapping[str, Any] | None = None) -> Scheme:
    """Build a scheme from its name.

    Args:
        name: "shingles"; "keywords"; or the import path "package.module:Name" of a class or
            another callable that makes a scheme.
        options: Keyword arguments for it. "shingles" takes none; those of "keywords" are the
            arguments of `Keywords`.

    Raises:
        TypeError: If the import path is not that of a callable that returns a scheme.
        ValueError: If there is no such scheme, or it has no such option.

    >>> scheme = load_scheme("keywords", {"bits": 64})
    >>> scheme.bits, scheme.sketch("Goats at sea").size
    (64, 2)
    """
    path = _SCHEMES.get(name, name)
    if not is_import_path(path):
        raise ValueError(
            f"there is no scheme {name!r}; there are {', '.join(map(repr, _SCHEMES))}, or the "
            'import path "package.module:Name" of one'
        )
    factory = load_object("scheme", path)
    if not callable(factory):
        raise TypeError(f"the scheme {name!r} is {factory!r}, not a class or another callable")
    options = dict(options or {})
    parameters = inspect.signature(factory).parameters.values()
    allowed = [parameter.name for parameter in parameters]
    unknown = [option for option in options if option not in allowed]
    if unknown and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        raise ValueError(
            f"the scheme {name!r} has no option {', '.join(map(repr, unknown))}; "
            f"its options: {', '.join(allowed) or 'none'}"
        )
    scheme = factory(**options)
    members = [getattr(scheme, member, None) for member in ("id", "bits", "sketch")]
    if not (isinstance(members[0], str) and isinstance(members[1], int) and callable(members[2])):
        raise TypeError(
            f"{name!r} makes {scheme!r}, which is no scheme: its id must be a string, its bits an "
            "integer, and it must have sketch(text)"
        )
    return cast("Scheme", scheme)


# Bits that are printed in a line.
_COLUMNS = 8


class Feature(NamedTuple):
    """A feature of a text: a word, or the words of a shingle, with its weight and its hash."""

    name: str
    weight: float
    hash: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """The steps from a text to its fingerprint, to be printed."""

    scheme: str
    bits: int
    tokens: list[str]
    left_out: list[str]  # the stop words among them
    features: list[Feature]  # what was hashed, the heaviest first
    sums: list[float]  # of the weights for each bit, the highest bit first
    fingerprint: int | None  # the signs of the sums; None for a text without a feature

    def __str__(self) -> str:
        left_out = set(self.left_out)
        kept = [f"({token})" if token in left_out else token for token in self.tokens]
        lines = [f"scheme       {self.scheme}", f"tokens       {' / '.join(kept)}"]
        if left_out:
            lines.append("             (in brackets: stop words)")
        if self.fingerprint is None:
            return "\n".join([*lines, "fingerprint  none: there is no feature"])
        for number, feature in enumerate(self.features):
            weight = f"{feature.weight:.4f}".rstrip("0").rstrip(".")
            bits = f"{feature.hash:0{self.bits}b}"
            lines.append(f"{'' if number else 'features':13}{bits}  {weight:>9}  {feature.name}")
        signs = f"{self.fingerprint:0{self.bits}b}"
        for start in range(0, self.bits, _COLUMNS):
            columns = slice(start, start + _COLUMNS)
            sums = " ".join(f"{total:>+8.4g}" for total in self.sums[columns])
            lines.append(f"{'' if start else 'sums':13}{sums}")
            lines.append(
                f"{'' if start else 'bits':13}{' '.join(map('{:>8}'.format, signs[columns]))}"
            )
        return "\n".join([*lines, f"fingerprint  {self.fingerprint:#x}"])
