"""Environments: identities, clocks, blocking calls; the seeded one is a function of its seed."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import replace
from random import Random  # noqa: TID251  (a type)
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.env import Env, SystemRandom, monotonic, run_inline, seeded


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32))
def test_uids_are_version_4(seed: int) -> None:
    """RFC 9562, in canonical text."""
    text = seeded(seed).new_uid()
    parsed = uuid.UUID(text)
    assert (str(parsed), parsed.version, parsed.variant) == (text, 4, uuid.RFC_4122)


def test_the_same_seed_gives_the_same_identities() -> None:
    """And another seed others."""
    first = [env.new_uid() for env in [seeded(7)] for _ in range(3)]
    again = [env.new_uid() for env in [seeded(7)] for _ in range(3)]
    assert first == again
    assert len(set(first)) == 3
    assert seeded(8).new_uid() not in first


@given(bits=st.lists(st.integers(1, 40_000), max_size=20))
def test_system_randomness_has_the_bits_asked_for(bits: list[int]) -> None:
    """Whatever is left of a block, and of sizes beyond one."""
    source = SystemRandom()
    assert all(0 <= source.getrandbits(size) < 1 << size for size in bits)
    assert len({source.getrandbits(128) for _ in range(1000)}) == 1000
    ones = sum(source.getrandbits(3) for _ in range(4000))
    assert 12_000 < ones < 16_000  # 14,000 expected, 20 deviations wide
    with pytest.raises(ValueError, match="must be non-negative"):
        source.getrandbits(-1)


def test_the_real_one_is_not_predictable() -> None:
    """Its randomness is the system's."""
    assert type(Env().rng) is not Random
    assert Env().new_uid() != Env().new_uid()


async def test_the_wall_clock_follows_trios(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A mock clock moves both."""
    env = seeded(1, start=1000.0)
    assert env.now() == 1000.0
    await trio.sleep(3600)
    assert env.now() == 4600.0


def test_the_wall_clock_stands_outside_trio() -> None:
    """While a server is being built."""
    assert seeded(1, start=1000.0).now() == 1000.0


def test_the_wall_clock_is_utc() -> None:
    """An aware datetime, by the clock that was asked for."""
    found = seeded(1, start=0.0).utcnow()
    assert found == dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def fail(text: str) -> int:
    raise ValueError(text)


async def test_inline_calls_are_checkpoints() -> None:
    """As those in threads are."""
    with trio.testing.assert_checkpoints():
        assert await run_inline(int, "7") == 7


async def test_errors_of_blocking_calls_arrive() -> None:
    """Inline and in threads."""
    for run in (run_inline, Env().run_blocking):
        with pytest.raises(ValueError, match="oops"):
            await run(fail, "oops")


async def test_one_caller_has_a_thread_of_its_own() -> None:
    """The same for each call, gone behind the block; errors arrive, and calls cannot be cut off."""
    import threading  # noqa: TID251  (to tell threads apart)

    before = set(threading.enumerate())
    with Env().for_one_caller() as worker:
        worker.start(threading.get_ident)
        first = await worker.wait()
        worker.start(threading.get_ident)
        assert first == await worker.wait() != threading.get_ident()
        worker.start(lambda: fail("oops"))
        with pytest.raises(ValueError, match="oops"):
            await worker.wait()
        with trio.move_on_after(0) as scope:
            worker.start(lambda: 7)
            assert await worker.wait() == 7
        assert not scope.cancelled_caught
    assert set(threading.enumerate()) == before


async def test_a_call_may_be_over_before_it_is_waited_for() -> None:
    """Its result is kept."""
    with Env().for_one_caller() as worker:
        done = trio.Event()
        token = trio.lowlevel.current_trio_token()

        def call() -> int:
            token.run_sync_soon(done.set)
            return 7

        worker.start(call)
        await done.wait()
        await trio.testing.wait_all_tasks_blocked()
        assert await worker.wait() == 7


async def test_a_seeded_environment_has_no_threads() -> None:
    """Whoever replaces what runs blocking calls replaces it for everybody."""
    calls: list[object] = []

    async def run(fn: Any, *args: Any) -> Any:
        calls.append(fn)
        return fn(*args)

    env = replace(seeded(0), run_blocking=run)
    with env.for_one_caller() as worker:
        worker.start(monotonic)
        assert not calls
        assert await worker.wait() > 0
    assert calls == [monotonic]


async def test_threads_return_values() -> None:
    """The real environment runs blocking calls elsewhere."""
    import threading  # noqa: TID251  (to tell threads apart)

    assert await Env().run_blocking(threading.get_ident) != threading.get_ident()


def test_the_monotonic_clock_does_not_go_back() -> None:
    """For measuring work."""
    assert monotonic() <= monotonic()
