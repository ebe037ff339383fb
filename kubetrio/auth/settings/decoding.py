"""AuthorizationConfiguration: a file to values, with kube-apiserver's strictness and words.

Source: docs "kube-apiserver Authorization Configuration" (v1, v1beta1, v1alpha1).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kubetrio.gotext.durations import parse_duration
from kubetrio.machinery.fielderrors import quote
from kubetrio.wire.gojson import type_word
from kubetrio.wire.yamlwire import YamlError, decode

Object = dict[str, Any]

GROUP = "apiserver.config.k8s.io"
KIND = "AuthorizationConfiguration"
VERSIONS = ("v1", "v1beta1", "v1alpha1")
_SCHEME = "k8s.io/apiserver/pkg/apis/apiserver/load/load.go:32"
_VALUE = (
    r'struct { APIVersion string "json:\"apiVersion,omitempty\""; '
    r'Kind string "json:\"kind,omitempty\"" }'
)
DURATION = "duration"

_CONNECTION = {"type": str, "kubeConfigFile": str}
_CONDITION = {"expression": str}
_WEBHOOK = {
    "authorizedTTL": DURATION,
    "cacheAuthorizedRequests": bool,
    "unauthorizedTTL": DURATION,
    "cacheUnauthorizedRequests": bool,
    "timeout": DURATION,
    "subjectAccessReviewVersion": str,
    "matchConditionSubjectAccessReviewVersion": str,
    "failurePolicy": str,
    "connectionInfo": ("WebhookConnectionInfo", _CONNECTION),
    "matchConditions": ["WebhookMatchCondition", _CONDITION],
}
_AUTHORIZER = {"type": str, "name": str, "webhook": ("WebhookConfiguration", _WEBHOOK)}
_CONFIGURATION = {
    "kind": str,
    "apiVersion": str,
    "authorizers": ["AuthorizerConfiguration", _AUTHORIZER],
}
_INDEX = re.compile(r"\[[0-9]+\]")
_GO = {str: "string", bool: "bool"}


class ConfigurationError(ValueError):
    """A configuration cannot be used; the text is for the terminal."""


def decoded(data: bytes) -> Object:
    """The members of a configuration, of the right types; durations are seconds.

    Args:
        data: YAML or JSON; nothing is an empty configuration.

    Raises:
        ConfigurationError: it is none.
    """
    if not data:
        return {}
    try:
        return _decoded(data)
    except (ValueError, YamlError) as error:
        text = f"failed to load {KIND} from file: {error}"
        raise ConfigurationError(text) from error


def _decoded(data: bytes) -> Object:
    document = decode(data)
    value = document.value
    if not isinstance(value, dict):
        why = f"json: cannot unmarshal {type_word(value)} into Go value of type {_VALUE}"
        raise ValueError(f"couldn't get version/kind; json parse error: {why}")
    _known(value, data)
    unknown: list[str] = []
    configuration = _struct(value, _CONFIGURATION, KIND, "", unknown)
    strict = [document.strict_error] if document.duplicates else []
    strict += [f"unknown field {quote(name)}" for name in sorted(unknown)]
    if strict:
        raise ValueError(f"strict decoding error: {', '.join(strict)}")
    return configuration


def _known(value: Mapping[str, Any], data: bytes) -> None:
    """Check what it says it is.

    Raises:
        ValueError: it is something else.
    """
    version, kind = value.get("apiVersion") or "", value.get("kind") or ""
    for name, member in (("kind", kind), ("apiVersion", version)):
        if not member:
            raise ValueError(f"Object '{name}' is missing in '{data.decode('utf-8', 'replace')}'")
    group, _, number = str(version).partition("/")
    if group == GROUP and number in VERSIONS:
        if kind == KIND:
            return
        raise ValueError(f"expected {KIND}, got *apiserver.{kind}")
    raise ValueError(
        f"no kind {quote(str(kind))} is registered for version {quote(str(version))} "
        f'in scheme "{_SCHEME}"'
    )


def _struct(
    value: Any, members: Mapping[str, Any], struct: str, path: str, unknown: list[str]
) -> Object:
    result: Object = {}
    for name, member in value.items():
        below = f"{path}.{name}" if path else name
        shape = members.get(name)
        if shape is None:
            unknown.append(below)
        elif member is not None:
            result[name] = _member(
                member, shape, f"{struct}.{_INDEX.sub('', below)}", below, unknown
            )
    return result


def _member(value: Any, wanted: Any, where: str, path: str, unknown: list[str]) -> Any:
    if wanted == DURATION:
        if not isinstance(value, str):
            raise ValueError(
                f"json: cannot unmarshal {type_word(value)} into Go value of type string"
            )
        return parse_duration(value)
    if isinstance(wanted, list):
        name, members = wanted
        if not isinstance(value, list):
            raise _wrong(value, where, f"[]v1.{name}")
        return [
            _member(item, (name, members), where, f"{path}[{at}]", unknown)
            for at, item in enumerate(value)
        ]
    if isinstance(wanted, tuple):
        name, members = wanted
        if not isinstance(value, dict):
            raise _wrong(value, where, f"v1.{name}")
        return _struct(value, members, name, path, unknown)
    if type(value) is not wanted:
        raise _wrong(value, where, _GO[wanted])
    return value


def _wrong(value: Any, where: str, go_type: str) -> ValueError:
    word = type_word(value)
    return ValueError(
        f"json: cannot unmarshal {word} into Go struct field {where} of type {go_type}"
    )
