"""Indexes of an indexed Job, as intervals and as text such as ``1,3-5``.

Source: k8s.io/kubernetes/pkg/controller/job (``indexed_job_utils.go``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

Intervals = tuple[tuple[int, int], ...]
"""First and last index of each, in order; none touches the next."""

NONE: Intervals = ()


def parsed(text: str, completions: int) -> Intervals:
    """The intervals of a text; what is no interval is left out.

    Args:
        text: of the status of a Job, or of a rule.
        completions: indexes are less.
    """
    intervals = list[tuple[int, int]]()
    for part in text.split(",") if text else ():
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            continue
        if int(first) >= completions:
            break
        intervals.append((int(first), min(int(last), completions - 1) if dash else int(first)))
    return merged(intervals, ())


def merged(one: Iterable[tuple[int, int]], two: Iterable[tuple[int, int]]) -> Intervals:
    """The union of intervals."""
    intervals = list[tuple[int, int]]()
    for first, last in sorted([*one, *two]):
        if intervals and first <= intervals[-1][1] + 1:
            intervals[-1] = intervals[-1][0], max(intervals[-1][1], last)
        else:
            intervals.append((first, last))
    return tuple(intervals)


def with_indexes(one: Intervals, indexes: Iterable[int]) -> Intervals:
    """Intervals with more indexes."""
    return merged(one, ((index, index) for index in indexes))


def total(one: Intervals) -> int:
    """How many indexes there are."""
    return sum(last - first + 1 for first, last in one)


def has(one: Intervals, index: int) -> bool:
    """Whether an index is in one of the intervals."""
    return any(first <= index <= last for first, last in one)


def text(one: Intervals) -> str:
    """Intervals as the status of a Job has them."""
    parts = list[str]()
    for first, last in one:
        joint = "," if last == first + 1 else "-"
        parts.append(str(first) if first == last else f"{first}{joint}{last}")
    return ",".join(parts)


def common(one: Intervals, two: Intervals) -> int:
    """How many indexes are in both."""
    return sum(
        max(min(last, end) - max(first, begin) + 1, 0) for first, last in one for begin, end in two
    )


def pending(taken: Intervals, count: int, completions: int) -> Sequence[int]:
    """The first indexes that are not taken.

    Args:
        taken: those that are.
        count: how many at most.
        completions: indexes are less.
    """

    def free() -> Iterable[int]:
        candidate = 0
        for first, last in taken:
            yield from range(candidate, min(first, completions))
            candidate = max(candidate, last + 1)
        yield from range(candidate, completions)

    return list(islice(free(), count))
