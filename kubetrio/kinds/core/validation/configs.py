"""ConfigMaps and Secrets.

Source: "ConfigMaps" and "Secrets" in the Kubernetes documentation.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping

from kubetrio.kinds.common.checks import (
    IMMUTABLE,
    Causes,
    Json,
    UpdateCheck,
    Validation,
    is_missing,
    member,
)
from kubetrio.kinds.common.formats import config_key
from kubetrio.kinds.common.keypairs import pair_problem
from kubetrio.machinery.fielderrors import Named, forbidden, invalid, required, too_long
from kubetrio.machinery.names_validation import byte_length
from kubetrio.wire.gojson import GoJsonError, parse

_MAX_BYTES = 1 << 20
_REDACTED = "<secret contents redacted>"
_ACCOUNT = "kubernetes.io/service-account.name"
_WHEN_SET = "field is immutable when `immutable` is set"


def _decoded_length(text: str | None) -> int:
    """Bytes of a base64 text, which is canonical; a null has none."""
    return len(text) // 4 * 3 - text.count("=", -2) if text else 0


def _keys(items: Mapping[str, str], path: str, out: Causes) -> None:
    for key in items:
        if messages := config_key(key):
            out.extend(invalid(f"{path}[{key}]", key, message) for message in messages)


def _config_map(obj: Json, _path: str, out: Causes) -> None:
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    size = 0
    if data:
        _keys(data, "data", out)
        size = byte_length("".join(data.values()))
    if binary:
        for key in data.keys() & binary.keys():
            detail = "duplicate of key present in binaryData"
            out.append(invalid(f"data[{key}]", key, detail))
        _keys(binary, "binaryData", out)
        size += sum(map(_decoded_length, binary.values()))
    if size > _MAX_BYTES:
        # upstream names the whole object by an empty path
        out.append(too_long("[]", _MAX_BYTES))


def _unchanging(*names: str) -> UpdateCheck:
    """A check that an immutable object keeps its contents and stays immutable."""

    def run(new: Json, old: Json, out: Causes) -> None:
        if not old.get("immutable"):
            return
        if not new.get("immutable"):
            out.append(forbidden("immutable", _WHEN_SET))
        for name in names:
            mine, theirs = new.get(name), old.get(name)
            if mine != theirs and not (is_missing(mine) and is_missing(theirs)):
                out.append(forbidden(name, _WHEN_SET))

    return run


# --- secrets ---


def _docker(key: str) -> Callable[[Json, Causes], None]:
    def run(secret: Json, out: Causes) -> None:
        data, path = member(secret, "data"), f"data[{key}]"
        if key not in data:
            out.append(required(path))
            return
        try:
            value = parse(base64.b64decode(data[key] or "")).value
        except GoJsonError as error:
            out.append(invalid(path, _REDACTED, str(error)))
            return
        if value is not None and not isinstance(value, dict):
            kinds: dict[type, str] = {bool: "bool", str: "string", list: "array"}
            kind = kinds.get(type(value), "number")
            detail = (
                f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
            )
            out.append(invalid(path, _REDACTED, detail))

    return run


def _account_token(secret: Json, out: Causes) -> None:
    notes = member(member(secret, "metadata"), "annotations")
    if not notes.get(_ACCOUNT):
        out.append(required(f"metadata.annotations[{_ACCOUNT}]"))


def _basic_auth(secret: Json, out: Causes) -> None:
    data = member(secret, "data")
    if "username" not in data and "password" not in data:
        out.append(required("data[username]"))
        out.append(required("data[password]"))


def _ssh(secret: Json, out: Causes) -> None:
    if not member(secret, "data").get("ssh-privatekey"):
        out.append(required("data[ssh-privatekey]"))


def _tls(secret: Json, out: Causes) -> None:
    data = member(secret, "data")
    out.extend(required(f"data[{key}]") for key in ("tls.crt", "tls.key") if key not in data)


_BY_TYPE: Mapping[str, Callable[[Json, Causes], None]] = {
    "kubernetes.io/service-account-token": _account_token,
    "kubernetes.io/dockercfg": _docker(".dockercfg"),
    "kubernetes.io/dockerconfigjson": _docker(".dockerconfigjson"),
    "kubernetes.io/basic-auth": _basic_auth,
    "kubernetes.io/ssh-auth": _ssh,
    "kubernetes.io/tls": _tls,
}


def _secret(secret: Json, _path: str, out: Causes) -> None:
    data = secret.get("data") or {}
    _keys(data, "data", out)
    if sum(map(_decoded_length, data.values())) > _MAX_BYTES:
        out.append(too_long("data", _MAX_BYTES))
    check = _BY_TYPE.get(secret.get("type") or "")
    if check is not None:
        check(secret, out)


def _secret_update(new: Json, old: Json, out: Causes) -> None:
    kind = new.get("type") or ""
    if kind != (old.get("type") or ""):
        out.append(invalid("type", Named(kind), IMMUTABLE))
    _SECRET_CONTENTS(new, old, out)


_SECRET_CONTENTS = _unchanging("data")


def _secret_warnings(secret: Json, _: Json | None) -> list[str]:
    if secret.get("type") != "kubernetes.io/tls":
        return []
    data = member(secret, "data")
    certificate, key = (base64.b64decode(data.get(name) or "") for name in ("tls.crt", "tls.key"))
    problem = pair_problem(certificate, key)
    return [problem] if problem else []


CONFIG_MAPS = Validation(
    create=_config_map, update=_unchanging("data", "binaryData"), checked_last=True
)
"""The rules of ConfigMaps."""
SECRETS = Validation(
    create=_secret, update=_secret_update, checked_last=True, warnings=_secret_warnings
)
"""The rules of Secrets."""
