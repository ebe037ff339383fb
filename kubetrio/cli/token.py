"""``kubetrio token``: tokens of service accounts."""

from __future__ import annotations

import argparse
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
  kubectl --kubeconfig /dev/null --server https://127.0.0.1:6443 \\
    --certificate-authority kubetrio-data/pki/ca.crt \\
    --token "$(kubetrio token create robot)" auth whoami
Not with the administrator's kubeconfig: its certificate decides who you are, whatever the token.
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
        help="whom it is for; may be repeated (default: the API server)",
    )
    add_server(parser)


@told
def run(call: Call) -> int:
    """Make a token."""
    options = call.options
    namespace, _, name = options.account.rpartition("/")
    if "/" in namespace or not name:
        options.parser.error(f"{options.account!r} is not NAMESPACE/SERVICEACCOUNT")
    if namespace and options.namespace not in (None, namespace):
        options.parser.error(f"--namespace {options.namespace} is not that of {options.account}")
    token = trio.run(_create, options, namespace or options.namespace or "default", name)
    print(token)
    return 0


async def _create(options: argparse.Namespace, namespace: str, name: str) -> str:
    from kubetrio.cli.asking import open_server

    async with open_server(options) as server:
        return await _token(server, namespace, name, options)


async def _token(
    server: RemoteServer, namespace: str, name: str, options: argparse.Namespace
) -> str:
    from kubetrio.cli.asking import RequestRefused, segment

    spec: dict[str, object] = {"audiences": options.audience}
    if options.duration is not None:
        spec["expirationSeconds"] = int(options.duration)
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    account = f"/api/v1/namespaces/{segment(namespace)}/serviceaccounts/{segment(name)}"
    try:
        made = await server.ask("POST", f"{account}/token", body=body)
    except RequestRefused as error:
        if error.code == 404:
            raise Failure(
                f"{error}; make it: kubectl create serviceaccount {name} -n {namespace}"
            ) from error
        raise
    return str(made["status"]["token"])
