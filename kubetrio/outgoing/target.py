"""Targets of calls, and how kubeconfig files say it.

Source: docs "Organizing Cluster Access Using kubeconfig Files", "Webhook Mode", "Webhook Token
Authentication" (kubeconfig files of webhooks: the cluster is the webhook, the user is the server).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

Object = Mapping[str, Any]


class TargetError(ValueError):
    """A file does not say which server to call; the text is one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A server that is called, and the credentials.

    Args:
        url: where it is.
        ca: authorities of its certificate, PEM; those of the system when None.
        server_name: that its certificate is for, if not the host of the URL.
        certificate: client certificate, PEM.
        key: its key, PEM.
        token: bearer token.
        token_file: of a token that is read anew for each call, in place of `token`.
        username: for basic authentication.
        password: the same.
        insecure: whether its certificate is not verified.
    """

    url: str
    ca: bytes | None = None
    server_name: str = ""
    certificate: bytes | None = field(default=None, repr=False)
    key: bytes | None = field(default=None, repr=False)
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    username: str = ""
    password: str = field(default="", repr=False)
    insecure: bool = False


def from_kubeconfig(path: Path) -> Target:
    """The target of a kubeconfig file's current context.

    Args:
        path: of the file; names of files in it are relative to its directory.

    Raises:
        TargetError: it cannot be read, or names no server.
    """
    import yaml

    try:
        config = yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise TargetError(f"open {path}: {(error.strerror or str(error)).lower()}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise TargetError(f"{path}: {' '.join(str(error).split())}") from error
    if not isinstance(config, dict):
        raise TargetError(f"{path}: no kubeconfig")
    cluster, user = _chosen(config, path)
    server = cluster.get("server")
    if not isinstance(server, str) or not server:
        raise TargetError(f"{path}: no server found for cluster")
    return replace(
        user_of(user, path),
        url=server,
        ca=_content(cluster, "certificate-authority", path.parent),
        server_name=str(cluster.get("tls-server-name") or ""),
        insecure=cluster.get("insecure-skip-tls-verify") is True,
    )


def user_of(user: Object, path: Path) -> Target:
    """A target without a server: who calls it.

    Args:
        user: an entry of a kubeconfig's ``users``.
        path: of the file; names of files in it are relative to its directory.

    Raises:
        TargetError: a file cannot be read, or the user is of a kind that is not supported.
    """
    folder = path.parent
    token_file = user.get("tokenFile")
    for name in ("exec", "auth-provider"):
        if user.get(name):
            raise TargetError(f"{path}: users with {name} are not supported here")
    return Target(
        url="",
        certificate=_content(user, "client-certificate", folder),
        key=_content(user, "client-key", folder),
        token=str(user.get("token") or ""),
        token_file=folder / token_file if token_file else None,
        username=str(user.get("username") or ""),
        password=str(user.get("password") or ""),
    )


def _chosen(config: Object, path: Path) -> tuple[Object, Object]:
    """The cluster and the user of the current context; of a file without one, the first ones."""
    contexts, clusters, users = (
        _named(config.get(f"{what}s"), what, path) for what in ("context", "cluster", "user")
    )
    current = config.get("current-context") or ""
    if current:
        if current not in contexts:
            raise TargetError(f'{path}: context "{current}" does not exist')
        context = contexts[current]
        cluster = context.get("cluster") or ""
        if cluster not in clusters:
            raise TargetError(f'{path}: cluster "{cluster}" does not exist')
        return clusters[cluster], users.get(context.get("user") or "", {})
    raise TargetError(f"{path}: invalid configuration: no configuration has been provided")


def _named(items: object, what: str, path: Path) -> dict[str, Object]:
    if items is None:
        return {}
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise TargetError(f"{path}: {what}s is no list of named entries")
    return {str(item.get("name") or ""): item.get(what) or {} for item in items}


def _content(entry: Object, name: str, folder: Path) -> bytes | None:
    """A certificate or key: what ``NAME-data`` holds, else the file that ``NAME`` names."""
    data = entry.get(f"{name}-data")
    if data:
        try:
            return base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError, TypeError) as error:
            raise TargetError(f"{name}-data: {error}") from error
    file = entry.get(name)
    if not file:
        return None
    try:
        return (folder / str(file)).read_bytes()
    except OSError as error:
        raise TargetError(f"unable to read {name} {file}: {error.strerror or error}") from error
