"""The store, the hub of watches, and what a crash leaves on a disk, against models.

Targets of ``python -m fuzz``.  Lists of steps are those of the property tests, drawn by hypothesis
from the seed of the round; a list that fails is shrunk.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fuzz.disk_faults import SHARED, Counts, record, sum_of, try_one
from fuzz.rounds import Round, Target
from kubetrio.env import seeded

TESTS = str(Path(__file__).resolve().parent.parent / "tests")
if TESTS not in sys.path:
    sys.path.append(TESTS)  # for what the property tests share

from tests.contract import test_store_machine as store  # noqa: E402
from tests.watch import test_hub_machine as hub  # noqa: E402

EXAMPLES = 30  # lists of steps of one round
LIVES, POINTS = 3, 6  # of one round, on a disk that fails


def round_of(drawn: st.SearchStrategy[Any], check: Callable[[Any], None], seed: int) -> Round:
    """Check examples of a strategy.

    Args:
        drawn: the strategy.
        check: raises where an example does not hold.
        seed: of the examples.
    """
    told = Round()
    failing: list[str] = []  # the last one is the smallest

    @hypothesis.seed(seed)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(drawn)
    def holds(example: Any) -> None:
        told.executions += 1
        try:
            check(example)
        except Exception:
            failing.append(repr(example))
            raise

    try:
        holds()
    except Exception as error:  # noqa: BLE001  (an invariant, or a bug)
        told.problems.append("\n".join([repr(error), *failing[-1:]]))
    return told


def _store(seed: int) -> Round:
    """A store gives each answer of a model of it, with and without a journal, across restarts."""
    config = store.JOURNAL if seed % 2 else store.CONFIG
    return round_of(store.step_lists, lambda steps: store.run_steps(steps, config), seed)


def _watch(seed: int) -> Round:
    """Watchers that join, stall, pull and leave get each event behind their start once, in turn."""
    drawn = st.tuples(hub.step_lists, st.integers(0, 2))
    return round_of(drawn, lambda example: hub.run_steps(*example), seed)


def _crash(seed: int) -> Round:
    """Whatever operation of a disk fails, and whenever power is lost, answered writes are there."""
    counts, rng = Counts(), seeded(seed).rng
    place = SHARED if SHARED.is_dir() else None
    with tempfile.TemporaryDirectory(dir=place, prefix="kubetrio-disk-") as name:
        recorded = record(Path(name), seed, LIVES)
        for _ in range(POINTS):
            try_one(Path(name), recorded, counts, rng)
    tried = sum_of(counts, "fault: ") + counts.numbers["crash images that were opened"]
    return Round(tried, counts.problems)


TARGETS = (
    Target("store", (_store.__doc__ or "").strip(), _store),
    Target("watch", (_watch.__doc__ or "").strip(), _watch),
    Target("crash", (_crash.__doc__ or "").strip(), _crash),
)
