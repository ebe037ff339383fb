"""``kubetrio serve``: run the API server until a signal says otherwise."""

from __future__ import annotations

import contextlib
import gc
import os
import shlex
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import trio

from kubetrio import __version__, kubeconfig, logs
from kubetrio.config import Config, ConfigError
from kubetrio.flags import parser as flags
from kubetrio.flags.terminal import Terminal
from kubetrio.logs import Log

if TYPE_CHECKING:
    from kubetrio.assembly import Parts
    from kubetrio.cli.commands import Call
    from kubetrio.flags.absence import Ignored
    from kubetrio.server import Server

log = Log("kubetrio")
PROXIED = "http://127.0.0.1:8001"  # where kubectl proxy listens


def add(parser: flags.Parser) -> None:
    """All flags of the configuration, and those of the command line itself."""
    flags.add_serve(parser)


def run(call: Call) -> int:
    """Serve; the exit code is 1 where something stops the server before it is ready."""
    ignored: list[Ignored] = []
    if call.rest:
        from kubetrio.flags.absent import judge

        judged = judge(call.rest)
        ignored = judged.ignored
        call._replace(rest=judged.wrong).refuse_rest()
        if judged.refused:
            for line in judged.refused:
                print(f"kubetrio: {line}", file=sys.stderr)
            return 1
    try:
        config, terminal = flags.made(call.options)
    except ConfigError as problem:
        print(f"kubetrio: {problem.by_flag()}", file=sys.stderr)
        return 1
    form = logs.Format.JSON if terminal.logging_format == "json" else logs.Format.TEXT
    logs.setup(form, terminal.verbosity, sys.stderr)
    for row in ignored:
        log.warning("flag changes nothing here", flag=f"--{row.name}", because=row.why)
    return serve(config, terminal, call.parts)


def serve(config: Config, terminal: Terminal, parts: Parts | None = None) -> int:
    """Run the server until a signal says otherwise."""
    from kubetrio.http.descriptors import allow_all
    from kubetrio.pki import PkiError
    from kubetrio.server import StartError
    from kubetrio.store.errors import StoreError

    allow_all()
    path = terminal.write_kubeconfig or config.data_dir / "kubeconfig"
    expected = (StartError, StoreError, PkiError, kubeconfig.KubeconfigError, OSError)
    try:
        trio.run(_serve, config, path.resolve(), terminal.merge_kubeconfig, parts)
    except BaseExceptionGroup as group:
        problem = _first(group)
        if not isinstance(problem, expected):
            raise
        _say(problem)
        return 1
    except expected as problem:
        _say(problem)
        return 1
    return 0


def _first(group: BaseException) -> BaseException:
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group


def _say(problem: BaseException) -> None:
    """One line about what stops the server."""
    text = str(problem)
    if isinstance(problem, OSError) and problem.strerror:
        text = f"{problem.strerror}: {problem.filename}" if problem.filename else problem.strerror
    print(f"kubetrio: {text}", file=sys.stderr)


async def _serve(config: Config, kubeconfig_path: Path, merge: bool, parts: Parts | None) -> None:
    from kubetrio.server import open_server

    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with open_server(config, parts=parts) as server:
            _print(first_screen(server, kubeconfig_path, merge=merge))
            _settle_memory()
            sys.setswitchinterval(SWITCH_INTERVAL_S)
            async for number in signals:
                log.info("stopping", signal=signal.Signals(number).name)
                break
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_second_signal, signals)
                await server.stop()
                nursery.cancel_scope.cancel()


def first_screen(server: Server, path: Path, *, merge: bool) -> str:
    """Write the kubeconfig; what a person who starts a server needs to know then.

    Args:
        server: that is ready.
        path: where the kubeconfig goes.
        merge: whether it also goes into the user's.

    Raises:
        KubeconfigError: one cannot be written, or has another server's entry.
    """
    from kubetrio.api.flowpages import ROOT

    made = server.kubeconfig()
    try:
        kubeconfig.write(path, made)
    except kubeconfig.KubeconfigError as error:
        if not server.api.store.statistics().full:
            raise
        log.error(error, "the kubeconfig waits for room on the disk and the next start")
    lines = [
        f"kubetrio {__version__} is ready at {server.url}",
        f"export KUBECONFIG={shlex.quote(str(path))}",
    ]
    if server.config.flowcontrol.priority_and_fairness:
        lines.append(f"kubectl proxy  # shows who waits: {PROXIED}{ROOT}/")
    if merge:
        target = kubeconfig.default_path(os.environ)
        context = kubeconfig.context_name(server.config.name)
        former = kubeconfig.merge(target, made)
        lines.append(f"context {context} is in {shlex.quote(str(target))}")
        if former not in ("", context):
            back = f"kubectl config use-context {shlex.quote(former)}"
            lines[-1] += f" and the current one now; before: {back}"
    return "\n".join(lines)


SWITCH_INTERVAL_S = 0.001
"""How long the event loop waits for a thread that works over somebody's body, each time that it
has let go of the interpreter: at every system call.  Python's own 5 ms make 20 ms of a GET."""


def _print(text: str) -> None:
    """Print a line; where the output is on a full disk, go on without."""
    with contextlib.suppress(OSError):
        print(text, flush=True)


def _settle_memory() -> None:
    """Tell the collector that what exists now stays: it would look at it again and again."""
    gc.collect()
    gc.freeze()
    # Nothing runs during a collection: the second generation, 100,000 containers, takes 10 ms.
    gc.set_threshold(20_000, 5, 80)


async def _second_signal(signals: object) -> NoReturn:
    """A second signal ends the process at once; durability does not need an orderly stop."""
    async for _ in signals:  # type: ignore[attr-defined]
        os._exit(130)
    raise AssertionError("signals never end")
