"""Bugs that are planted in the server, one at a time, and how soon a target finds each.

python -m fuzz.planted
python -m fuzz.planted "watch gap" --seed 1

The table tells of each bug the target that found it, how many executions and seconds of CPU it
took, and the seed of the round.  A bug is a function that is replaced for as long as it lasts; the
code of the server is as it is.
"""

from __future__ import annotations

import argparse
import itertools
import json
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time  # noqa: TID251  (CPU time that is told)
from typing import Any

import orjson

from fuzz.alltargets import TARGETS
from fuzz.runs import facts
from kubetrio.auth.rbac import matching
from kubetrio.flow.gate import Gate
from kubetrio.machinery import managedfields, quantity
from kubetrio.plugins.webhooks import mutating
from kubetrio.resources import continuetokens, preconditions
from kubetrio.store.announcing import CommitHooks
from kubetrio.store.errors import RevisionMismatch
from kubetrio.store.model import EventType, Stamped
from kubetrio.store.sqlite.recent import Recent
from kubetrio.store.sqlite.writer import Writer
from kubetrio.structural import structure
from kubetrio.watch.window import Window
from kubetrio.wire import gojson
from kubetrio.wire.protowire import ProtobufCodec

LIMIT_S = 60.0  # of CPU, for one bug
EVERY = 7  # of calls, where a bug is not always there

CUSTOM = ("custom resources",)

Plant = Callable[["Planting"], None]


class Planting:
    """Replaces functions for as long as a block lasts."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def method(self, of: type, name: str, by: Callable[..., Any]) -> None:
        """Replace a method; `by` gets the former one first."""
        self._set(of, name, _with(getattr(of, name), by))

    def function(self, former: Callable[..., Any], by: Callable[..., Any]) -> None:
        """Replace a function in all modules that have it; `by` gets the former one first."""
        new = _with(former, by)
        for module in [m for m in sys.modules.values() if m.__name__.startswith("kubetrio")]:
            for name, value in list(vars(module).items()):
                if value is former:
                    self._set(module, name, new)

    def _set(self, where: Any, name: str, value: Any) -> None:
        self._stack.callback(setattr, where, name, getattr(where, name))
        setattr(where, name, value)

    def close(self) -> None:
        """Have all as it was."""
        self._stack.close()


def _with(former: Callable[..., Any], by: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        return by(former, *arguments, **named)

    return call


@dataclass(frozen=True)
class Bug:
    """A planted bug.

    Args:
        name: of it.
        what: it does, in a sentence.
        plant: plants it.
        targets: which look for it.
    """

    name: str
    what: str
    plant: Plant
    targets: tuple[str, ...] = ("api",)


@contextmanager
def planted(bug: Bug) -> Iterator[None]:
    """Have a bug in the server for as long as the block lasts."""
    planting = Planting()
    try:
        bug.plant(planting)
        yield
    finally:
        planting.close()


# ------------------------------------------------------------------------ bugs


def _lost_update(plant: Planting) -> None:
    def insists(former: Any, target: Any, new: Any, *rest: Any, **named: Any) -> Any:
        new.get("metadata", {}).pop("resourceVersion", None)
        return former(target, new, *rest, **named)

    plant.function(preconditions.insists, insists)


def _watch_gap(plant: Planting) -> None:
    count = itertools.count(1)

    def tell(former: Any, self: Any, events: Any) -> None:
        if next(count) % EVERY:
            former(self, events)

    plant.method(CommitHooks, "tell", tell)


def _watch_repeat(plant: Planting) -> None:
    def after(former: Any, self: Any, revision: int, limit: int) -> Any:
        return former(self, revision - 1, limit)

    plant.method(Window, "after", after)


def _wrong_version(plant: Planting) -> None:
    count = itertools.count(1)

    def at(former: Any, self: Any, revision: int) -> Any:
        return former(self, revision - (next(count) % EVERY == 0))

    plant.method(Stamped, "at", at)


def _leaked_seat(plant: Planting) -> None:
    count = itertools.count(1)

    def leave(former: Any, self: Any, request: Any, now: float) -> None:
        if next(count) % (EVERY * 3):
            former(self, request, now)

    plant.method(Gate, "leave", leave)


def _escalated_right(plant: Planting) -> None:
    def rule_of(former: Any, value: Any) -> Any:
        return former(value)._replace(names=frozenset())

    plant.function(matching.rule_of, rule_of)


def _misdecoded_field(plant: Planting) -> None:
    def decode(former: Any, self: Any, raw: Any, type_name: str) -> Any:
        obj = former(self, raw, type_name)
        obj.pop("binaryData", None)
        return obj

    plant.method(ProtobufCodec, "decode", decode)


def _stale_read(plant: Planting) -> None:
    plant.method(Recent, "announced", lambda *_: None)


def _lost_default(plant: Planting) -> None:
    def create(former: Any, self: Any, key: str, value: Any, *rest: Any) -> Any:
        if key.startswith("/registry/pods/"):
            value = Stamped(value.before, value.after.replace(b'"dnsPolicy":"ClusterFirst",', b""))
        return former(self, key, value, *rest)

    plant.method(Writer, "create", create)


def _token_past_deletion(plant: Planting) -> None:
    def decode_token(former: Any, token: str) -> Any:
        return replace(former(token), revision=None)

    plant.function(continuetokens.decode_token, decode_token)


def _lost_write(plant: Planting) -> None:
    count = itertools.count(1)

    def update(former: Any, self: Any, key: str, value: Any, *rest: Any) -> Any:
        if "/configmaps/" in key and next(count) % EVERY == 0:
            value = Stamped(value.before.replace(b'"count"', b'"c0unt"'), value.after)
            value = Stamped(value.before, value.after.replace(b'"count"', b'"c0unt"'))
        return former(self, key, value, *rest)

    plant.method(Writer, "update", update)


def _deletion_untold(plant: Planting) -> None:
    def tell(former: Any, self: Any, events: Any) -> None:
        kept = [event for event in events if event.type is not EventType.DELETED]
        if kept:
            former(self, kept)

    plant.method(CommitHooks, "tell", tell)


def _repeated_key(plant: Planting) -> None:
    def vouched(_: Any, body: bytes) -> Any:
        try:
            return True, orjson.loads(body)
        except ValueError:
            return False, None

    plant.function(gojson._vouched, vouched)  # noqa: SLF001  (planted)


def _quantity_order(plant: Planting) -> None:
    def aligned(former: Any, one: Any, two: Any) -> Any:
        low, high, exponent = former(one, two)
        return abs(low), high, exponent

    plant.function(quantity._aligned, aligned)  # noqa: SLF001  (planted)


def _unknown_kept(plant: Planting) -> None:
    plant.function(structure.prune, lambda *_: [])


def _forced_apply(plant: Planting) -> None:
    def on_apply(former: Any, live: Any, config: Any, write: Any, **_: Any) -> Any:
        return former(live, config, write, force=True)

    plant.function(managedfields.on_apply, on_apply)


def _asked_once(plant: Planting) -> None:
    plant.method(mutating._Memory, "changed", lambda *_: None)  # noqa: SLF001  (planted)


def _lost_comparison(plant: Planting) -> None:
    def find(former: Any, self: Any, key: str, expected: int) -> Any:
        try:
            return former(self, key, expected)
        except RevisionMismatch as error:
            return former(self, key, error.winner)

    plant.method(Writer, "_find", find)


BUGS: dict[str, Bug] = {
    bug.name: bug
    for bug in (
        Bug("lost update", "An update with an old resourceVersion is made.", _lost_update),
        Bug("watch gap", "Every seventh commit is announced to nobody.", _watch_gap),
        Bug(
            "watch repeat", "Every second read of the history begins one too early.", _watch_repeat
        ),
        Bug("wrong resourceVersion", "Every seventh is that before it.", _wrong_version),
        Bug("leaked seat", "Every twenty-first request keeps its seat.", _leaked_seat),
        Bug("escalated right", "A right to one object is one to all of them.", _escalated_right),
        Bug("mis-decoded field", "Protobuf brings no binaryData.", _misdecoded_field),
        Bug("stale consistent read", "Objects in memory do not follow writes.", _stale_read),
        Bug("lost default", "A Pod is stored without its dnsPolicy.", _lost_default),
        Bug("continue token past deletion", "Pages show the newest state.", _token_past_deletion),
        Bug("lost write", "Every seventh update stores something else.", _lost_write),
        Bug("untold deletion", "Deletions are not announced.", _deletion_untold),
        Bug("repeated key", "The fast half of JSON takes a key twice.", _repeated_key, ("json",)),
        Bug(
            "order of quantities", "A negative one is its amount.", _quantity_order, ("quantities",)
        ),
        Bug("unknown kept", "Custom resources are not pruned.", _unknown_kept, CUSTOM),
        Bug("forced apply", "Each apply is one with force.", _forced_apply, ("apply",)),
        Bug("asked once", "No webhook is asked again.", _asked_once, ("admission",)),
        Bug("stale read of many", "As above, of clients at once.", _stale_read, ("histories",)),
        Bug("no comparison", "A store replaces any version.", _lost_comparison, ("store",)),
        Bug("repeat in the hub", "As above, of the hub alone.", _watch_repeat, ("watch",)),
    )
}
"""By name."""


@dataclass(frozen=True)
class Found:
    """How a bug was found.

    Args:
        by: the target; empty if none did.
        executions: until then.
        cpu_s: seconds of CPU.
        seed: of the round.
        told: what the target said.
    """

    by: str
    executions: int
    cpu_s: float
    seed: int
    told: str


def find(bug: Bug, seed: int, limit_s: float = LIMIT_S) -> Found:
    """Play rounds with a bug until a target finds it, or for some seconds of CPU."""
    begin, executions = process_time(), 0
    with planted(bug):
        for number in itertools.count(seed):
            for name in bug.targets:
                try:
                    told = TARGETS[name].play(number)
                    problems, executions = told.problems, executions + told.executions
                except Exception as error:  # noqa: BLE001  (a server that ends is found too)
                    problems = [f"the round ends: {error!r}"]
                used = process_time() - begin
                if problems:
                    return Found(name, executions, used, number, problems[0])
                if used > limit_s:
                    return Found("", executions, used, number, "")
    raise AssertionError("unreachable")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bugs", nargs="*", metavar="BUG")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--told", action="store_true", help="what targets say of each")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers there")
    options = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    missed, bugs = 0, []
    print(f"{'bug':30} {'found by':12} {'executions':>10} {'CPU s':>7} {'seed':>5}")
    for name in options.bugs or BUGS:
        found = find(BUGS[name], options.seed)
        missed += not found.by
        by = found.by or "nothing"
        numbers = {"by": found.by, "executions": found.executions, "cpu_s": found.cpu_s}
        bugs.append({"name": name, "what": BUGS[name].what, **numbers})
        row = f"{name:30} {by:12} {found.executions:10d} {found.cpu_s:7.1f} {found.seed:5d}"
        print(row + (f"\n    {found.told[:400]}" if options.told else ""), flush=True)
    logging.disable(logging.NOTSET)
    if options.json:
        data = {"what": "planted", "facts": facts(), "seed": options.seed, "bugs": bugs}
        options.json.write_text(json.dumps(data, indent=1))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
