"""``kubetrio serve``: run the API server until a signal says otherwise."""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import shlex
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import trio

from kubetrio import __version__, kubeconfig
from kubetrio.cli import running
from kubetrio.cli.systemd import ActivationError, Manager, passed
from kubetrio.config import Config, ConfigError
from kubetrio.env import Env
from kubetrio.flags import parser as flags
from kubetrio.flags.terminal import Terminal
from kubetrio.observe import logs
from kubetrio.observe.logs import Log
from kubetrio.runtime.apart import in_child
from kubetrio.store.errors import DataDirectoryLocked

if TYPE_CHECKING:
    from kubetrio.cli.commands import Call
    from kubetrio.flags.absence import IgnoredFlag
    from kubetrio.server import Server
    from kubetrio.server.parts import Parts

log = Log("kubetrio")
PROXIED = "http://127.0.0.1:8001"  # where kubectl proxy listens


def add(parser: flags.Parser) -> None:
    """All flags of the configuration, and those of the command line itself."""
    flags.add_serve(parser)


def run(call: Call) -> int:
    """Serve; the exit code is 1 where something stops the server before it is ready."""
    ignored: list[IgnoredFlag] = []
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
        config, terminal, more = configured(call.options)
    except WrongError as problem:
        print(f"kubetrio: {problem}", file=sys.stderr)
        return 1
    if terminal.print_config:
        from kubetrio.flags.file import printed

        with contextlib.suppress(BrokenPipeError):  # who reads has seen enough
            print("\n".join(printed(config, terminal, flags.TERMINAL_FLAGS)))
        return 0
    set_up_logs(terminal, (*ignored, *more))
    if not (config.local.secure_serving or _listens_here(config)):
        print(
            "kubetrio: no client could reach the server: --secure-serving=false needs "
            "--unix-socket or --plain-port",
            file=sys.stderr,
        )
        return 1
    if not terminal.detach:
        return serve(config, terminal, call.parts)
    return in_background(config, terminal, call.parts)


def in_background(config: Config, terminal: Terminal, parts: Parts | None, name: str = "") -> int:
    """Run the server in a process of its own; returns the exit code when it is ready.

    Args:
        config: how.
        terminal: what is done besides.
        parts: what an embedder adds.
        name: of its cluster, empty where it was started by its directory.
    """
    from kubetrio.cli.detach import detached

    place = (config.data_dir / running.LOG_NAME).absolute()
    work = partial(serve, config, terminal, parts, str(place))
    return detached(work, config.data_dir, place, terminal.wait_s, name)


def set_up_logs(terminal: Terminal, ignored: Iterable[IgnoredFlag]) -> None:
    """Log as flags say, and first of all the flags that change nothing.

    Args:
        terminal: says how.
        ignored: those flags.
    """
    form = logs.Format.JSON if terminal.logging_format == "json" else logs.Format.TEXT
    logs.setup(form, terminal.verbosity, sys.stderr)
    for row in ignored:
        log.warning("flag changes nothing here", flag=f"--{row.name}", because=row.why)


def _listens_here(config: Config) -> bool:
    local = config.local
    return local.unix_socket is not None or local.plain_port is not None


class WrongError(Exception):
    """Flags or their file cannot be used; one line."""


def configured(options: argparse.Namespace) -> tuple[Config, Terminal, tuple[IgnoredFlag, ...]]:
    """What flags and the configuration file ask for, and flags of the file that change nothing.

    Raises:
        WrongError: a value that may not be.
    """
    path: Path | None = getattr(options, f"{flags.TERMINAL}.config", None)
    if path is None:
        try:
            return *flags.made(options), ()
        except ConfigError as problem:
            raise WrongError(problem.by_flag()) from problem
    from kubetrio.flags.file import FileError, read

    try:
        values = read(path, flags.BY_NAME)
        return *flags.made(options, values.given), values.ignored
    except FileError as problem:
        raise WrongError(str(problem)) from problem
    except ConfigError as problem:
        raise WrongError(values.told(problem, flags.typed_names(options))) from problem


def serve(
    config: Config,
    terminal: Terminal,
    parts: Parts | None = None,
    log_file: str = "",
    ready: Callable[[str], None] | None = None,
) -> int:
    """Run the server until a signal says otherwise.

    Args:
        config: how.
        terminal: what is done besides.
        parts: what an embedder adds.
        log_file: that the log goes to, for those who ask.
        ready: is told the first screen when the server is ready, and before it is printed.
    """
    from kubetrio.http.descriptors import allow_all
    from kubetrio.server import StartError
    from kubetrio.store.errors import StoreError
    from kubetrio.tls.pki import PkiError

    allow_all()
    expected = (
        StartError, StoreError, PkiError, kubeconfig.KubeconfigError, ActivationError, OSError
    )  # fmt: skip
    manager = Manager.of(os.environ, os.getpid())
    try:
        listening = passed(os.environ, os.getpid())
        if listening is not None:
            config = _listening_on(config, listening)
        start = Start(config, terminal, parts, listening, manager, log_file, ready)
        check_kubeconfigs(start)
        trio.run(_serve, start)
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


class Start(NamedTuple):
    """What is started.

    Args:
        config: how.
        terminal: what is done besides.
        parts: what an embedder adds.
        listening: socket that listens already, None for one of the server's own.
        manager: the service manager.
        log_file: that the log goes to, empty where it is not known.
        ready: is told the first screen.
    """

    config: Config
    terminal: Terminal
    parts: Parts | None
    listening: socket.socket | None
    manager: Manager
    log_file: str
    ready: Callable[[str], None] | None

    @property
    def kubeconfig(self) -> Path:
        """Where the kubeconfig goes."""
        return (self.terminal.write_kubeconfig or self.config.data_dir / "kubeconfig").resolve()


def _listening_on(config: Config, listening: socket.socket) -> Config:
    """The configuration with the address of a socket that was passed; the flags do not count."""
    address, port = listening.getsockname()[:2]
    serving = replace(config.serving, bind_address=address, secure_port=port)
    return replace(config, serving=serving)


def check_kubeconfigs(start: Start) -> None:
    """See that the kubeconfigs can be written later.  Blocking.

    Raises:
        KubeconfigError: one cannot; or the server, whose data directory is to be made, is another
            than the one whose entry is there.
    """
    config, path = start.config, start.kubeconfig
    if path.parent != config.data_dir.resolve():
        kubeconfig.check_place(path)
    if start.terminal.merge_kubeconfig:
        url = ""
        if not config.data_dir.exists():
            address = config.serving.public_address
            host = f"[{address}]" if ":" in address else address
            url = f"https://{host}:{config.serving.secure_port}"
        kubeconfig.check_merge(kubeconfig.default_path(os.environ), config.name, url)


def _first(group: BaseException) -> BaseException:
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group


def _taken(problem: DataDirectoryLocked) -> str:
    """Which server has the data directory, and how to end it."""
    record = running.recorded(problem.path, problem.pid)
    if record is None:
        return str(problem)
    return (
        f"data directory {problem.path} is in use by process {record.pid}, a server at "
        f"{record.url} since {record.since}: "
        f"kubetrio stop --data-dir {shlex.quote(os.fspath(problem.path))} ends it"
    )


def _say(problem: BaseException) -> None:
    """One line about what stops the server."""
    from kubetrio.store.errors import Unreadable

    text = str(problem)
    if isinstance(problem, Unreadable) and problem.key not in text:
        text = f"{problem.key} cannot be read, and the server does not start without it: {text}"
    if isinstance(problem, DataDirectoryLocked):
        text = _taken(problem)
    if isinstance(problem, OSError) and problem.strerror:
        text = f"{problem.strerror}: {problem.filename}" if problem.filename else problem.strerror
    # One line: it is the last one of what a detached server says.
    print("kubetrio:", *text.split(), file=sys.stderr)


async def _serve(start: Start) -> None:
    from kubetrio.server import open_server

    with trio.open_signal_receiver(*_signals()) as signals:
        env = Env(run_apart=in_child)
        async with open_server(start.config, env, start.parts, start.listening) as server:
            screen = first_screen(server, start.kubeconfig, merge=start.terminal.merge_kubeconfig)
            with _told(server, start.log_file):
                if start.ready is not None:
                    start.ready(screen)
                _print(screen)
                start.manager.tell("READY=1", f"STATUS=ready at {server.url}")
                _settle_memory()
                sys.setswitchinterval(SWITCH_INTERVAL_S)
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(start.manager.live)
                    async for number in signals:
                        log.info("stopping", signal=signal.Signals(number).name)
                        break
                    start.manager.tell("STOPPING=1", "STATUS=stopping")
                    nursery.start_soon(_second_signal, signals)
                    await server.stop()
                    nursery.cancel_scope.cancel()


def _signals() -> list[signal.Signals]:
    """Signals that stop the server in order.

    SIGHUP comes when the terminal is closed, unless ``nohup`` has had it ignored; Windows has none.
    """
    stops = [signal.SIGTERM, signal.SIGINT]
    hangup = getattr(signal, "SIGHUP", None)
    if hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN:
        stops.append(hangup)
    return stops


@contextlib.contextmanager
def _told(server: Server, log_file: str) -> Iterator[None]:
    """Have ``kubetrio status`` find the server; without where the disk has no room."""
    shown, admin = server.shown(), server.pki.admin
    record = running.Record(
        pid=os.getpid(),
        url=server.url,
        since=f"{server.api.edge.env.utcnow():%Y-%m-%dT%H:%M:%SZ}",
        log=log_file,
        authority=shown.authority.decode(errors="replace"),
        server_name=shown.server_name,
        certificate=str(admin.cert.absolute()),
        key=str(admin.key.absolute()),
    )
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(running.told(server.config.data_dir, record))
        except OSError as error:
            log.error(error, "kubetrio status will not know where this server listens")
        yield


def first_screen(server: Server, path: Path, *, merge: bool) -> str:
    """Write the kubeconfig; what a person who starts a server needs to know then.

    Args:
        server: that is ready.
        path: where the kubeconfig goes.
        merge: whether it also goes into the user's.

    Raises:
        KubeconfigError: one cannot be written, or has another server's entry.
    """
    if not server.url.startswith("http"):
        asks = f"curl --unix-socket {shlex.quote(str(server.config.local.unix_socket))}"
        ready = f"kubetrio {__version__} is ready at {server.url}"
        return f"{ready}\n{asks} http://localhost/version"
    document = server.kubeconfig()
    try:
        kubeconfig.write(path, document)
    except kubeconfig.KubeconfigError as error:
        if not server.api.storage.store.statistics().refusing:
            raise
        log.error(error, "the kubeconfig waits for room on the disk and the next start")
    lines = [f"kubetrio {__version__} is ready at {server.url}"]
    if not merge:
        lines.append(f"export KUBECONFIG={shlex.quote(str(path))}")
    lines.append("kubectl get namespaces")
    lines.append(f"kubectl proxy  # shows objects, history and load: {PROXIED}/ui/")
    if merge:
        target = kubeconfig.default_path(os.environ)
        context = kubeconfig.context_name(server.config.name)
        former = kubeconfig.merge(target, document)
        lines.append(f"context {context} is in {shlex.quote(str(target))}")
        if former not in ("", context):
            back = f"kubectl config use-context {shlex.quote(former)}"
            lines[-1] += f" and the current one now; before: {back}"
    return "\n".join(lines)


SWITCH_INTERVAL_S = 0.001
"""How long the event loop waits for a thread that works over a request's body, each time that it
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
    """End the process at once at a second signal: durability does not need an orderly stop.

    A second SIGHUP does not count: the system and the shell each send one when a terminal closes.
    """
    async for number in signals:  # type: ignore[attr-defined]
        if number != getattr(signal, "SIGHUP", None):
            os._exit(130)
    raise AssertionError("signals never end")
