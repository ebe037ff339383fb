"""The harness: whole servers for tests and fuzzing, in this process and from a seed."""

from kubetrio.harness.comparing import Difference, diff
from kubetrio.harness.connecting import ADMIN, Connected
from kubetrio.harness.disk import Fault, FaultyDisk
from kubetrio.harness.exchange import Answer, BadAnswer
from kubetrio.harness.forking import ForkError
from kubetrio.harness.live import live
from kubetrio.harness.opening import Harness, open_harness, run
from kubetrio.harness.origin import Copy, Origin, open_origin
from kubetrio.harness.reply import Reply
from kubetrio.harness.script import (
    Inject,
    Move,
    Request,
    Restart,
    Script,
    ScriptError,
    Settle,
    Step,
    Watch,
)
from kubetrio.harness.session import Session, perform, record, replay, replayed
from kubetrio.harness.setup import Setup, SetupError
from kubetrio.harness.shell import shell

__all__ = [
    "ADMIN",
    "Answer",
    "BadAnswer",
    "Connected",
    "Copy",
    "Difference",
    "Fault",
    "FaultyDisk",
    "ForkError",
    "Harness",
    "Inject",
    "Move",
    "Origin",
    "Reply",
    "Request",
    "Restart",
    "Script",
    "ScriptError",
    "Session",
    "Settle",
    "Setup",
    "SetupError",
    "Step",
    "Watch",
    "diff",
    "live",
    "open_harness",
    "open_origin",
    "perform",
    "record",
    "replay",
    "replayed",
    "run",
    "shell",
]
