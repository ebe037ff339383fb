"""``kubetrio kubeconfig``: how kubectl reaches a server."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kubetrio.cli import kubeconfig_users as others
from kubetrio.cli.arguments import add_data_dir
from kubetrio.cli.common import Failure, describe, say, told
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from argparse import Namespace

    from kubetrio.cli.commands import Call

EXAMPLES = """\
  kubetrio kubeconfig --user alice --group devs --duration 8h > alice.yaml
  kubetrio kubeconfig --serviceaccount default/robot > robot.yaml
  kubetrio kubeconfig --token "$(kubetrio token create robot)" > robot.yaml
  kubetrio kubeconfig > admin.yaml
  kubetrio kubeconfig --merge                 into $KUBECONFIG or ~/.kube/config
  kubetrio kubeconfig --server https://api.example:6443
"""


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    describe(
        parser,
        "Print the administrator's kubeconfig of a data directory, whether its server runs or\n"
        "not, or merge it into the user's; or print one that acts as another user, until it\n"
        "ends. It is secret.",
        EXAMPLES,
    )
    add_data_dir(parser)
    parser.add_argument(
        "--merge",
        action="store_true",
        help="add it to $KUBECONFIG or ~/.kube/config and make its context the current one; an "
        "entry of another server under the same name is not replaced",
    )
    parser.add_argument(
        "--server",
        metavar="URL",
        help="where clients reach it (default: where it was when it ran last)",
    )
    parser.add_argument(
        "--name", help="name of the cluster (default: what the server was told, or default)"
    )
    parser.add_argument(
        "--cert-dir",
        type=Path,
        metavar="DIR",
        help="where keys and certificates are, if the server is told so (default: DATA_DIR/pki)",
    )
    others.add_users(parser)


@told
def run(call: Call) -> int:
    """Print or merge a kubeconfig."""
    from kubetrio import kubeconfig

    document = _made(call.options)
    if (user := others.user(call.options)) is not None:
        if call.options.merge:
            raise Failure("--merge is for the administrator's kubeconfig; write this one to a file")
        document = others.as_user(document, user)
        if user.until:
            say(f"valid until {user.until}")
    if not call.options.merge:
        print(kubeconfig.dump(document), end="")
        return 0
    target = kubeconfig.default_path(os.environ)
    context = document["current-context"]
    former = kubeconfig.merge(target, document)
    print(f"context {context} is in {shlex.quote(str(target))}, and the current one")
    if former not in ("", context):
        print(f"before: kubectl config use-context {shlex.quote(former)}")
    return 0


def _made(options: Namespace) -> dict[str, Any]:
    """The kubeconfig of a data directory.

    Raises:
        Failure: too little is known.
    """
    from kubetrio import kubeconfig

    directory: Path = options.data_dir
    known = _written(directory / "kubeconfig")
    if known is None and not directory.is_dir():
        raise Failure(f"{directory} is not there: name the directory of a server with --data-dir")
    cluster = known["clusters"][0]["cluster"] if known else {}
    url = options.server or cluster.get("server")
    if not url:
        raise Failure(
            f"{directory} does not say where its server listens: give --server https://HOST:PORT"
        )
    if not url.startswith("https://"):
        options.parser.error(f"--server: {url!r} is no https:// URL")
    named = str(known["current-context"]) if known else kubeconfig.context_name("default")
    name = options.name or named.removeprefix(kubeconfig.context_name(""))
    pki = options.cert_dir or directory / "pki"
    try:
        certificate = (pki / "admin.crt").read_bytes()
        key = (pki / "admin.key").read_bytes()
        authorities = (pki / "ca.crt").read_bytes()
    except FileNotFoundError as error:
        raise Failure(
            f"{error.filename} is not there: start the server once, or name its --cert-dir"
        ) from error
    document = kubeconfig.build(
        name, url, authorities, certificate, key, str(cluster.get("tls-server-name") or "")
    )
    if known and options.cert_dir is None:  # it may name authorities that are not in the directory
        document["clusters"][0]["cluster"]["certificate-authority-data"] = cluster[
            "certificate-authority-data"
        ]
    return document


def _written(path: Path) -> dict[str, Any] | None:
    """The kubeconfig that the server wrote, None where there is none.

    Raises:
        Failure: it is none.
    """
    import yaml

    try:
        document: dict[str, Any] = yaml.safe_load(path.read_bytes())
        str(document["current-context"])
        document["clusters"][0]["cluster"]["certificate-authority-data"]
    except FileNotFoundError:
        return None
    except (yaml.YAMLError, ValueError, KeyError, IndexError, TypeError) as error:
        raise Failure(
            f"{path} is no kubeconfig that kubetrio wrote: remove it, and start the server"
        ) from error
    return document
