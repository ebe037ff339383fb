"""Ranges of sizes and costs, in the arithmetic of unsigned numbers of 64 bits that stop at the end.

Source: github.com/google/cel-go/checker/cost.go (``SizeEstimate``, ``CostEstimate``).
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

MOST = 2**64 - 1


def plus(one: int, two: int) -> int:
    """A sum, `MOST` where it would be more."""
    return min(one + two, MOST)


def times(one: int, two: int) -> int:
    """A product, `MOST` where it would be more."""
    return min(one * two, MOST)


def scaled(number: int, factor: float) -> int:
    """A number times a factor, rounded up; `MOST` where it would be more."""
    if number and factor and float(number) > MOST / factor:
        return MOST
    return min(ceil(float(number) * factor), MOST)


class Range(NamedTuple):
    """From the least to the most that something may be."""

    least: int
    most: int

    def plus(self, other: Range) -> Range:
        """The sum of two."""
        return Range(plus(self.least, other.least), plus(self.most, other.most))

    def times(self, other: Range) -> Range:
        """The product of two."""
        return Range(times(self.least, other.least), times(self.most, other.most))

    def scaled(self, factor: float) -> Range:
        """Times a factor, rounded up."""
        return Range(scaled(self.least, factor), scaled(self.most, factor))

    def union(self, other: Range) -> Range:
        """What covers both."""
        return Range(min(self.least, other.least), max(self.most, other.most))


def fixed(number: int) -> Range:
    """A range of one number."""
    return Range(number, number)


NOTHING, ONE = fixed(0), fixed(1)
UNKNOWN = Range(0, MOST)
EMPTY = Range(MOST, 0)
"""What a union begins with."""
