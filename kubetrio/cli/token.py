"""``kubetrio token``: tokens of service accounts."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

import trio

from kubetrio.cli.common import Failure, describe, duration, told
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from kubetrio.cli.asking import RemoteServer
    from kubetrio.cli.commands import Call

EXAMPLES = """\
  kubetrio token create default/robot
  kubetrio token create robot -n default --duration 10m --audience vault
  kubetrio kubeconfig --token "$(kubetrio token create robot)" > robot.yaml
  kubectl --kubeconfig robot.yaml auth whoami
Not kubectl --token with the administrator's kubeconfig: its certificate decides who you are,
whatever the token.
"""


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    from kubetrio.cli.asking import add_server

    describe(parser, "Have a server that runs make a token of a service account.", EXAMPLES)
    parser.add_argument("action", choices=("create",), help="print a new token")
    parser.add_argument("account", metavar="[NAMESPACE/]SERVICEACCOUNT", help="whose token it is")
    parser.add_argument(
        "-n",
        "--namespace",
        metavar="NAME",
        help="namespace of the service account, where it is not named with it (default: default)",
    )
    parser.add_argument(
        "--duration",
        type=duration,
        metavar="DURATION",
        help="how long it is to be valid, at least 10m (default: what the server gives)",
    )
    parser.add_argument(
        "--audience",
        action="append",
        default=[],
        metavar="TEXT",
        help="audience of the token; may be repeated (default: the API server)",
    )
    add_server(parser)


@told
def run(call: Call) -> int:
    """Make a token."""
    options = call.options
    try:
        namespace, name = account_of(options.account, options.namespace)
    except Failure as error:
        options.parser.error(str(error))
    print(trio.run(requested, options, namespace, name)["token"])
    return 0


def account_of(text: str, namespace: str | None = None) -> tuple[str, str]:
    """Namespace and name of a service account.

    Args:
        text: ``NAMESPACE/NAME``, or a name.
        namespace: of a flag; None for ``default``.

    Raises:
        Failure: it is none, or the two do not agree.
    """
    of, _, name = text.rpartition("/")
    if "/" in of or not name:
        raise Failure(f"{text!r} is not NAMESPACE/SERVICEACCOUNT")
    if of and namespace not in (None, of):
        raise Failure(f"--namespace {namespace} is not that of {text}")
    return of or namespace or "default", name


async def requested(options: argparse.Namespace, namespace: str, name: str) -> Mapping[str, object]:
    """Have a server make a token; returns the status of its TokenRequest.

    Args:
        options: which server, the audiences and the duration in seconds.
        namespace: of the service account.
        name: of the service account.

    Raises:
        Failure: the server refuses.
        CallError: it does not answer.
    """
    from kubetrio.cli.asking import open_server

    async with open_server(options) as server:
        return await _status(server, namespace, name, options)


async def _status(
    server: RemoteServer, namespace: str, name: str, options: argparse.Namespace
) -> Mapping[str, object]:
    from kubetrio.cli.asking import RequestRefused, segment

    spec: dict[str, object] = {"audiences": options.audience}
    if options.duration is not None:
        spec["expirationSeconds"] = int(options.duration)
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    account = f"/api/v1/namespaces/{segment(namespace)}/serviceaccounts/{segment(name)}"
    try:
        answer = await server.ask("POST", f"{account}/token", body=body)
    except RequestRefused as error:
        if error.code == 404:
            raise Failure(
                f"{error}; make it: kubectl create serviceaccount {name} -n {namespace}"
            ) from error
        raise
    status: Mapping[str, object] = answer["status"]
    return status
