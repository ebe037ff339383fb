"""The gate: who runs at once, who waits, and how waiting ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.flow.classify import RequestDigest
from kubetrio.flow.config import (
    Distinguisher,
    FlowSchema,
    LevelKind,
    PolicyRule,
    PriorityLevel,
    Queuing,
    ResourceRule,
    Subject,
)
from kubetrio.flow.dispatcher import Dispatcher
from kubetrio.flow.entries import Entry
from kubetrio.flow.gate import LONE_TASKS, WINDOW_SEATS, Gate
from kubetrio.flow.outcomes import Refusal
from kubetrio.flow.rounds import CONTENTION_S
from kubetrio.flow.seats import ONE_SEAT
from kubetrio.flow.ticket import Flow, Reason, Ticket

ONE_CAME_AND_WENT = {"waiting": 0, "executing": 0, "dispatched": 1, "rejected": 0, "seats": 0}
EVERYTHING = (ResourceRule(("*",), ("*",), ("*",), cluster_scope=True, namespaces=("*",)),)
ALL_USERS = (PolicyRule((Subject("User", "*"),), EVERYTHING),)
QUEUING = Queuing(queues=16, hand_size=1, queue_length_limit=100)


def level(name: str = "test", shares: int = 10, queuing: Queuing | None = QUEUING) -> PriorityLevel:
    kind = LevelKind.QUEUE if queuing else LevelKind.REJECT
    return PriorityLevel(
        name=name, kind=kind, shares=shares, borrowing_limit_percent=0, queuing=queuing
    )


SCHEMA = FlowSchema(
    name="test", level="test", precedence=10, distinguisher=Distinguisher.BY_USER, rules=ALL_USERS
)


@dataclass(eq=False)
class Asked:
    user: str
    started: float = 0.0
    seat: Entry | Ticket | None = None
    gone: Callable[[], bool] | None = None
    groups: tuple[str, ...] = ()


def describe(asked: Asked) -> RequestDigest:
    return RequestDigest(asked.user, asked.groups, "get", resource="pods")


class World:
    """A gate with clients that are functions."""

    def __init__(self, seats: int, *, queuing: Queuing | None = QUEUING) -> None:
        self.dispatcher = Dispatcher(trio.current_time(), seats, held=True)
        self.gate = Gate(self.dispatcher, describe, lambda: 0.0)
        # The mandatory catch-all has 5 shares: make its part vanish.
        self.gate.reconfigure([SCHEMA], [level(shares=10000, queuing=queuing)])
        self.log: list[str] = []
        self.running = 0
        self.most = 0

    async def enter(self, asked: Asked, patience: float = 15.0) -> Refusal | None:
        asked.started = trio.current_time()
        key = (asked.user, asked.groups)
        entry = self.gate.entries.get(key) or self.gate.entries.remember(key, describe(asked))
        if self.gate.passes(asked, entry):
            return None
        return await self.gate.admit(asked, entry, ONE_SEAT, patience)

    async def request(
        self, user: str, work: float = 0.0, patience: float = 15.0, **more: object
    ) -> Refusal | None:
        """Ask, execute for some time, leave."""
        asked = Asked(user, **more)  # type: ignore[arg-type]
        self.log.append(f"ask {user}")
        refused = await self.enter(asked, patience)
        if refused is not None:
            self.log.append(f"{refused.reason} {user}")
            return refused
        self.log.append(f"run {user}")
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if work:
                await trio.sleep(work)
        finally:
            self.running -= 1
            self.gate.leave(asked, trio.current_time())
        return None

    async def contend(self) -> None:
        """Let there be more than one flow."""
        await self.request("somebody")
        await self.request("somebody else")
        self.log.clear()

    def others(self) -> None:
        """Let there be flows of other levels, where all of this level are one flow."""
        self.gate._watch()
        for name in ("other", "another"):
            self.gate._contention.meet(Flow(name), trio.current_time())

    def numbers(self) -> dict[str, int]:
        levels = {one.name: one.queues for one in self.gate.snapshot().statistics.levels}
        one = levels["test"]
        return {
            "waiting": one.waiting,
            "executing": one.executing,
            "dispatched": one.dispatched,
            "rejected": one.rejected,
            "seats": one.seats_in_use,
        }


async def running(nursery: trio.Nursery, seats: int = 4, **more: object) -> World:
    world = World(seats, **more)  # type: ignore[arg-type]
    await nursery.start(world.gate.run)
    return world


def order(world: World, what: str) -> list[str]:
    return [line.split()[1] for line in world.log if line.startswith(what)]


async def test_a_lone_request_runs_at_once_and_is_counted() -> None:
    """With nothing to wait for there is no task switch and no ticket, and the numbers are right."""
    async with trio.open_nursery() as nursery:
        world = await running(nursery)
        await trio.testing.wait_all_tasks_blocked()
        asked = Asked("a")
        assert await world.enter(asked) is None
        assert isinstance(asked.seat, Entry)
        world.gate.leave(asked, trio.current_time())
        assert world.numbers() == ONE_CAME_AND_WENT
        nursery.cancel_scope.cancel()


async def test_a_light_passage_seen_by_others_gets_its_ticket() -> None:
    """Whoever looks while a request executes sees it."""
    async with trio.open_nursery() as nursery:
        world = await running(nursery)
        await trio.testing.wait_all_tasks_blocked()
        asked = Asked("a")
        await world.enter(asked)
        assert world.numbers()["executing"] == 1
        assert isinstance(asked.seat, Ticket)
        world.gate.leave(asked, trio.current_time())
        assert world.numbers() == ONE_CAME_AND_WENT
        nursery.cancel_scope.cancel()


async def test_a_crowd_is_classified_before_any_of_it_runs() -> None:
    """Of requests that come in one round none executes before all are known."""
    async with trio.open_nursery() as nursery:
        world = await running(nursery, seats=400)
        await trio.testing.wait_all_tasks_blocked()
        await world.contend()
        async with trio.open_nursery() as clients:
            for _ in range(30):
                clients.start_soon(world.request, "elephant")
        assert all(line.startswith("ask") for line in world.log[:30])
        assert world.numbers()["dispatched"] == 32
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("work", [0.0, 0.001])
async def test_a_flow_alone_is_no_crowd(
    work: float, autojump_clock: trio.testing.MockClock
) -> None:
    """Nobody could go ahead of it: each of its requests runs as it comes, up to a hundred."""
    del autojump_clock
    async with trio.open_nursery() as nursery:
        world = await running(nursery, seats=400)
        await trio.testing.wait_all_tasks_blocked()
        for groups in ((), ("system:masters",)):  # an administrator does not contend
            await world.request("elephant", groups=groups)
        world.log.clear()
        async with trio.open_nursery() as clients:
            for _ in range(LONE_TASKS - 10):
                clients.start_soon(world.request, "elephant", work)
        assert world.log == ["ask elephant", "run elephant"] * (LONE_TASKS - 10)
        world.log.clear()
        async with trio.open_nursery() as clients:
            for _ in range(LONE_TASKS + 10):
                clients.start_soon(world.request, "elephant", work)
        at_once = ["ask elephant", "run elephant"] * LONE_TASKS
        assert world.log == at_once + ["ask elephant"] * 10 + ["run elephant"] * 10
        nursery.cancel_scope.cancel()


async def test_company_is_remembered_for_some_seconds(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """What waits when it is forgotten is started all at once."""
    del autojump_clock
    async with trio.open_nursery() as nursery:
        world = await running(nursery, seats=400)
        await world.contend()
        for wait, alone in ((CONTENTION_S - 0.1, False), (CONTENTION_S + 0.1, True)):
            await trio.sleep(wait)
            world.log.clear()
            async with trio.open_nursery() as clients:
                for _ in range(30):
                    clients.start_soon(world.request, "elephant")
            assert (world.log[1] == "run elephant") is alone
        nursery.cancel_scope.cancel()


async def test_a_small_flow_goes_ahead_of_a_large_one() -> None:
    """One request among fifty of another flow is among the first to run."""
    async with trio.open_nursery() as nursery:
        world = await running(nursery, seats=400)
        await trio.testing.wait_all_tasks_blocked()
        await world.contend()
        async with trio.open_nursery() as clients:
            for _ in range(50):
                clients.start_soon(world.request, "elephant")
            clients.start_soon(world.request, "mouse")
        assert order(world, "run").index("mouse") <= 2 * WINDOW_SEATS + 1
        nursery.cancel_scope.cancel()


async def test_a_newcomer_whose_turn_it_is_does_not_wait_for_the_next_round(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """While others wait, a request that precedes them all runs in the round in which it comes."""
    del autojump_clock  # time stands still while anything runs, however slow the machine is
    async with trio.open_nursery() as nursery:
        world = await running(nursery, seats=400)
        await trio.testing.wait_all_tasks_blocked()
        async with trio.open_nursery() as clients:
            for _ in range(50):
                clients.start_soon(world.request, "elephant", 0.001)
            while len(order(world, "run")) < 5:
                await trio.lowlevel.checkpoint()
            clients.start_soon(world.request, "mouse")
        assert world.log.index("run mouse") == world.log.index("ask mouse") + 1
        nursery.cancel_scope.cancel()


async def test_requests_that_block_leave_the_window_to_others(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The window bounds what starts in a round, the limit what has started and not ended."""
    async with trio.open_nursery() as nursery:
        world = await running(nursery, seats=20)
        async with trio.open_nursery() as clients:
            for _ in range(60):
                clients.start_soon(world.request, "a", 1.0)
        assert world.most == 20
        assert world.numbers()["dispatched"] == 60
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("patience", [15.0, 3.0])
async def test_time_out(autojump_clock: trio.testing.MockClock, patience: float) -> None:
    """A request waits for as long as its patience lasts, and leaves nothing behind."""
    async with trio.open_nursery() as nursery:
        world = await running(nursery, seats=1)
        nursery.start_soon(world.request, "a", 100.0)
        await trio.sleep(1)
        begun = trio.current_time()
        refused = await world.request("b", patience=patience)
        assert refused == Refusal(Reason.TIME_OUT, 1)
        assert trio.current_time() - begun == pytest.approx(patience, abs=0.01)
        numbers = world.numbers()
        assert (numbers["waiting"], numbers["executing"], numbers["rejected"]) == (0, 1, 1)
        nursery.cancel_scope.cancel()


async def test_cancellation(autojump_clock: trio.testing.MockClock) -> None:
    """A request whose task is cancelled leaves its queue."""
    async with trio.open_nursery() as nursery:
        world = await running(nursery, seats=1)
        nursery.start_soon(world.request, "a", 5.0)
        await trio.sleep(1)
        with trio.move_on_after(1) as scope:
            await world.request("b")
        assert scope.cancelled_caught
        assert world.numbers()["waiting"] == 0
        assert await world.request("c") is None
        nursery.cancel_scope.cancel()


async def test_client_gone(autojump_clock: trio.testing.MockClock) -> None:
    """A request whose client has left is let go within a second."""
    async with trio.open_nursery() as nursery:
        world = await running(nursery, seats=1)
        nursery.start_soon(world.request, "a", 5.0)
        await trio.sleep(1)
        begun = trio.current_time()
        refused = await world.request("b", gone=lambda: True)
        assert refused is not None
        assert refused.reason is Reason.CANCELLED
        assert trio.current_time() - begun <= 1.01
        nursery.cancel_scope.cancel()


async def test_shutdown(autojump_clock: trio.testing.MockClock) -> None:
    """Closing refuses whoever waits, and whoever would have to."""
    async with trio.open_nursery() as nursery:
        world = await running(nursery, seats=1)
        nursery.start_soon(world.request, "a", 5.0)
        await trio.sleep(1)
        nursery.start_soon(world.request, "b")
        await trio.sleep(1)
        world.gate.close()
        await trio.testing.wait_all_tasks_blocked()
        assert "cancelled b" in world.log
        refused = await world.request("c")
        assert refused is not None
        assert refused.reason is Reason.CANCELLED
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("patience", [15.0, 10.0])
async def test_seats_that_fall_free_as_time_is_up(
    autojump_clock: trio.testing.MockClock, patience: float
) -> None:
    """Whoever has given up is not started too, whatever of the two comes first in the round."""
    for _ in range(20):  # the order of tasks in a round is random
        async with trio.open_nursery() as nursery:
            world = await running(nursery, seats=2)
            await world.contend()
            async with trio.open_nursery() as clients:
                for number in range(20):
                    if number == 10:
                        await trio.sleep(2)  # these still wait then
                    clients.start_soon(world.request, f"user-{number % 3}", 5.0, patience)
            assert world.numbers() == {
                "waiting": 0,
                "executing": 0,
                "dispatched": len(order(world, "run")) + 2,
                "rejected": len(order(world, "time-out")),
                "seats": 0,
            }
            assert len(order(world, "run")) + len(order(world, "time-out")) == 20
            async with trio.open_nursery() as clients:
                for number in range(6):  # who waits is started as before
                    clients.start_soon(world.request, f"later-{number}", 1.0)
            assert len([user for user in order(world, "run") if "later" in user]) == 6
            nursery.cancel_scope.cancel()


async def test_cancelled_requests_are_not_started(autojump_clock: trio.testing.MockClock) -> None:
    """Also when what cancels them gives a seat back in the same round."""
    for _ in range(20):
        async with trio.open_nursery() as nursery:
            world = await running(nursery, seats=1)
            await world.contend()
            async with trio.open_nursery() as others, trio.open_nursery() as clients:
                for number in range(5):
                    clients.start_soon(world.request, f"user-{number % 2}", 5.0)
                await trio.sleep(1)
                others.start_soon(world.request, "stays", 1.0)
                await trio.sleep(1)
                clients.cancel_scope.cancel()
            assert order(world, "run")[-1] == "stays"
            assert world.numbers()["seats"] == world.numbers()["waiting"] == 0
            nursery.cancel_scope.cancel()


async def test_refusals_take_turns() -> None:
    """Those refused get their answers one by one, so that they cannot fill the rounds."""
    async with trio.open_nursery() as nursery:
        queuing = Queuing(queues=1, hand_size=1, queue_length_limit=1)
        world = await running(nursery, seats=5, queuing=queuing)
        await trio.testing.wait_all_tasks_blocked()
        world.others()
        rounds = 0

        async def count() -> None:
            nonlocal rounds
            while True:
                rounds += 1
                await trio.lowlevel.checkpoint()

        async with trio.open_nursery() as clients:
            for _ in range(40):
                clients.start_soon(world.request, "a")
            nursery.start_soon(count)
        refused = len(order(world, "queue-full"))
        assert refused >= 30
        assert rounds >= refused
        nursery.cancel_scope.cancel()


async def test_exempt_requests_never_wait() -> None:
    """A request of the exempt level runs in the round in which it comes, whatever waits."""
    async with trio.open_nursery() as nursery:
        world = await running(nursery, seats=400)
        await trio.testing.wait_all_tasks_blocked()
        async with trio.open_nursery() as clients:
            for _ in range(30):
                clients.start_soon(world.request, "elephant")
            while len(order(world, "ask")) < 30:
                await trio.lowlevel.checkpoint()
            for _ in range(10):
                clients.start_soon(lambda: world.request("root", groups=("system:masters",)))
        at = world.log.index("ask root")
        assert world.log[at + 1] == "run root"
        nursery.cancel_scope.cancel()


async def test_a_level_without_queues_is_ordered_too() -> None:
    """What has a seat of a level of type Reject runs in its turn; what has none is refused."""
    async with trio.open_nursery() as nursery:
        world = await running(nursery, seats=10, queuing=None)
        await trio.testing.wait_all_tasks_blocked()
        world.others()
        async with trio.open_nursery() as clients:
            for _ in range(30):
                clients.start_soon(world.request, "a")
        assert all(line.startswith("ask") for line in world.log[:30])
        assert len(order(world, "run")) == 10
        assert len(order(world, "concurrency-limit")) == 20
        assert world.numbers()["seats"] == 0
        nursery.cancel_scope.cancel()


async def test_configuration_changes_at_once(autojump_clock: trio.testing.MockClock) -> None:
    """Requests waiting in a level that is removed still run; new ones go elsewhere."""
    async with trio.open_nursery() as nursery:
        world = await running(nursery, seats=2)
        for user in "aaabbb":
            nursery.start_soon(world.request, user, 1.0)
        await trio.sleep(0.5)
        other = FlowSchema(name="other", level="other", precedence=5, rules=ALL_USERS)
        dangling = world.gate.reconfigure([SCHEMA, other], [level("other", shares=10000)])
        assert dangling == {"test"}
        await world.request("c")
        levels = {one.name: one for one in world.gate.snapshot().statistics.levels}
        assert levels["other"].queues.dispatched == 1
        assert levels["test"].quiescing
        await trio.sleep(10)
        assert len(order(world, "run")) == 7
        assert "test" not in {one.name for one in world.gate.snapshot().statistics.levels}
        nursery.cancel_scope.cancel()


async def test_without_its_tasks_nobody_waits_for_a_turn() -> None:
    """A gate that is not running admits at arrival, and at the end of others."""
    world = World(2)
    first, second, third = Asked("a"), Asked("a"), Asked("a")
    await world.enter(first)
    await world.enter(second)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.enter, third)
        await trio.testing.wait_all_tasks_blocked()
        assert world.numbers()["waiting"] == 1
        world.gate.leave(first, trio.current_time())
    assert third.seat is not None


@settings(max_examples=25, deadline=None)
@given(
    requests=st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.integers(0, 20),  # comes at, in tenths of a second
            st.integers(0, 10),  # works for
            st.integers(0, 30),  # is cancelled after; 0: never
        ),
        max_size=40,
    ),
    seats=st.integers(1, 6),
)
def test_nothing_is_lost(requests: list[tuple[str, int, int, int]], seats: int) -> None:
    """Each request runs once, is refused or is cancelled; seats are kept, and all come back."""

    async def main() -> None:
        ended = 0
        async with trio.open_nursery() as nursery:
            world = await running(nursery, seats=seats)

            async def client(user: str, at: int, work: int, cancel: int) -> None:
                nonlocal ended
                await trio.sleep(at / 10)
                with trio.move_on_after(cancel / 10 if cancel else float("inf")):
                    await world.request(user, work / 10, patience=1.0)
                ended += 1

            async with trio.open_nursery() as clients:
                for one in requests:
                    clients.start_soon(client, *one)
            numbers = world.numbers()
            assert numbers["waiting"] == numbers["executing"] == numbers["seats"] == 0
            assert world.most <= seats
            asked, ran = len(order(world, "ask")), len(order(world, "run"))
            assert numbers["dispatched"] == ran
            assert ran + numbers["rejected"] == asked
            nursery.cancel_scope.cancel()
        assert ended == len(requests)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_levels_take_turns_by_their_shares() -> None:
    """Of what is started while two levels wait, each has its part by shares."""
    dispatcher = Dispatcher(0.0, 600, held=True)
    schemas = [
        FlowSchema(
            name=name,
            level=name,
            precedence=10,
            rules=(PolicyRule((Subject("User", name),), EVERYTHING),),
        )
        for name in ("large", "small")
    ]
    dispatcher.reconfigure(0.0, schemas, [level("large", 300), level("small", 100)])
    for name in ("large", "small"):
        for _ in range(80):
            assert isinstance(dispatcher.arrive(0.0, RequestDigest(name, (), "get")), Ticket)
    started = [dispatcher.dispatch(0.0, 1).started[0] for _ in range(40)]
    assert sum(ticket.level == "small" for ticket in started) == pytest.approx(10, abs=1)
