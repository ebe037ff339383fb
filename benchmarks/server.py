"""Starts and stops the server under test.  When its flags change, this is the file to change."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.clock import perf_counter, sleep
from benchmarks.endpoint import Endpoint
from benchmarks.errors import BenchError
from benchmarks.process import Background

COMMAND = (sys.executable, "-m", "kubetrio", "serve")
PERMISSIVE = (sys.executable, "-m", "benchmarks.permissive")
TOKEN = "bench-token"  # of a server on the loopback interface that lives for one row
CONTROLLER = "system:kube-controller-manager"
EVERYBODY = ("*",)
# May do nothing, unless the server allows them to; each name is the token as well.
VISITORS = ("elephant", "mouse", "other", CONTROLLER)
TOKENS = f'{TOKEN},bench,bench-uid,"system:masters"\n' + "".join(
    f'{name},{name},{name}-uid,"zoo"\n' for name in VISITORS
)
READY_LINE = r"https://127\.0\.0\.1:(\d+)"
COMPACTION_FLAGS = ("--etcd-compaction-interval=%ds", "--history-window=%ds")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerProcess:
    """A running kubetrio.

    Args:
        endpoint: how to reach it.
        process: how to end it.
        ready_s: seconds from the start of the process to the first 200 of /readyz.
    """

    endpoint: Endpoint
    process: Background
    ready_s: float


def start(
    data_dir: Path,
    flags: Sequence[str] = (),
    *,
    allowed: Sequence[str] = (),
    command: Sequence[str] = COMMAND,
    environ: Mapping[str, str] | None = None,
) -> ServerProcess:
    """Start kubetrio on a data directory, which may be empty, and wait until it is ready.

    Args:
        data_dir: where it keeps its data.
        flags: more flags.
        allowed: users who may do everything.
        command: what serves, where there are no such users.
        environ: all of its variables; ours when None.

    Raises:
        BenchError: it ended, or is not ready within 30 seconds.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    beside = data_dir.parent
    tokens = beside / f"{data_dir.name}.tokens.csv"
    tokens.write_text(TOKENS)
    process = Background(
        [
            *((*PERMISSIVE, ",".join(allowed), "serve") if allowed else command),
            *("--data-dir", str(data_dir)),
            *("--bind-address", "127.0.0.1", "--secure-port", "0"),
            *("--token-auth-file", str(tokens)),
            *("--write-kubeconfig", str(beside / f"{data_dir.name}.kubeconfig")),
            *flags,
        ],
        beside / f"{data_dir.name}.log",
        environ,
    )
    try:
        port = int(process.wait_for(READY_LINE))
        endpoint = Endpoint(
            host="127.0.0.1",
            port=port,
            token=TOKEN,
            ca_file=str(data_dir / "pki" / "ca.crt"),
        )
        _wait_ready(endpoint, process)
    except BaseException:
        process.stop()
        raise
    return ServerProcess(
        endpoint=endpoint, process=process, ready_s=perf_counter() - process.started
    )


def _wait_ready(endpoint: Endpoint, process: Background) -> None:
    while True:
        try:
            endpoint.call("GET", "/readyz", accept=(200,))
        except (BenchError, OSError) as error:
            if perf_counter() > process.started + 30:
                raise BenchError(f"not ready: {error}; {process.tail()}") from error
            sleep(0.005)
        else:
            return
