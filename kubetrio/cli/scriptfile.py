"""Files with scripts of requests, as commands are given them.

A script may come from others, and is done on a server of this machine, as its user.  So the flags
that it gives the server are those of `HARMLESS` alone, which name no file, directory, socket or
other server, and the server calls none (`kubetrio.harness.offline`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kubetrio.cli.common import Failure

if TYPE_CHECKING:
    from kubetrio.harness.script import Script

HARMLESS = frozenset(
    {
        "--admission-control", "--advertise-address", "--allow-privileged", "--anonymous-auth",
        "--api-audiences", "--authorization-mode", "--cache-size", "--cluster-cidr",
        "--cluster-signing-duration", "--controllers", "--default-not-ready-toleration-seconds",
        "--default-unreachable-toleration-seconds", "--disable-admission-plugins", "--durability",
        "--enable-admission-plugins", "--enable-bootstrap-token-auth",
        "--enable-priority-and-fairness", "--endpoint-reconciler-type",
        "--etcd-compaction-interval", "--event-ttl", "--fault-injection", "--feature-gates",
        "--history-window", "--hold-back", "--identity-lease-renew-interval",
        "--lease-reuse-duration-seconds", "--legacy-service-account-token-clean-up-period",
        "--max-mutating-requests-inflight", "--max-requests-inflight", "--memory-limit",
        "--min-request-timeout", "--name", "--node-cidr-mask-size", "--node-cidr-mask-size-ipv4",
        "--node-cidr-mask-size-ipv6", "--quota-backend-bytes", "--request-timeout",
        "--service-account-extend-token-expiration", "--service-account-issuer",
        "--service-account-lookup", "--service-account-max-token-expiration",
        "--service-cluster-ip-range", "--simulate-nodes", "--storage-media-type",
    }
)  # fmt: skip
"""Flags of ``kubetrio serve`` that a script from a file may give its server."""


def refuse_flags(path: Path, script: Script) -> None:
    """See that a server can be made as a script says, without trust in the script.

    Raises:
        Failure: it has a flag that is not among `HARMLESS`.
    """
    for flag in script.setup.flags:
        name = str(flag).partition("=")[0]
        if name not in HARMLESS:
            raise Failure(
                f"{path}: server.flags: {name} is not taken from a file, for it may read or write "
                "files, listen, or call other servers: take it out of the script, or replay the "
                "script in Python (kubetrio.harness.replayed) if you trust it"
            )


def read_script(path: Path) -> Script:
    """Return the script of a file; ``-`` is standard input.  Blocking.

    Raises:
        Failure: it cannot be read.
    """
    from kubetrio.harness.script import Script, ScriptError

    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text()
        return Script.parse(text)
    except OSError as error:
        raise Failure(f"cannot read {path}: {error.strerror}") from error
    except (ScriptError, UnicodeDecodeError) as error:
        raise Failure(f"{path}: {error}") from error
