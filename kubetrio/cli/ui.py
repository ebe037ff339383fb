"""``kubetrio ui``: the pages in a browser, of a server, a stopped one's directory or a script."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import trio

from kubetrio.cli.common import add_encryption, describe, say, told, whole
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from kubetrio.api.request import Request
    from kubetrio.api.response import AnyResponse
    from kubetrio.cli.commands import Call
    from kubetrio.cli.played import Played
    from kubetrio.env import Env
    from kubetrio.ui.loopback import Door

    Handle = Callable[[Request], Awaitable[AnyResponse]]

EXAMPLES = """\
  kubetrio ui                               the server that runs on kubetrio-data
  kubetrio ui --kubeconfig ~/.kube/config
  kubetrio ui --data-dir /tmp/failed-test   what a stopped server has left, read-only
  kubetrio ui script.json                   the steps of a script, and the cluster at each
"""
LOOPBACK = "127.0.0.1"
REDIRECT = """<!doctype html>
<meta http-equiv="refresh" content="0;url={link}"><a href="{link}">kubetrio</a>
"""
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    from kubetrio.cli.asking import add_server

    describe(
        parser,
        "Show the pages of a server in a browser: objects, their history, the load. The link\n"
        "works once, on this machine. Requests go on as the user of the kubeconfig, until Ctrl-C.\n"
        "Of a directory on which no server runs a copy is shown, read-only. A script of requests\n"
        "(see kubetrio replay) is done again in memory, and shown with its answers.",
        EXAMPLES,
    )
    parser.add_argument(
        "script",
        nargs="?",
        type=Path,
        metavar="SCRIPT",
        help="a script to show in place of a server, a file of JSON; - for stdin",
    )
    add_server(parser)
    parser.add_argument(
        "--port", type=whole, default=0, metavar="N", help="port to listen on (default: a free one)"
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="print the link and open no browser"
    )
    add_encryption(parser)
    parser.add_argument(
        "--audit-log-path",
        type=Path,
        metavar="FILE",
        help="the audit log of a stopped server, to tell the users too (default: none)",
    )


@told
def run(call: Call) -> int:
    """Show the pages until a signal."""
    from kubetrio.server.files import StartError

    played = None
    if call.options.script is not None:
        from kubetrio.cli.played import play

        _refuse_others(call.options)
        played = play(call.options.script)
    try:
        return trio.run(_run, call.options, played)
    except StartError as error:
        say(str(error))
        return 1


def _refuse_others(options: argparse.Namespace) -> None:
    """A script is all that is shown; naming a server too is a mistake on the command line."""
    parser: flags.Parser = options.parser
    for name in ("kubeconfig", "encryption_provider_config", "audit_log_path", "data_dir"):
        if getattr(options, name) != parser.get_default(name):
            parser.error(
                f"a script is shown without a server: leave --{name.replace('_', '-')} out"
            )


async def _run(options: argparse.Namespace, played: Played | None) -> int:
    from kubetrio.env import Env

    env = Env()
    listening = socket.create_server((LOOPBACK, options.port))
    listening.setblocking(False)
    try:
        async with _behind(options, env) if played is None else played.serve(env) as behind:
            await _serve(listening, behind, env, opens=not options.no_browser)
    finally:
        listening.close()
    return 0


def _behind(options: argparse.Namespace, env: Env) -> AbstractAsyncContextManager[Handle]:
    """What answers: a server that runs, or the copy of a directory on which none does."""
    from kubetrio.datadir.copying import has_database
    from kubetrio.store.lock import holder

    directory: Path = options.data_dir
    stopped = options.kubeconfig is None and has_database(directory) and holder(directory) is None
    if stopped:
        from kubetrio.cli.kept import open_kept

        return open_kept(directory, options.encryption_provider_config, env, options.audit_log_path)
    return _running(options, env)


@asynccontextmanager
async def _running(options: argparse.Namespace, env: Env) -> AsyncIterator[Handle]:
    from kubetrio.cli.asking import kubeconfig_of
    from kubetrio.outgoing.client import Outgoing
    from kubetrio.outgoing.target import from_kubeconfig
    from kubetrio.ui.loopback import Forward

    target = from_kubeconfig(kubeconfig_of(options))
    outgoing = Outgoing(env)
    try:
        answer = await outgoing.call(target, method="GET", url=f"{target.url.rstrip('/')}/ui/about")
        if answer.status != 200:
            say(f"{target.url} answers {answer.status} to /ui/about; the pages say why")
        yield Forward(outgoing, target).handle
    finally:
        await outgoing.close()


async def _serve(listening: socket.socket, behind: Handle, env: Env, *, opens: bool) -> None:
    """Answer on the loopback address until a signal."""
    from kubetrio.http.bridge import Bridge
    from kubetrio.http.limits import H1Config
    from kubetrio.http.serve import Listener
    from kubetrio.machinery.identity import UserInfo
    from kubetrio.ui.assets import sign_in_page
    from kubetrio.ui.loopback import Door

    port = listening.getsockname()[1]
    door = Door(env, port, sign_in_page("once"), behind)
    limits = H1Config(tunnels=lambda _method, _path: False)
    here = UserInfo("kubetrio-ui")
    listener = Listener(
        listening,
        None,
        door.handle,
        limits,
        env,
        Bridge(door.handle, write_timeout_s=limits.write_timeout_s, env=env),
        who=lambda _: here,
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listener.run, name="listener")
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            await _tell(f"http://{LOOPBACK}:{port}/ui/#once={door.code}", door, env, opens=opens)
            async for _ in signals:
                break
        nursery.cancel_scope.cancel()


async def _tell(link: str, door: Door, env: Env, *, opens: bool) -> None:
    """Open the link in a browser, and print it."""
    print(link, flush=True)
    say("the link works once, within five minutes; Ctrl-C ends")
    if not opens or not _has_display():
        return
    import webbrowser

    # The command line of a browser is seen by all users of a machine: the link is in a file.
    with TemporaryDirectory(prefix="kubetrio-ui-") as folder:
        file = Path(folder, "open.html")
        fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as text:
            text.write(REDIRECT.format(link=link))
        if await env.run_blocking(webbrowser.open, file.as_uri()):
            with trio.move_on_after(30):
                await door.used.wait()


def _has_display() -> bool:
    """Whether a browser would have a window to show."""
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, DISPLAYS))
