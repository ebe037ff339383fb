"""The SQLite store gives every answer of the reference model, across restarts and crashes.

python fuzz/store_vs_model.py --seconds 60 --seed 1
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings

from kubetrio.env import monotonic

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.contract.test_store_machine import Step, run_steps, step_lists

EXAMPLES = 200  # in one round; each round has its own seed, so that any of them can be repeated


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    end = monotonic() + options.seconds
    seed, tried = options.seed, 0
    while monotonic() < end:

        @hypothesis.seed(seed)
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @given(step_lists)
        def same(steps: Sequence[Step]) -> None:
            nonlocal tried
            tried += 1
            run_steps(steps)

        print(f"seed {seed}", flush=True)
        same()
        seed += 1
    print(f"{tried} lists of steps, no difference")


if __name__ == "__main__":
    main()
