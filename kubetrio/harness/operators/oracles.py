"""What no operator may do, whatever it is for: rules that read a run and tell in words.

A run is compared with one in which users do the same and nothing goes wrong.  A rule says nothing
of an operator that is right: it asks for a trace in the requests, and most ask that the state at
the end is not what it should be.

Source: the patterns of mistakes are those of Sieve (OSDI 2022: stale states, unobserved states,
intermediate states) and of Acto (SOSP 2023: states, and back), and of client-go's rules for
409, 429 and finalizers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kubetrio.harness.operators.calls import Call, Place, of_operator
from kubetrio.harness.operators.runs import FOREIGN, Run
from kubetrio.harness.operators.states import Object, differences, title

CONFLICT, TOO_MANY = 409, 429
STORM_WRITES = 20
"""More writes of one object than these, in the time in which an operator has to be at rest."""
REST_WRITES = 3
"""More writes than these in that time, and it is not at rest."""
EARLY_TRIES = 2
"""More tries than these before the time that ``Retry-After`` says."""
MOST_TOLD = 5
TAKES_ITS_TIME = frozenset({"leases", "events"})
"""Resources that are written all the time."""
OWN_FINALIZERS = frozenset({"foregroundDeletion", "orphan", "kubernetes.io/pvc-protection"})
"""Those that the control plane's own controllers remove."""
LATE = ("watch-", "stale", "410")
"""Faults by which an operator sees the past."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that the operator did wrong.

    Args:
        oracle: name of the rule that says so.
        text: what it did, in words.
    """

    oracle: str
    text: str

    def __str__(self) -> str:
        return f"{self.oracle}: {self.text}"


class Evidence(NamedTuple):
    """What oracles read.

    Args:
        run: what happened.
        reference: what happens when users do the same and nothing goes wrong; None where that is
            what `run` is.
        operator: the operator's user.
    """

    run: Run
    reference: Run | None
    operator: str

    @property
    def calls(self) -> list[Call]:
        """Requests of the operator."""
        return of_operator(self.run.calls, self.operator)

    def writes(self, since_s: float = 0.0) -> list[Call]:
        """Writes of the operator from a time on, but those that are made all the time."""
        return [
            call
            for call in self.calls
            if call.writes and call.at >= since_s and call.place.resource not in TAKES_ITS_TIME
        ]

    def differences(self) -> list[str]:
        """In which objects the end is not that of the reference.

        Where users were answered otherwise, the ends are not those of the same story.
        """
        reference = self.reference
        if reference is None or reference.answers != self.run.answers:
            return []
        return differences(self.run.after, reference.after)


Oracle = Callable[[Evidence], Iterator[str]]


def conflict_not_retried(evidence: Evidence) -> Iterator[str]:
    """A write was answered 409 and not tried again, and the end is not what it should be."""
    for call in _given_up(evidence, frozenset({CONFLICT})):
        yield f"{_what(call)} was answered 409 at {call.at:.1f} s, and it did not try again"


def refusal_not_retried(evidence: Evidence) -> Iterator[str]:
    """A request was refused (429, 500, 503, 504) and not tried again, and the end is wrong."""
    for call in _given_up(evidence, frozenset({TOO_MANY, 500, 503, 504})):
        yield (
            f"{_what(call)} was answered {call.status} at {call.at:.1f} s, and it did not try again"
        )


def _given_up(evidence: Evidence, codes: frozenset[int]) -> Iterator[Call]:
    """Failed requests after which the operator never asked for the like, where the end is wrong."""
    if not evidence.differences():
        return
    calls = evidence.calls
    for at, call in enumerate(calls):
        reads = call.verb in ("list", "watch")
        if call.status in codes and not (call.status == CONFLICT and _exists(call)):
            later = (one for one in calls[at + 1 :] if one.verb == call.verb or not reads)
            if not any(_alike(one, call) for one in later):
                yield call


def _exists(call: Call) -> bool:
    """Whether a create met an object of its name, which is as good as its own."""
    return call.verb == "create" and not call.fault


def _alike(one: Call, other: Call) -> bool:
    """Whether a request is another try at what another one was to do."""
    if other.verb == "create":
        return one.verb == "create" and _family(one) == _family(other)
    same = one.place == other.place and one.subresource == other.subresource
    return same and one.writes == other.writes


def _family(call: Call) -> tuple[str, str, str]:
    place = call.place
    named = place.name if call.sent is None or "generateName" not in _meta(call.sent) else ""
    return place.resource, place.namespace, named


def retry_after_ignored(evidence: Evidence) -> Iterator[str]:
    """A request was answered 429 again and again, before ``Retry-After`` had passed."""
    calls = evidence.calls
    for at, call in enumerate(calls):
        if call.status == TOO_MANY and call.retry_after_s:
            until = call.at + call.retry_after_s
            again = [
                one
                for one in calls[at + 1 :]
                if one.at < until and one.status == TOO_MANY and _same(one, call)
            ]
            if len(again) > EARLY_TRIES:
                yield (
                    f"{_what(call)} was answered 429 with Retry-After {call.retry_after_s}, and "
                    f"{len(again)} times again within that time"
                )
                return


def _same(one: Call, other: Call) -> bool:
    return (one.method, one.path, one.place) == (other.method, other.path, other.place)


def stale_cache_trusted(evidence: Evidence) -> Iterator[str]:
    """With watches that are late it makes more objects for one owner than it does otherwise."""
    reference = evidence.reference
    late = [rule for rule in evidence.run.rules.values() if rule.fault.startswith(LATE)]
    if reference is None or not late:
        return
    faults = ", ".join(sorted({rule.fault for rule in late}))
    ours, theirs = _most(evidence.calls), _most(of_operator(reference.calls, evidence.operator))
    for resource, number in sorted(ours.items()):
        usual = theirs.get(resource, 0)
        if number > usual:
            yield (
                f"with {faults} it had {number} {resource} for an owner at a time, and it has no "
                f"more than {usual} otherwise"
            )


def _most(calls: Sequence[Call]) -> Mapping[str, int]:
    """How many objects with an owner there were at a time, at most, by resource."""
    most: dict[str, int] = {}
    alive: dict[tuple[str, str], set[Place]] = {}
    for call in calls:
        if call.done and call.verb == "create":
            owners = _meta(call.answer).get("ownerReferences") or ()
            for owner in owners[:1]:
                group = alive.setdefault((call.place.resource, owner["uid"]), set())
                group.add(call.place)
                resource = call.place.resource
                most[resource] = max(most.get(resource, 0), len(group))
        elif call.done and call.verb == "delete":
            for group in alive.values():
                group.discard(call.place)
    return most


def finalizer_lost(evidence: Evidence) -> Iterator[str]:
    """A write of the operator removed a finalizer that another controller had put there."""
    known: dict[Place, set[str]] = {}
    own: set[str] = set()
    for call in evidence.run.calls:
        if not (call.writes and call.done and isinstance(call.answer, dict)):
            continue
        meta = _meta(call.answer)
        now = set(meta.get("finalizers") or ())
        before = known.get(call.place, set())
        if call.user == evidence.operator:
            own |= now - before
            gone = before - now - own - OWN_FINALIZERS
            if gone and call.answer.get("kind") != "Status":
                names = ", ".join(sorted(gone))
                yield f"{_what(call)} removed {names}, which it did not put there"
        if call.answer.get("kind") != "Status":
            known[call.place] = now


def stuck_in_deletion(evidence: Evidence) -> Iterator[str]:
    """An object was deleted and is still there, because of a finalizer."""
    for obj in evidence.run.after:
        meta = obj["metadata"]
        waits = set(meta.get("finalizers") or ()) - OWN_FINALIZERS - {FOREIGN}
        if "deletionTimestamp" in meta and waits and FOREIGN not in (meta.get("finalizers") or ()):
            yield f"{title(obj)} was deleted and waits for {', '.join(sorted(waits))}"


def orphan(evidence: Evidence) -> Iterator[str]:
    """An object has an owner that is not there any more."""
    uids = {obj["metadata"].get("uid") for obj in evidence.run.after}
    for obj in evidence.run.after:
        owners: Sequence[Mapping[str, Any]] = obj["metadata"].get("ownerReferences") or ()
        if owners and not any(owner.get("uid") in uids for owner in owners):
            yield f"{title(obj)} belongs to {owners[0]['kind']} {owners[0]['name']}, which is gone"


def status_write_storm(evidence: Evidence) -> Iterator[str]:
    """It writes the status of an object again and again, though nothing happens."""
    for place, number, _ in _storms(evidence, status=True):
        yield f"{number} writes of the status of {place}{_when(evidence)}"


def write_storm(evidence: Evidence) -> Iterator[str]:
    """It writes an object again and again, though nothing happens."""
    for place, number, verb in _storms(evidence, status=False):
        yield f"{number} writes ({verb}) of {place}{_when(evidence)}"


def _storms(evidence: Evidence, *, status: bool) -> Iterator[tuple[Place, int, str]]:
    cut = evidence.run.exhausted
    writes = evidence.writes(0.0 if cut else evidence.run.restful_s)
    if cut:
        writes = writes[len(writes) // 2 :]
    counts = Counter(
        (_of_family(call), call.verb)
        for call in writes
        if (call.subresource == "status" or _only_status(call)) == status
    )
    for (place, verb), number in counts.most_common(MOST_TOLD):
        if number > STORM_WRITES:
            yield place, number, verb


def _of_family(call: Call) -> Place:
    """What a write is about; objects with generated names together."""
    if call.verb == "create" and isinstance(call.sent, dict) and "generateName" in _meta(call.sent):
        return call.place._replace(name=f"{_meta(call.sent)['generateName']}*")
    return call.place


def _only_status(call: Call) -> bool:
    """Whether a patch changes the status alone."""
    sent = call.sent
    return call.verb == "patch" and isinstance(sent, dict) and set(sent) == {"status"}


def _when(evidence: Evidence) -> str:
    if evidence.run.exhausted:
        return f", before it was stopped after {len(evidence.calls)} requests"
    return " in the time in which nothing happens"


def never_settles(evidence: Evidence) -> Iterator[str]:
    """It does not come to rest when nothing happens any more."""
    if evidence.run.exhausted:
        yield f"it made {len(evidence.calls)} requests and was stopped"
        return
    writes = evidence.writes(evidence.run.restful_s)
    if len(writes) > REST_WRITES:
        last = f"the last is {_what(writes[-1])}"
        yield f"{len(writes)} writes in the time in which nothing happens; {last}"


def crashed(evidence: Evidence) -> Iterator[str]:
    """It ended by itself."""
    for text, number in Counter(evidence.run.crashes).items():
        yield text if number == 1 else f"{text} ({number} times)"


def wrong_end(evidence: Evidence) -> Iterator[str]:
    """The end is not what it is when users do the same and nothing goes wrong."""
    many = evidence.differences()
    yield from many[:MOST_TOLD]
    if len(many) > MOST_TOLD:
        yield f"and {len(many) - MOST_TOLD} more differences"


ORACLES: Mapping[str, Oracle] = {
    "crashed": crashed,
    "status-write-storm": status_write_storm,
    "write-storm": write_storm,
    "never-settles": never_settles,
    "finalizer-lost": finalizer_lost,
    "stuck-in-deletion": stuck_in_deletion,
    "orphan": orphan,
    "conflict-not-retried": conflict_not_retried,
    "refusal-not-retried": refusal_not_retried,
    "retry-after-ignored": retry_after_ignored,
    "stale-cache-trusted": stale_cache_trusted,
    "wrong-end": wrong_end,
}
"""The rules, by name; a rule yields what is wrong, in words."""


def judge(evidence: Evidence, oracles: Mapping[str, Oracle] = ORACLES) -> list[Finding]:
    """What the operator did wrong, most telling first; empty where nothing.

    Args:
        evidence: of a run.
        oracles: rules that are asked.
    """
    return [Finding(name, text) for name, oracle in oracles.items() for text in oracle(evidence)]


def _what(call: Call) -> str:
    below = f"/{call.subresource}" if call.subresource else ""
    return f"{call.verb} of {call.place}{below}"


def _meta(obj: Any) -> Object:
    meta = obj.get("metadata") if isinstance(obj, dict) else None
    return meta if isinstance(meta, dict) else {}
