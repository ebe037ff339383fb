"""Requests to a server that runs, as the kubeconfig of its data directory says."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import orjson

from kubetrio.cli.arguments import add_data_dir
from kubetrio.cli.common import Failure
from kubetrio.env import Env
from kubetrio.flags import parser as flags
from kubetrio.outgoing.client import Outgoing
from kubetrio.outgoing.target import Target, from_kubeconfig

Object = dict[str, Any]
MOST_BYTES = 64 << 20
TIMEOUT_S = 60.0


class RequestRefused(Failure):
    """The server refused a request.

    Args:
        code: status code.
        message: of its Status.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def add_server(parser: flags.Parser) -> None:
    """Add flags that say which server is asked."""
    add_data_dir(parser)
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="a kubeconfig that names the server (default: DATA_DIR/kubeconfig)",
    )


class RemoteServer:
    """A server that is asked; made by `open_server`.

    Args:
        outgoing: calls it.
        target: where it is, and the client's credentials.
    """

    def __init__(self, outgoing: Outgoing, target: Target) -> None:
        self._outgoing = outgoing
        self._target = target

    async def ask(
        self,
        method: str,
        path: str,
        *,
        body: Object | None = None,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Object:
        """One request.

        Args:
            method: HTTP method.
            path: absolute.
            body: sent as JSON, which is YAML too.
            query: without empty values.
            content_type: of the body.

        Raises:
            RequestRefused: the answer is a failure.
            CallError: there is none.
        """
        url = self._target.url.rstrip("/") + path
        if query:
            url += "?" + urlencode(query)
        answer = await self._outgoing.call(
            self._target,
            method=method,
            url=url,
            body=b"" if body is None else orjson.dumps(body),
            headers=[("Content-Type", content_type), ("Accept", "application/json")],
            timeout_s=TIMEOUT_S,
            most_bytes=MOST_BYTES,
        )
        try:
            document: Object = orjson.loads(answer.body)
        except ValueError:
            document = {"message": answer.body.decode(errors="replace").strip()}
        if not 200 <= answer.status < 300:
            message = str(document.get("message") or f"the server answered {answer.status}")
            raise RequestRefused(answer.status, " ".join(message.split()))
        return document


def kubeconfig_of(options: argparse.Namespace) -> Path:
    """The kubeconfig that `add_server` asked for.

    Raises:
        Failure: it is not there.
    """
    path: Path = options.kubeconfig or options.data_dir / "kubeconfig"
    if not path.is_file():
        raise Failure(
            f"{path} is not there: start a server (kubetrio serve), or name its directory with "
            "--data-dir or its kubeconfig with --kubeconfig"
        )
    return path


@asynccontextmanager
async def open_server(options: argparse.Namespace) -> AsyncIterator[RemoteServer]:
    """The server that `add_server` asked for.

    Raises:
        Failure: there is no kubeconfig.
        TargetError: it names no server.
    """
    outgoing = Outgoing(Env())
    try:
        yield RemoteServer(outgoing, from_kubeconfig(kubeconfig_of(options)))
    finally:
        await outgoing.close()


def segment(text: str) -> str:
    """A name as a part of a path."""
    return quote(text, safe="")
