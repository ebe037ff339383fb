"""The order of Trio's tasks as a function of a seed."""

from __future__ import annotations

import trio


def seed_scheduler(seed: int) -> None:
    """Make the order of tasks a function of the seed from here on, for the whole process.

    Trio runs the tasks of a batch in random order, so that no program relies on one.  Its seed is
    not public (trio#239): this is the one function that touches it.

    Args:
        seed: seed of the scheduler's random generator.
    """
    run = trio._core._run  # noqa: SLF001  (see above)
    vars(run)["_ALLOW_DETERMINISTIC_SCHEDULING"] = True
    run._r.seed(seed)  # noqa: SLF001
