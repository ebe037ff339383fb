"""The file of ``--encryption-provider-config``: read strictly, to values.

Source: k8s.io/apiserver/pkg/apis/apiserver/v1, server/options/encryptionconfig (`loadConfig`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kubetrio.gotext.durations import parse_duration
from kubetrio.gotext.text import quote
from kubetrio.wire import yamlwire

API_VERSION: Final = "apiserver.config.k8s.io/v1"
OTHERS: Final = (
    "AdmissionConfiguration", "AuthenticationConfiguration", "AuthorizationConfiguration",
    "TracingConfiguration",
)  # fmt: skip
"""Other kinds of files in that version."""
MAX_FILE_BYTES: Final = 8 * 1024 * 1024
KMS_TIMEOUT_S: Final = 3.0


class EncryptionConfigError(ValueError):
    """The file cannot be used; the text is kube-apiserver's."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a local provider.

    Args:
        name: stands in front of what it encrypts.
        secret: the key in base64.
    """

    name: str = ""
    secret: str = ""

    def __repr__(self) -> str:
        return f"Key(name={self.name!r})"  # a secret must not come into a log


@dataclass(frozen=True, slots=True, kw_only=True)
class Kms:
    """A plugin that keeps the key.

    Args:
        api_version: ``v1`` or ``v2``.
        name: stands in front of what is encrypted with it.
        cache_size: of version 1, None when nothing is said.
        endpoint: URL of its socket.
        timeout_s: how long a call may take, seconds.
        timeout: the same as it was given.
    """

    api_version: str
    name: str = ""
    cache_size: int | None = None
    endpoint: str = ""
    timeout_s: float = KMS_TIMEOUT_S
    timeout: str = "3s"


@dataclass(frozen=True, slots=True)
class Provider:
    """One element of a list of providers; well-formed ones have one member.

    Args:
        aesgcm, aescbc, secretbox: keys of these.
        identity: whether values are stored as they are.
        kms: the plugin.
    """

    aesgcm: tuple[Key, ...] | None = None
    aescbc: tuple[Key, ...] | None = None
    secretbox: tuple[Key, ...] | None = None
    identity: bool = False
    kms: Kms | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """Resources and how they are stored.

    Args:
        resources: ``secrets``, ``deployments.apps``, ``*.``, ``*.apps`` or ``*.*``.
        providers: the first writes, all read.
    """

    resources: tuple[str, ...]
    providers: tuple[Provider, ...]


@dataclass(frozen=True, slots=True)
class EncryptionConfig:
    """What a file says.

    Args:
        rules: in order.
        digest: of the file, as metrics show it.
    """

    rules: tuple[Rule, ...]
    digest: str


# Structs of Go by name: members by the name in JSON, with their types as Go prints them.
_STRUCTS: Final[Mapping[str, Mapping[str, str]]] = {
    "EncryptionConfiguration": {
        "kind": "string",
        "apiVersion": "string",
        "resources": "[]v1.ResourceConfiguration",
    },
    "ResourceConfiguration": {
        "resources": "[]string",
        "providers": "[]v1.ProviderConfiguration",
    },
    "ProviderConfiguration": {
        "aesgcm": "v1.AESConfiguration",
        "aescbc": "v1.AESConfiguration",
        "secretbox": "v1.SecretboxConfiguration",
        "identity": "v1.IdentityConfiguration",
        "kms": "v1.KMSConfiguration",
    },
    "AESConfiguration": {"keys": "[]v1.Key"},
    "SecretboxConfiguration": {"keys": "[]v1.Key"},
    "IdentityConfiguration": {},
    "Key": {"name": "string", "secret": "string"},
    "KMSConfiguration": {
        "apiVersion": "string",
        "name": "string",
        "cachesize": "int32",
        "endpoint": "string",
        "timeout": "string",
    },
}


class _Reader:
    """Checks a JSON value against the structs; collects members that they do not have."""

    def __init__(self) -> None:
        self.unknown: list[str] = []

    def struct(self, value: Any, name: str, path: str, go_path: str) -> None:
        """An object; raises `EncryptionConfigError` where a member has the wrong type."""
        members = _STRUCTS[name]
        for member, inner in value.items():
            below = f"{path}.{member}" if path else member
            if member not in members:
                self.unknown.append(f"unknown field {quote(below)}")
            elif inner is not None:
                where = f"{go_path}.{member}" if go_path else member
                self._value(inner, members[member], name, below, where)

    def _value(self, value: Any, go_type: str, struct: str, path: str, go_path: str) -> None:
        if go_type.startswith("[]") and isinstance(value, list):
            for place, item in enumerate(value):
                if item is not None:
                    self._value(item, go_type[2:], struct, f"{path}[{place}]", go_path)
        elif go_type.startswith("v1.") and isinstance(value, dict):
            self.struct(value, go_type[3:], path, go_path)
        elif not _fits(value, go_type):
            raise EncryptionConfigError(
                f"json: cannot unmarshal {_json_type(value)} into Go struct field "
                f"{struct}.{go_path} of type {go_type}"
            )


def _fits(value: Any, go_type: str) -> bool:
    if go_type == "int32":
        return type(value) is int and -(2**31) <= value < 2**31
    return go_type == "string" and isinstance(value, str)


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    return "object" if isinstance(value, dict) else "number"


def load(path: Path) -> EncryptionConfig:
    """Read a file; what it says is not validated yet.

    Raises:
        EncryptionConfigError: it cannot be read, or not understood.
    """
    shown = quote(str(path))
    reading = (
        f"error while loading file: error reading encryption provider configuration file {shown}"
    )
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise EncryptionConfigError(f"{reading}: open {path}: {why}") from error
    if len(data) > MAX_FILE_BYTES:
        raise EncryptionConfigError(f"{reading}: it is larger than {MAX_FILE_BYTES} bytes")
    if not data:
        raise EncryptionConfigError(
            f"error while loading file: encryption provider configuration file {shown} is empty"
        )
    try:
        rules = decode(data)
    except EncryptionConfigError as error:
        raise EncryptionConfigError(
            f"error decoding encryption provider configuration file {shown}: {error}"
        ) from error
    except _OtherKindError as error:
        raise EncryptionConfigError(str(error)) from error
    return EncryptionConfig(rules, f"sha256:{hashlib.sha256(data).hexdigest()}")


class _OtherKindError(Exception):
    """A file of another purpose, well-formed perhaps."""


def decode(data: bytes) -> tuple[Rule, ...]:
    """What a file says.

    Raises:
        EncryptionConfigError: it is malformed, or says what there is not.
    """
    try:
        document = yamlwire.decode(data)
    except yamlwire.YamlError as error:
        raise EncryptionConfigError(str(error)) from error
    value = document.value
    if not isinstance(value, dict | None):
        raise EncryptionConfigError(
            f"couldn't get version/kind; json parse error: json: cannot unmarshal "
            f"{_json_type(value)} into Go value of type struct {{ APIVersion string "
            '"json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
        )
    value = value or {}
    _check_kind(value, data)
    reader = _Reader()
    reader.struct(value, "EncryptionConfiguration", "", "")
    rules = tuple(_rule(item or {}) for item in value.get("resources") or ())
    strict = [*filter(None, [document.strict_error]), *reader.unknown]
    if strict:
        raise EncryptionConfigError(f"strict decoding error: {', '.join(strict)}")
    return rules


def _check_kind(value: Mapping[str, Any], data: bytes) -> None:
    kind, version = value.get("kind") or "", value.get("apiVersion") or ""
    text = data.decode("utf-8", "replace")
    for name, said in (("Kind", kind), ("apiVersion", version)):
        if not isinstance(said, str):
            raise EncryptionConfigError(
                f"couldn't get version/kind; json parse error: json: cannot unmarshal "
                f"{_json_type(said)} into Go struct field .{name[0].lower()}{name[1:]} "
                "of type string"
            )
        if not said:
            raise EncryptionConfigError(f"Object '{name}' is missing in '{text}'")
    if (version, kind) in ((API_VERSION, "EncryptionConfiguration"), ("v1", "EncryptionConfig")):
        return
    if version == API_VERSION and kind in OTHERS:
        raise _OtherKindError(f"got unexpected config type: {version}, Kind={kind}")
    # The scheme is named after the line of Go that makes it.
    raise EncryptionConfigError(
        f"no kind {quote(kind)} is registered for version {quote(version)} in scheme "
        '"k8s.io/apiserver/pkg/server/options/encryptionconfig/config.go:142"'
    )


def _rule(value: Mapping[str, Any]) -> Rule:
    return Rule(
        tuple(item or "" for item in value.get("resources") or ()),
        tuple(_provider(item or {}) for item in value.get("providers") or ()),
    )


def _provider(value: Mapping[str, Any]) -> Provider:
    kms = value.get("kms")
    return Provider(
        aesgcm=_keys(value.get("aesgcm")),
        aescbc=_keys(value.get("aescbc")),
        secretbox=_keys(value.get("secretbox")),
        identity=value.get("identity") is not None,
        kms=None if kms is None else _kms(kms),
    )


def _keys(value: Mapping[str, Any] | None) -> tuple[Key, ...] | None:
    if value is None:
        return None
    items: Sequence[Mapping[str, Any] | None] = value.get("keys") or ()
    return tuple(
        Key((item or {}).get("name") or "", (item or {}).get("secret") or "") for item in items
    )


def _kms(value: Mapping[str, Any]) -> Kms:
    timeout = value.get("timeout") or "3s"
    try:
        timeout_s = parse_duration(timeout)
    except ValueError as error:
        raise EncryptionConfigError(str(error)) from error
    return Kms(
        api_version=value.get("apiVersion") or "v1",
        name=value.get("name") or "",
        cache_size=value.get("cachesize"),
        endpoint=value.get("endpoint") or "",
        timeout_s=timeout_s,
        timeout=timeout,
    )
