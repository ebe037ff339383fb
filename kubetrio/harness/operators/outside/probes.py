"""Plans that try one thing each: every write of an operator refused, every watch late, ....

They are made of a walk in which nothing went wrong: it says which writes follow which request of
users, and how things are after it, so that a probe needs no run to be compared with.

Source: Sieve (OSDI 2022), which perturbs at each point of a reference run.
"""

from __future__ import annotations

import random  # noqa: TID251  (the order of an Env's)
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from kubetrio.faults import Rule
from kubetrio.harness.operators.calls import OPERATOR, Call
from kubetrio.harness.operators.outside.drawing import drawn
from kubetrio.harness.operators.outside.trials import Attempt, settled
from kubetrio.harness.operators.plans import Crash, Plan, Step
from kubetrio.harness.operators.runs import FOREIGN, Run
from kubetrio.harness.operators.singles import Habits
from kubetrio.harness.operators.subjects import NAMES, Object, Subject
from kubetrio.harness.script import Inject, Request, Settle

DRAWN = 12
DELAY_S = 30.0
DOWN_S = 10.0
RETRY_AFTER_S = 1
"""What 429 says: the time of an operator in another process is real."""
MOST_DEATHS = 4
"""So many writes after a request have a probe that kills the operator after them."""
Write = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A plan, and what it is compared with.

    Args:
        plan: what happens.
        reference: what happens when users do the same and nothing goes wrong; None where nothing
            goes wrong in the plan.
    """

    plan: Plan
    reference: Run | None = None


def bodies(about: Subject, rng: random.Random) -> list[Object]:
    """Objects that differ from each other, the largest first and the smallest second.

    Args:
        about: the kind of the objects.
        rng: decides which.
    """
    different: dict[str, Object] = {}
    for body in drawn(about.bodies, DRAWN, rng):
        content = {key: value for key, value in body.items() if key != "metadata"}
        different.setdefault(repr(content), body)
    by_size = [different[key] for key in sorted(different, key=lambda key: (len(key), key))]
    largest, middle = by_size[-1], by_size[len(by_size) // 2]
    return [largest, by_size[0], middle]


def story(about: Subject, three: Sequence[Object]) -> Plan:
    """A walk through states of two objects, which comes to each state on two ways.

    Args:
        about: the kind of the objects.
        three: of them.
    """
    one, other = NAMES
    large, small, middle = three
    return settled(
        Plan(
            steps=(
                about.create(one, large),
                about.create(other, small),
                about.change(one, small),
                about.change(one, large),
                about.delete(other),
                about.change(one, middle),
                about.delete(one),
                about.create(one, middle),
            )
        )
    )


def foreign(about: Subject, three: Sequence[Object]) -> Plan:
    """A walk of an object that another controller also has a finalizer on."""
    large, small, _ = three
    one = NAMES[0]
    steps = (about.create(one, large, (FOREIGN,)), about.change(one, small), about.delete(one))
    return settled(Plan(steps=steps))


def habits(run: Attempt) -> Habits:
    """Return what the operator watches and writes."""
    calls = [call for call in run.calls if call.user == OPERATOR.name]
    return Habits(
        watches=sorted({call.place.resource for call in calls if call.verb in ("watch", "list")}),
        writes=sorted({_write(call) for call in calls if call.writes}),
    )


def _write(call: Call) -> Write:
    return call.verb, call.place.resource, call.subresource


def probes(run: Attempt, known: Habits, rng: random.Random) -> Iterator[Probe]:
    """Plans with one disturbance each, kinds of disturbances by turns, the shortest of each first.

    A short one costs less, and what it shows needs not be made smaller.

    Args:
        run: a `story` in which nothing went wrong.
        known: what the operator does.
        rng: decides the order of those that are as long.
    """
    kinds = [
        [*_late(run, known)],
        [*_refusals(run, known, ("409",))],
        [*_refusals(run, known, ("429",))],
        [*_deaths(run)],
        [*_broken(run, known, rng)],
        [*_refusals(run, known, ("500", "503", "504"), rng)],
        [*_past(run)],
    ]
    for kind in kinds:
        rng.shuffle(kind)
        kind.sort(key=_length)
    for turn in zip_longest(*kinds):
        yield from (probe for probe in turn if probe is not None)


def _length(probe: Probe) -> int:
    """How often users ask in a probe."""
    return sum(isinstance(one, Request) for one in probe.plan.steps)


def _requests(run: Attempt) -> list[Request]:
    return [one for one in run.plan.steps if isinstance(one, Request)]


def _following(run: Attempt, number: int) -> list[Call]:
    """Writes of the operator that follow a request of users.

    Args:
        run: a walk.
        number: of the request, from 1.
    """
    since, until = run.states[number - 1].calls, run.states[number].calls
    calls = run.calls[since:until]
    return [call for call in calls if call.user == OPERATOR.name and call.writes and call.done]


def _probe(run: Attempt, number: int, wrong: Step, after: Sequence[Step] = ()) -> Probe:
    """A probe that is the walk up to a request, before which something goes wrong.

    Args:
        run: the walk.
        number: of the request, from 1.
        wrong: what goes wrong.
        after: steps after the request.
    """
    requests, state = _requests(run)[:number], run.states[number]
    usual = settled(Plan(steps=tuple(requests)))
    before = settled(Plan(steps=tuple(requests[:-1]))).steps
    reference = Run(
        plan=usual,
        calls=run.calls[: state.calls],
        before=run.before,
        after=state.objects,
        answers=run.answers[: state.answers],
    )
    return Probe(
        plan=Plan(steps=(*before, wrong, requests[-1], Settle(), *after)), reference=reference
    )


def _refusals(
    run: Attempt, known: Habits, codes: Sequence[str], rng: random.Random | None = None
) -> Iterator[Probe]:
    """Each kind of write is refused for as long as the operator tries, where it is first made."""
    first = _first(run)
    for write in known.writes:
        verb, resource, subresource = write
        code = codes[0] if rng is None else rng.choice(codes)
        if write in first and not (code == "409" and verb == "create"):
            rule = Rule(
                fault=code,
                verb=verb,
                resource=resource,
                subresource=subresource,
                retry_after_s=RETRY_AFTER_S if code == "429" else None,
            )
            yield _probe(run, first[write], Inject(rule=rule))


def _first(run: Attempt) -> Mapping[Write, int]:
    """After which request of users each kind of write is first made."""
    first: dict[Write, int] = {}
    for number in range(1, len(_requests(run)) + 1):
        for call in _following(run, number):
            first.setdefault(_write(call), number)
    return first


def _busy(run: Attempt) -> list[int]:
    """Numbers of requests that the operator writes after: the first two, and the first deletion."""
    requests = _requests(run)
    busy = [number for number in range(1, len(requests) + 1) if _following(run, number)]
    ends = [number for number in busy if requests[number - 1].method == "DELETE"]
    return sorted({*busy[:2], *ends[:1]})


def _late(run: Attempt, known: Habits) -> Iterator[Probe]:
    """Each watch is late."""
    for resource in known.watches:
        for number in _busy(run):
            rule = Rule(fault="watch-delay", resource=resource, delay_s=DELAY_S)
            yield _probe(run, number, Inject(rule=rule))


def _broken(run: Attempt, known: Habits, rng: random.Random) -> Iterator[Probe]:
    """Each watch breaks, ends or expires after an event."""
    for resource in known.watches:
        for number in _busy(run):
            fault = rng.choice(("watch-drop", "watch-close", "410"))
            rule = Rule(
                fault=fault, verb="watch", resource=resource, after_events=rng.choice((0, 1)),
                count=2,
            )  # fmt: skip
            yield _probe(run, number, Inject(rule=rule))


def _deaths(run: Attempt) -> Iterator[Probe]:
    """The operator dies before a request, and after each write that follows it."""
    for number in _busy(run):
        writes = min(len(_following(run, number)), MOST_DEATHS)
        for after in range(writes + 1):
            yield _probe(run, number, Crash(writes=after, down_s=DOWN_S))


def _past(run: Attempt) -> Iterator[Probe]:
    """The operator is started again and reads the past, if it reads caches."""
    reads = [call for call in run.calls if call.user == OPERATOR.name]
    if any("resourceVersion=0" in call.path for call in reads):
        for number in _busy(run):
            stale = Inject(rule=Rule(fault="stale"))
            yield _probe(run, number, stale, (Crash(down_s=DOWN_S), Settle()))
