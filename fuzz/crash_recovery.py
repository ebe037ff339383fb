"""A store whose process is killed at any moment keeps every answered write, whole and once.

python fuzz/crash_recovery.py --seconds 60 --seed 1
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kubetrio.env import monotonic

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.e2e.test_kill import kill_and_look

ROUNDS = 10  # lives of one directory; each directory has its own seed


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    end = monotonic() + options.seconds
    seed = options.seed
    while monotonic() < end:
        with tempfile.TemporaryDirectory() as directory:
            witness = kill_and_look(Path(directory), seed, ROUNDS)
        print(
            f"seed {seed}: {ROUNDS} kills, {witness.total} answered writes kept, "
            f"{witness.in_flight} under way stored too",
            flush=True,
        )
        seed += 1


if __name__ == "__main__":
    main()
