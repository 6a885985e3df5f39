"""How a fingerprint came about, step by step."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Explanation", "Feature"]

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
