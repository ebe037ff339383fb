"""The check of histories: it takes what a register does, and finds each planted fault."""

from __future__ import annotations

import random  # noqa: TID251 -- made histories, with a seed
from dataclasses import replace

import pytest

from fuzz.histories import GONE, INFINITE, History, Listed, Read, Watched, Write, problems


def made(seed: int, steps: int = 200) -> History:
    """A history of a store that does everything at one moment between begin and end."""
    rng, history = random.Random(seed), History()
    version, state, events = 10, dict[str, tuple[str, int]](), list[tuple[str, str, int]]()
    for step in range(steps):
        at = float(step)
        begun, ended = at - rng.random() * 3, at + rng.random() * 3
        key = f"k{rng.randrange(4)}"
        value, current = state.get(key, (GONE, 0))
        match rng.randrange(4):
            case 0:
                history.reads.append(
                    Read(begun=begun, ended=ended, key=key, value=value, version=current)
                )
            case 1:
                items = {name: one for name, one in state.items() if one[1]}
                history.lists.append(Listed(begun=begun, ended=ended, version=version, items=items))
            case _:
                version += 1
                deletes = current > 0 and rng.random() < 0.3
                new = GONE if deletes else f"v{step}"
                unsure = rng.random() < 0.1
                history.writes.append(
                    Write(
                        begun=begun, ended=INFINITE if unsure else ended, key=key, value=new,
                        named=current, version=0 if unsure or deletes else version,
                    )
                )  # fmt: skip
                events.append((key, new, version))
                state[key] = (new, 0 if deletes else version)
    items = {name: one for name, one in state.items() if one[1]}
    history.lists.append(Listed(begun=1e6, ended=1e6, version=version, items=items))
    history.watches.append(Watched(after=10, events=events, until=version))
    return history


@pytest.mark.parametrize("seed", range(30))
def test_what_a_store_does_is_linearizable(seed: int) -> None:
    assert problems(made(seed)) == []


def test_a_lost_write_is_found() -> None:
    history = made(1)
    *others, last = history.lists
    lost = next(iter(last.items))
    items = {key: item for key, item in last.items.items() if key != lost}
    history.lists[:] = [*others, replace(last, items=items)]
    assert any(lost in problem for problem in problems(history))


def test_a_stale_read_is_found() -> None:
    history = History()
    for version, at in ((11, 0.0), (12, 2.0)):
        history.writes.append(
            Write(
                begun=at, ended=at + 1, key="k", value=f"v{version}",
                named=0 if version == 11 else 11, version=version,
            )
        )  # fmt: skip
    history.reads.append(Read(begun=4.0, ended=5.0, key="k", value="v11", version=11))
    assert any("began behind version 12" in problem for problem in problems(history))


def test_two_winners_of_one_comparison_are_found() -> None:
    history = History()
    for version in (11, 12):
        history.writes.append(
            Write(begun=0.0, ended=9.0, key="k", value=f"v{version}", named=0, version=version)
        )
    assert any("replaced version 11" in problem for problem in problems(history))


@pytest.mark.parametrize("fault", ["gap", "repeat", "order"])
def test_a_watch_that_is_wrong_is_found(fault: str) -> None:
    history = made(2)
    (watched,) = history.watches
    events = list(watched.events)
    match fault:
        case "gap":
            del events[5]
        case "repeat":
            events.insert(5, events[5])
        case "order":
            events[5], events[6] = events[6], events[5]
    history.watches[:] = [replace(watched, events=events)]
    assert problems(history)


def test_a_list_of_no_one_state_is_found() -> None:
    history = made(3)
    at = next(place for place, one in enumerate(history.lists) if len(one.items) > 1)
    listed = history.lists[at]
    key = next(iter(listed.items))
    history.lists[at] = replace(listed, items={**listed.items, key: ("other", 9)})
    assert problems(history)


def test_real_time_counts_across_objects() -> None:
    history = History()
    for key, version, at in (("a", 12, 0.0), ("b", 11, 5.0)):
        history.writes.append(
            Write(begun=at, ended=at + 1, key=key, value=key, named=0, version=version)
        )
    assert any("began behind 12" in problem for problem in problems(history))


def deleted(*, ended: float, reads: list[Read], begun: float = 2.0) -> History:
    """One object that is created at 11 and deleted at 12, and what is read of it."""
    return History(
        writes=[
            Write(begun=0.0, ended=1.0, key="k", value="v", named=0, version=11),
            Write(begun=begun, ended=ended, key="k", value=GONE, named=11),
        ],
        reads=reads,
        watches=[Watched(after=10, events=[("k", "v", 11), ("k", GONE, 12)], until=12)],
    )


def read(begun: float, version: int) -> Read:
    value = "v" if version else GONE
    return Read(begun=begun, ended=begun + 1, key="k", value=value, version=version)


def test_a_read_of_what_was_deleted_is_found() -> None:
    """The deletion was answered before the read began; one that was under way is no fault."""
    assert any(
        "behind version 12" in one for one in problems(deleted(ended=3.0, reads=[read(4, 11)]))
    )
    assert problems(deleted(ended=5.0, reads=[read(4, 11)])) == []
    assert problems(deleted(ended=INFINITE, reads=[read(4, 11), read(6, 0)])) == []


def test_what_was_missing_is_missing_afterwards() -> None:
    """Also where the deletion itself was never answered."""
    history = deleted(ended=INFINITE, reads=[read(4, 0), read(6, 11)])
    assert any("began behind" in problem for problem in problems(history))


def test_what_is_missing_before_its_deletion_begins_is_found() -> None:
    """Nothing else can have deleted it."""
    history = deleted(begun=8.0, ended=9.0, reads=[read(4, 0)])
    assert any("began behind version 11" in problem for problem in problems(history))


def test_a_deletion_that_is_lost_is_found() -> None:
    """It was answered, and no watch has told of it."""
    history = deleted(ended=3.0, reads=[])
    history.watches[0] = Watched(after=10, events=[("k", "v", 11)], until=12)
    assert any("no watch tells" in problem for problem in problems(history))


def test_what_one_object_shows_counts_for_others() -> None:
    """A write of another object at a later version was answered before the read began."""
    history = History(
        writes=[
            Write(begun=0.0, ended=INFINITE, key="a", value="v", named=0, version=11),
            Write(begun=0.0, ended=1.0, key="b", value="w", named=0, version=12),
        ],
        reads=[Read(begun=2.0, ended=3.0, key="a", value=GONE, version=0)],
    )
    assert any("began behind version 11" in problem for problem in problems(history))
