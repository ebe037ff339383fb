"""Users of ``kubetrio kubeconfig`` other than the administrator."""

from __future__ import annotations

import base64
from argparse import Namespace
from pathlib import Path
from typing import Any, NamedTuple

import trio

from kubetrio.cli.arguments import duration
from kubetrio.cli.common import Failure
from kubetrio.flags import parser as flags

DAY_S = 86_400.0


class User(NamedTuple):
    """A user of a kubeconfig.

    Args:
        name: of the entry.
        proof: the entry: a certificate with its key, or a token.
        until: when that ends, RFC 3339; empty where it is not known.
    """

    name: str
    proof: dict[str, str]
    until: str


def add_users(parser: flags.Parser) -> None:
    """Add flags that name the user of a kubeconfig."""
    parser.add_argument(
        "--user", metavar="NAME", help="as this user, with a certificate that the server's "
        "authority signs",
    )  # fmt: skip
    parser.add_argument(
        "--group", action="append", default=[], metavar="NAME",
        help="with --user: a group of the user; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--serviceaccount", metavar="[NAMESPACE/]NAME",
        help="as this service account, with a token that the server, which runs, makes",
    )  # fmt: skip
    parser.add_argument("--token", metavar="TOKEN", help="as the user of this token")
    parser.add_argument(
        "--duration", type=duration, metavar="DURATION", default=DAY_S,
        help="how long the certificate or token is valid, a token at least 10m (default: 24h)",
    )  # fmt: skip


def user(options: Namespace) -> User | None:
    """The user that flags ask for, None for the administrator.

    Raises:
        Failure: several, or one that cannot be made.
    """
    asked = [name for name in ("user", "serviceaccount", "token") if getattr(options, name)]
    if len(asked) > 1:
        options.parser.error(f"--{asked[0]} and --{asked[1]} exclude each other")
    if options.group and not options.user:
        options.parser.error("--group needs --user")
    if not asked:
        return None
    if options.token:
        return User("token", {"token": options.token}, "")
    return _with_certificate(options) if options.user else _with_token(options)


def as_user(kubeconfig: dict[str, Any], user: User) -> dict[str, Any]:
    """The kubeconfig of the administrator with another user.

    Args:
        kubeconfig: as `kubetrio.kubeconfig.build` returns it.
        user: who it is for.
    """
    [context] = kubeconfig["contexts"]
    return {
        **kubeconfig,
        "contexts": [{**context, "context": {**context["context"], "user": user.name}}],
        "users": [{"name": user.name, "user": user.proof}],
    }


def _with_certificate(options: Namespace) -> User:
    from kubetrio.env import Env
    from kubetrio.tls.clients import issue
    from kubetrio.tls.pki import PkiError

    pki: Path = options.cert_dir or options.data_dir / "pki"
    try:
        made = issue(pki, options.user, options.group, Env().utcnow(), options.duration)
    except (PkiError, ValueError) as error:
        raise Failure(str(error)) from error
    proof = {
        "client-certificate-data": base64.b64encode(made.certificate).decode(),
        "client-key-data": base64.b64encode(made.key).decode(),
    }
    return User(options.user, proof, f"{made.until:%Y-%m-%dT%H:%M:%SZ}")


def _with_token(options: Namespace) -> User:
    from kubetrio.cli.token import account_of, requested

    namespace, name = account_of(options.serviceaccount)
    asked = Namespace(
        data_dir=options.data_dir, kubeconfig=None, duration=options.duration, audience=[]
    )
    status = trio.run(requested, asked, namespace, name)
    return User(
        f"system:serviceaccount:{namespace}:{name}",
        {"token": str(status["token"])},
        str(status["expirationTimestamp"]),
    )
