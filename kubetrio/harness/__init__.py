"""The harness: whole servers for tests and fuzzing, in this process and from a seed."""

from kubetrio.harness.connecting import ADMIN, Connected
from kubetrio.harness.disk import Fault, FaultyDisk
from kubetrio.harness.exchange import Answer, BadAnswer
from kubetrio.harness.opening import Harness, open_harness, run
from kubetrio.harness.setup import Setup, SetupError

__all__ = [
    "ADMIN",
    "Answer",
    "BadAnswer",
    "Connected",
    "Fault",
    "FaultyDisk",
    "Harness",
    "Setup",
    "SetupError",
    "open_harness",
    "run",
]
