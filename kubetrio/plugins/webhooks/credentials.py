"""Credentials for calls of webhooks: the users of a kubeconfig file, chosen by host.

Source: docs "Dynamic Admission Control" ("Authenticate API servers"); ``WebhookAdmission`` of
``apiserver.config.k8s.io/v1``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kubetrio.outgoing.target import Target, TargetError

Object = Mapping[str, Any]

VERSIONS = ("apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1alpha1")
KINDS = ("WebhookAdmissionConfiguration", "WebhookAdmission")
HTTPS_PORT = "443"
ANONYMOUS = Target(url="")


class CredentialsError(ValueError):
    """A configuration cannot be used; one line."""


class Credentials:
    """Who the server is to each webhook.

    Args:
        users: by the name that a kubeconfig gives them: a host with its port, ``*.`` and the rest
            of a host, or ``*``.
        default: of its current context, None without one.
    """

    def __init__(self, users: Mapping[str, Target] | None = None, default: Target | None = None):
        self._users = dict(users or {})
        self._default = default

    def of(self, host: str) -> Target:
        """Who the server is to a host with its port; the URL of the target is empty."""
        for name in _names(host):
            if name in self._users:
                return self._users[name]
        return self._users.get("*") or self._default or ANONYMOUS


NO_CREDENTIALS = Credentials()
"""Of a server that no file gives credentials."""


def _names(host: str) -> Iterator[str]:
    """The names of users that stand for a host, the nearest first."""
    name, _, port = host.rpartition(":")
    for each in (host, name) if port == HTTPS_PORT else (host,):
        yield each
        steps = each.split(".")
        for skipped in range(1, len(steps)):
            yield "*." + ".".join(steps[skipped:])


def credentials_in(data: bytes | None) -> Credentials:
    """The credentials that the text of a plugin's configuration names.

    Args:
        data: a ``WebhookAdmissionConfiguration`` as JSON or YAML; None without one.

    Raises:
        CredentialsError: it is none, or the file that it names cannot be used.
    """
    if data is None:
        return NO_CREDENTIALS
    import yaml

    try:
        document = yaml.safe_load(data)
    except (yaml.YAMLError, ValueError) as error:
        raise CredentialsError(" ".join(str(error).split())) from error
    if not isinstance(document, dict):
        raise CredentialsError("a WebhookAdmissionConfiguration is an object")
    return credentials_of(document)


def credentials_of(configuration: Object | None) -> Credentials:
    """The credentials that a plugin's configuration names.

    Args:
        configuration: a ``WebhookAdmissionConfiguration`` as it is in the file of
            ``--admission-control-config-file`` or in a file that one names; None without one.

    Raises:
        CredentialsError: it is none, or the file that it names cannot be used.
    """
    if configuration is None:
        return NO_CREDENTIALS
    version, kind = configuration.get("apiVersion"), configuration.get("kind")
    if version not in VERSIONS or kind not in KINDS:
        raise CredentialsError(f'no kind "{kind}" is registered for version "{version}"')
    if configuration.get("staticManifestsDir"):
        folder = configuration["staticManifestsDir"]
        raise CredentialsError(
            f'static webhook manifests dir "{folder}" configured but '
            "ManifestBasedAdmissionControlConfig feature gate is not enabled"
        )
    file = configuration.get("kubeConfigFile") or ""
    if not file:
        return NO_CREDENTIALS
    if not isinstance(file, str) or not file.startswith("/"):
        raise CredentialsError(
            f'kubeConfigFile: Invalid value: "{file}": must be an absolute file path'
        )
    return from_file(Path(file))


def from_file(path: Path) -> Credentials:
    """The users of a kubeconfig file; names of files in it are relative to its directory.

    Raises:
        CredentialsError: it cannot be read, or has users that cannot be used here.
    """
    import yaml

    try:
        config = yaml.safe_load(path.read_bytes()) or {}
    except OSError as error:
        raise CredentialsError(f"open {path}: {(error.strerror or str(error)).lower()}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise CredentialsError(f"{path}: {' '.join(str(error).split())}") from error
    if not isinstance(config, dict):
        raise CredentialsError(f"{path}: no kubeconfig")
    users = {name: _user(entry, path, name) for name, entry in _named(config, "user", path).items()}
    context = _named(config, "context", path).get(config.get("current-context") or "", {})
    return Credentials(users, users.get(context.get("user") or ""))


def _named(config: Object, what: str, path: Path) -> dict[str, Object]:
    items = config.get(f"{what}s") or []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise CredentialsError(f"{path}: {what}s is no list of named entries")
    return {str(item.get("name") or ""): item.get(what) or {} for item in items}


def _user(entry: Object, path: Path, name: str) -> Target:
    from kubetrio.outgoing.target import user_of

    try:
        return user_of(entry, path)
    except TargetError as error:
        raise CredentialsError(f'{path}: user "{name}": {error}') from error
