"""Users and objects that attacks and bystanders need."""

from __future__ import annotations

from benchmarks import levels
from benchmarks.errors import Unavailable
from benchmarks.overload.aim import ATTACKED
from benchmarks.subjects import Running

STRANGER = "elephant"  # may do nothing
HOLDER = "other"  # may do everything, and attacks with it
HONEST = "mouse"  # may do everything; an ordinary user, who takes turns with the others
ALLOWED = (HOLDER, HONEST)
KEPT = "kept"
"""The namespace where only the keeper writes."""
NAME = "bench-overload"
QUEUES = 10_000_000


def prepare(run: Running) -> None:
    """Make the namespaces, and a level of flow control with as many queues as may be.

    Raises:
        Unavailable: the server does not know the users.
    """
    if not {STRANGER, HOLDER, HONEST} <= set(run.visitors):
        raise Unavailable("needs users whose tokens the benchmark knows")
    for name in (ATTACKED, KEPT):
        run.endpoint.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    queuing = {"queues": QUEUES, "handSize": 1, "queueLengthLimit": 50}
    level = {
        "metadata": {"name": NAME},
        "spec": {
            "type": "Limited",
            "limited": {"limitResponse": {"type": "Queue", "queuing": queuing}},
        },
    }
    run.endpoint.call("POST", f"{levels.GROUP}/prioritylevelconfigurations", level)
