"""A crew that runs no process: what an operator does is worked out from the plan."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from kubetrio.harness.operators.calls import OPERATOR, Call, Place
from kubetrio.harness.operators.outside.crew import Crew
from kubetrio.harness.operators.outside.trials import Attempt, State, Trial
from kubetrio.harness.script import Inject, Request, Settle

GROUP, RESOURCE = "example.com", "shelves"
PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "fuzz-operators.md"
SHELF: Mapping[str, Any] = yaml.safe_load(
    re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)[0]
)
"""The CustomResourceDefinition of the page about fuzzing operators."""
Objects = dict[str, dict[str, Any]]


class Simulated(Crew):
    """An operator that writes the status of each Shelf after each change of it.

    Args:
        mistake: ``conflict``: a status that is refused is not tried again; ``left``: a ConfigMap
            stays when its Shelf goes; ``once``: it is right from the second run of a plan on;
            ``idle``: it does nothing; ``deaf``: it asks for nothing.
    """

    def __init__(self, mistake: str = "") -> None:
        super().__init__(())
        self._mistake = mistake
        self.trials: list[Trial] = []

    def each(self, trials: Iterable[Trial]) -> Generator[Attempt]:
        """See `Crew`."""
        for trial in trials:
            again = any(str(one.plan) == str(trial.plan) for one in self.trials)
            self.trials.append(trial)
            self.runs += 1
            yield self._attempt(trial, again=again)

    def _attempt(self, trial: Trial, *, again: bool) -> Attempt:
        shelves: Objects = {}
        left: Objects = {}
        reads = [] if self._mistake == "deaf" else [_call("watch", "")]
        calls, answers = reads, list[int]()
        states = [State((), len(calls), 0)]
        refuses = False
        for step in trial.plan.steps:
            match step:
                case Inject(rule=rule):
                    refuses = rule is not None and rule.fault == "409"
                case Request():
                    answers.append(_done(shelves, left, step))
                    if self._mistake not in ("idle", "deaf") and step.method != "DELETE":
                        calls += self._writes(shelves, refuses=refuses)
                    if self._mistake != "left":
                        left.clear()
                case Settle():
                    states.append(State(_all(shelves, left), len(calls), len(answers)))
        lost = self._mistake == "conflict" or (self._mistake == "once" and not again)
        if not lost:
            self._writes(shelves, refuses=False)
        states.append(State(_all(shelves, left), len(calls), len(answers)))
        rules = {
            f"fault-{number}": step.rule
            for number, step in enumerate(trial.plan.steps)
            if isinstance(step, Inject) and step.rule is not None
        }
        return Attempt(
            plan=trial.plan, calls=calls, before=(), after=states[-1].objects, restful_s=100.0,
            answers=answers, states=states, rules=rules, longest_pause_s=0.1,
            silent=self._mistake == "deaf",
        )  # fmt: skip

    @staticmethod
    def _writes(shelves: Objects, *, refuses: bool) -> list[Call]:
        calls = []
        for name, shelf in shelves.items():
            if shelf.get("status") != shelf["spec"]:
                calls.append(_call("update", name, 409 if refuses else 200))
                if not refuses:
                    shelf["status"] = shelf["spec"]
        return calls


def books(number: int) -> dict[str, Any]:
    """A Shelf."""
    meta = {"namespace": "default"}
    head = {"apiVersion": f"{GROUP}/v1", "kind": "Shelf"}
    return {**head, "metadata": meta, "spec": {"books": number}}


def _call(verb: str, name: str, status: int = 200) -> Call:
    place = Place(GROUP, RESOURCE, "default", name)
    below = "status" if verb == "update" else ""
    return Call(
        at=1.0, user=OPERATOR.name, verb=verb, place=place, subresource=below, status=status
    )


def _all(shelves: Objects, left: Objects) -> list[dict[str, Any]]:
    return [dict(one) for one in (*shelves.values(), *left.values())]


def _done(shelves: Objects, left: Objects, step: Request) -> int:
    """Do what users ask, and return the status code."""
    name = step.path.rpartition("/")[2]
    if step.method == "POST":
        meta = step.body["metadata"]
        if meta["name"] in shelves:
            return 409
        shelves[meta["name"]] = dict(step.body)
        return 201
    if name not in shelves:
        return 404
    if step.method == "DELETE":
        del shelves[name]
        left[name] = {"kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
        return 200
    shelves[name] |= {one["path"].removeprefix("/"): one["value"] for one in step.body}
    return 200
