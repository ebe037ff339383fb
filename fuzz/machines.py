"""Flow control under reconfiguration, and expressions of CEL.

Targets of ``python -m fuzz``.
"""

from __future__ import annotations

from random import Random  # noqa: TID251  (a type; the generator is seeded)
from typing import Any

from fuzz.rounds import Round, Target
from fuzz.values import damaged, drawn
from kubetrio.cel.engine import available
from kubetrio.cel.expressions import CompileError, admission_scope, check
from kubetrio.cel.programs import Inputs, Program
from kubetrio.env import seeded
from kubetrio.flow.seats import ONE_SEAT, Width
from tests.flow.test_dispatcher import Model

HISTORIES, STEPS = 20, 60  # of one round
EXPRESSIONS = 60  # of one round
WIDTHS = (ONE_SEAT, ONE_SEAT, Width(2), Width(1, 3, 0.5))
LEAVES = (
    "object", "oldObject", "params", "object.metadata", "object.metadata.name", "object.spec.n",
    "object.absent", "1", "-1", "9223372036854775807", "1.5", "'a'", "''", "true", "null", "[]",
    "[1, 2]", "{}", "{'a': 1}", "b'x'", "duration('1h')", "timestamp('2020-01-01T00:00:00Z')",
    "quantity('1Ki')", "request.operation",
)  # fmt: skip
SHAPES = (
    "({a} + {b})", "({a} - {b})", "({a} / {b})", "({a} % {b})", "({a} == {b})", "({a} < {b})",
    "({a} && {b})", "({a} || {b})", "!{a}", "({a} ? {b} : {c})", "size({a})", "{a}[{b}]",
    "({a} in {b})", "has(object.spec.n)", "[{a}, {b}].all(x, x == {c})", "[{a}].map(x, {b})",
    "{a}.filter(x, x != {b})", "{a}.matches({b})", "string({a})", "int({a})", "dyn({a})",
    "{a}.exists_one(x, x == {b})", "{{'k': {a}}}", "type({a})", "{a}.startsWith({b})",
    "{a}.split({b})", "{a}.lowerAscii()", "[{a}, {b}].sum()", "optional.of({a}).orValue({b})",
    "{a}.?k.orValue({b})", "'%s %d'.format([{a}, {b}])", "{a}.isSorted()", "{a}.indexOf({b})",
)  # fmt: skip


def _flow(seed: int) -> Round:
    """Whatever comes and is reconfigured, no request is lost or run twice, and all levels drain."""
    told, rng = Round(), seeded(seed).rng
    for number in range(HISTORIES):
        model = Model()
        try:
            for _ in range(STEPS):
                told.executions += 1
                dt = rng.choice((0.0, 0.01, 3.0))
                model.step(rng.randrange(12), rng.randrange(10), rng.choice(WIDTHS), dt)
            model.drain()
        except Exception as error:  # noqa: BLE001  (an invariant of the model, or a bug)
            told.problems.append(f"history {number}: {error!r}")
    return told


def expression(rng: Random, depth: int = 0) -> str:
    """An expression by a grammar."""
    if depth > 3 or rng.random() < 0.3:
        return rng.choice(LEAVES)
    parts = {name: expression(rng, depth + 1) for name in "abc"}
    return rng.choice(SHAPES).format(**parts)


def _read(value: Any) -> Any:
    """A value as the server stores it: numbers of 64 bits."""
    if isinstance(value, dict):
        return {name: _read(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_read(inner) for inner in value]
    fits = not isinstance(value, int) or -(2**63) <= value < 2**63
    return value if fits else float(value)


def _cel(seed: int) -> Round:
    """An expression is refused in words or comes to a value or an error, the same each time."""
    told, rng = Round(), seeded(seed).rng
    if not available():
        return told
    scope = admission_scope(params=True, authorizer=False, composed=False, patches=False)
    for _ in range(EXPRESSIONS):
        told.executions += 1
        source = expression(rng)
        if rng.random() < 0.2:
            source = damaged(rng, source.encode()).decode(errors="replace")
        inputs: dict[str, Any] = {
            "object": {"metadata": {"name": "a"}, "spec": {"n": _read(drawn(rng))}},
            "oldObject": None,
            "params": _read(drawn(rng)),
            "request": {"operation": "CREATE"},
        }
        try:
            program = Program(check(source, scope))
            one, other = (repr(program.evaluate(Inputs(inputs))) for _ in range(2))
            told.require(one == other, f"{source}: {one}, then {other}")
        except CompileError:
            pass
        except Exception as error:  # noqa: BLE001  (one that no expression should raise)
            told.problems.append(f"{source!r}: {error!r}")
    return told


TARGETS = (
    Target("flow control", (_flow.__doc__ or "").strip(), _flow),
    Target("cel", (_cel.__doc__ or "").strip(), _cel),
)
