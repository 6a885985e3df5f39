"""Schemes: one named, versioned way from a text to its fingerprint."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Protocol, cast

from scrapy_simhash.loading import is_import_path, load_object

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Explanation",
    "Feature",
    "Scheme",
    "Sketch",
    "has_shingles",
    "key_part",
    "keyed",
    "load_scheme",
    "longest_text",
    "own_distance",
]


@dataclass(frozen=True, slots=True)
class Sketch:
    """What is kept of a text in order to compare it.

    Attributes:
        fingerprint: An unsigned integer of the scheme's width; None for a text that has no
            feature, which is not to be compared with anything.
        size: How many distinct features the text has, of which a scheme may have chosen some.
        shingles: Their hashes where the scheme has them: distinct, sorted, 64 bits, evenly spread.
    """

    fingerprint: int | None
    size: int
    shingles: NDArray[np.uint64] | None


class Scheme(Protocol):
    """A way from a text to its fingerprint.

    A scheme may say more of itself; what it does not say is taken as written here:

    - ``has_shingles: bool = False``: its sketches have their shingles, so that bands can be made of
      them and the exact similarity of two texts is known.
    - ``distance: int | None = None``: the distance up to which documents are near-duplicates where
      none is asked for. Without one, a scheme of 128 bits is asked for a similarity.
    - ``max_text: int``: the characters of a text from which on it takes too long. Longer texts of a
      crawl are not compared, whatever SIMHASH_MAX_TEXT is.
    - ``explain(text) -> Explanation``: how a fingerprint comes about, for people.
    - ``keyed(secret: bytes) -> Scheme``: the same with that secret in the hash of every feature,
      and `key_part` of it in its id. An index asks for it with the 16 bytes of its database.
      Without it the scheme is used as it is: who knows how it hashes can make texts whose
      fingerprint is near that of another text.
    """

    @property
    def id(self) -> str:
        """Everything two fingerprints must share to be compared.

        With a part ``bits=`` and the width in it, a program that has the database alone knows how
        wide the fingerprints are to the bit; otherwise to the byte.
        """

    @property
    def bits(self) -> int:
        """The width of the fingerprints."""

    def sketch(self, text: str) -> Sketch:
        """Reduce a text to what is compared."""


def has_shingles(scheme: Scheme) -> bool:
    """Whether the sketches of a scheme have shingles."""
    return bool(getattr(scheme, "has_shingles", False))


def own_distance(scheme: Scheme) -> int | None:
    """The distance that a scheme has of its own, for when none is asked for: "keywords" has 3."""
    return getattr(scheme, "distance", None)


def longest_text(scheme: Scheme, most: int) -> int:
    """How many characters a text may have, where that many are allowed with any scheme."""
    return min(most, getattr(scheme, "max_text", most))


def keyed(scheme: Scheme, secret: bytes) -> Scheme:
    """A scheme with the secret of a database in its hashes, if it takes one."""
    make = getattr(scheme, "keyed", None)
    return scheme if make is None else cast("Scheme", make(secret))


def key_part(secret: bytes) -> str:
    """What the id of a scheme says of its secret: fingerprints of another one can't be compared.

    Returns:
        "key=" and 32 bits as hexadecimal digits, from which the secret can't be found.
    """
    return f"key={blake2b(key=secret, digest_size=4, person=b'scheme').hexdigest()}"


# By their import paths: the classic pipeline is loaded for whoever asks for it, and nobody else.
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
        TypeError: If what the import path names cannot be called, or makes something else than a
            scheme.
        ValueError: If there is no such scheme, or it has no such option.
    """
    factory = _imported(_SCHEMES.get(name, name))
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
    if not isinstance(getattr(scheme, "id", None), str):
        raise TypeError(f"{name!r} makes {scheme!r}, which is no scheme: its id must be a string")
    if not isinstance(getattr(scheme, "bits", None), int):
        raise TypeError(
            f"{name!r} makes {scheme!r}, which is no scheme: its bits must be an integer"
        )
    if not callable(getattr(scheme, "sketch", None)):
        raise TypeError(f"{name!r} makes {scheme!r}, which is no scheme: it must have sketch(text)")
    return scheme


def _imported(name: str) -> Callable[..., Scheme]:
    if not is_import_path(name):
        raise ValueError(
            f"there is no scheme {name!r}; there are {', '.join(map(repr, _SCHEMES))}, or the "
            'import path "package.module:Name" of one'
        )
    factory = load_object("scheme", name)
    if not callable(factory):
        raise TypeError(f"the scheme {name!r} is {factory!r}, not a class or another callable")
    return cast("Callable[..., Scheme]", factory)


_COLUMNS = 8  # bits a line


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature as it goes into a fingerprint.

    Attributes:
        name: The word, or the words of a shingle.
        weight: What it counts.
        hash: An unsigned integer of the fingerprint's width.
    """

    name: str
    weight: float
    hash: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """The steps from a text to its fingerprint. Printed, it is a text for people.

    Attributes:
        scheme: The id of the scheme.
        bits: The width of the fingerprint.
        tokens: The words of the text, in its order.
        left_out: Those of them that are stop words.
        features: What was hashed, the heaviest first.
        sums: Plus and minus the weights, for each bit, the highest bit first.
        fingerprint: The signs of the sums; None for a text without a feature.
    """

    scheme: str
    bits: int
    tokens: list[str]
    left_out: list[str]
    features: list[Feature]
    sums: list[float]
    fingerprint: int | None

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
