"""Every target of ``python -m fuzz``."""

from __future__ import annotations

import trio
from trio.testing import MockClock

from fuzz import (
    admitted,
    api_model,
    applied_fields,
    custom_resources,
    interleaved,
    lagging_engine,
    machines,
    mutated_requests,
    one_right,
    stores,
    values,
    wire_bytes,
)
from fuzz.comparing import Findings
from fuzz.rounds import Round, Target

SEQUENCES = 12  # of mutated requests in a round
STRANGE = 150  # requests for rights in a round
READS = 300  # behind a second writer, in a round


def _requests(seed: int) -> Round:
    findings = Findings(quiet=True)
    sent = mutated_requests.explore(seed, SEQUENCES, findings)
    return Round(sent, [f"{key}\n{text}" for key, text in findings.told.items()])


def _rights(seed: int) -> Round:
    try:
        one_right.run(one_right.play, seed, STRANGE)
    except one_right.Broken as broken:
        return Round(STRANGE, [str(broken)])
    return Round(STRANGE)


def _behind(seed: int) -> Round:
    async def whole() -> lagging_engine.Outcome:
        return await lagging_engine.run(seed, READS)

    outcome = trio.run(whole, clock=MockClock(autojump_threshold=0))
    return Round(sum(outcome.tried.values()), list(outcome.problems))


TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        api_model.TARGET,
        Target(
            "requests",
            "No request, however strange, meets a bug: no error is logged, all are answered, and "
            "what is stored can be read.",
            _requests,
        ),
        Target("rights", "A request does and shows no more than its rights.", _rights),
        Target(
            "behind",
            "A server whose engine is behind a second writer shows no stale state and refuses no "
            "write without need.",
            _behind,
        ),
        *values.TARGETS,
        *wire_bytes.TARGETS,
        *machines.TARGETS,
        custom_resources.TARGET,
        applied_fields.TARGET,
        admitted.TARGET,
        interleaved.TARGET,
        *stores.TARGETS,
    )
}
"""By name."""
