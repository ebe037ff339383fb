"""A watcher saw each acknowledged write once and in order, or the ledger says what is wrong."""

import pytest

from benchmarks.overload.ledger import Ledger, Write

LIFE = (
    Write("ADDED", "a", 11),
    Write("MODIFIED", "a", 12),
    Write("DELETED", "a", 13),
    Write("ADDED", "b", 14),
)


def after(writes: tuple[Write, ...], events: tuple[Write, ...]) -> Ledger:
    """What is found when all writes were answered before the first event came."""
    ledger = Ledger()
    for write in writes:
        ledger.wrote(write)
    for event in events:
        ledger.saw(event)
    ledger.close()
    return ledger


def test_each_write_seen_once_is_no_problem():
    ledger = after(LIFE, LIFE)
    assert (ledger.matched, ledger.unseen, ledger.problems) == (len(LIFE), 0, [])


def test_an_event_may_come_before_the_answer_of_its_write():
    ledger = Ledger()
    for write in LIFE:
        ledger.saw(write)
        ledger.wrote(write)
    ledger.close()
    assert (ledger.matched, ledger.problems) == (len(LIFE), [])


def test_an_answer_need_not_tell_the_revision():
    """That of a DELETE does not."""
    unknown = (*LIFE[:2], Write("DELETED", "a"), LIFE[3])
    assert after(unknown, LIFE).problems == []


@pytest.mark.parametrize("missing", range(len(LIFE)))
def test_a_skipped_event_is_found(missing: int):
    ledger = after(LIFE, LIFE[:missing] + LIFE[missing + 1 :])
    assert len(ledger.problems) == 1
    assert str(LIFE[missing].revision) in ledger.problems[0]


@pytest.mark.parametrize("doubled", range(len(LIFE)))
def test_a_doubled_event_is_found(doubled: int):
    ledger = after(LIFE, (*LIFE[: doubled + 1], *LIFE[doubled:]))
    (problem,) = ledger.problems
    assert problem.endswith(f"came behind revision {LIFE[doubled].revision}")


def test_an_event_that_comes_too_late_is_found():
    assert after(LIFE, (LIFE[0], LIFE[2], LIFE[1], LIFE[3])).problems


def test_an_event_at_another_revision_than_the_answer_is_found():
    moved = (LIFE[0], Write("MODIFIED", "a", 20))
    assert after(LIFE[:2], moved).problems


def test_an_event_that_nobody_wrote_is_found():
    ledger = after(LIFE, (*LIFE, Write("ADDED", "stranger", 99)))
    assert ledger.problems == ["ADDED of stranger at 99 was seen and not written"]


@pytest.mark.parametrize("carried_out", [True, False])
def test_a_write_without_an_answer_may_be_seen_or_not(carried_out: bool):
    unsure = Write("MODIFIED", "a", sure=False)
    events = (LIFE[0], *([LIFE[1]] if carried_out else []), LIFE[3])
    assert after((LIFE[0], unsure, LIFE[3]), events).problems == []


def test_a_write_without_an_answer_may_be_carried_out_behind_the_next_one():
    unsure = Write("MODIFIED", "a", sure=False)
    late = Write("MODIFIED", "a", 15)
    assert after((LIFE[0], unsure, LIFE[3]), (LIFE[0], LIFE[3], late)).problems == []


def test_a_write_without_an_answer_is_not_seen_twice():
    unsure = Write("MODIFIED", "a", sure=False)
    events = (LIFE[0], LIFE[1], LIFE[3], Write("MODIFIED", "a", 15))
    assert after((LIFE[0], unsure, LIFE[3]), events).problems


def test_unseen_counts_acknowledged_writes_only():
    ledger = Ledger()
    ledger.wrote(LIFE[0])
    ledger.wrote(Write("MODIFIED", "a", sure=False))
    assert ledger.unseen == 1
