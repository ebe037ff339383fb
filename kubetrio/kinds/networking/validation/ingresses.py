"""Ingresses: hosts, paths, backends and certificates.

Source: "Ingress" in the Kubernetes documentation; KEP-5311 for names of services.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubetrio.kinds.common.addresses import ip_check, ip_warnings, parse_ip
from kubetrio.kinds.common.checks import (
    Causes,
    Json,
    Validation,
    matches,
    member,
    row,
    table,
)
from kubetrio.kinds.common.formats import max_length, port_name
from kubetrio.machinery.fielderrors import invalid, not_supported, required
from kubetrio.machinery.names_validation import (
    dns1123_label,
    dns1123_subdomain,
    path_segment,
)

_CLASS_ANNOTATION = "kubernetes.io/ingress.class"
_FORBIDDEN = ("//", "/./", "/../", "%2f", "%2F")
_ENDINGS = ("/..", "/.")
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_NOT_AN_ADDRESS = "must be a DNS name, not an IP address"
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_WILDCARD = rf"\*\.{_SUBDOMAIN}"
_wildcard_re = re.compile(_WILDCARD)


def wildcard_subdomain(text: str) -> Sequence[str]:
    """Messages about a DNS subdomain that starts with a wildcard label.

    Args:
        text: the text to check.
    """
    messages = [*max_length(text, 253)]
    if not _wildcard_re.fullmatch(text):
        messages.append(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS "
            "subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and "
            "end with an alphanumeric character (e.g. '*.example.com', regex used for validation "
            f"is '{_WILDCARD}')"
        )
    return messages


def _host(text: str) -> Sequence[str]:
    return wildcard_subdomain(text) if "*" in text else dns1123_subdomain(text)


# --- backends ---

_REFERENCE = table(
    row("apiGroup", matches(dns1123_subdomain)),
    row("kind", matches(path_segment), missing=""),
    row("name", matches(path_segment), missing=""),
)
_SERVICE_NAME = table(row("name", matches(dns1123_label), missing=""))


def _backend(backend: Mapping[str, Any], path: str, out: Causes) -> None:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        out.append(invalid(path, "", "cannot set both resource and service backends"))
    elif resource is not None:
        _REFERENCE(resource, f"{path}.resource", out)
    elif service is not None:
        _SERVICE_NAME(service, f"{path}.service", out)
        _service_port(member(service, "port"), path, out)
    else:
        out.append(invalid(path, "", "resource or service backend is required"))


def _service_port(port: Mapping[str, Any], path: str, out: Causes) -> None:
    name, number = port.get("name") or "", port.get("number") or 0
    if name and number:
        out.append(invalid(path, "", "cannot set both port name & port number"))
    elif name:
        where = f"{path}.service.port.name"
        out.extend(invalid(where, name, text) for text in port_name(name))
    elif not number:
        out.append(required(path, "port name or number is required"))
    elif not 1 <= number <= 65535:
        detail = "must be between 1 and 65535, inclusive"
        out.append(invalid(f"{path}.service.port.number", number, detail))


# --- rules ---


def _path_text(text: str, path: str, out: Causes) -> None:
    for part in _FORBIDDEN:
        if part in text:
            out.append(invalid(path, text, f"must not contain '{part}'"))
    for ending in _ENDINGS:
        if text.endswith(ending):
            out.append(invalid(path, text, f"cannot end with '{ending}'"))


def _http_path(item: Mapping[str, Any], path: str, out: Causes) -> None:
    kind, text = item.get("pathType"), item.get("path") or ""
    if kind is None:
        out.append(required(f"{path}.pathType", "pathType must be specified"))
        return
    where = f"{path}.path"
    if kind not in _PATH_TYPES:
        out.append(not_supported(f"{path}.pathType", kind, _PATH_TYPES))
    elif kind == "ImplementationSpecific":
        if text and not text.startswith("/"):
            out.append(invalid(where, text, "must be an absolute path"))
    else:
        if not text.startswith("/"):
            out.append(invalid(where, text, "must be an absolute path"))
        _path_text(text, where, out)
    _backend(member(item, "backend"), f"{path}.backend", out)


def _rule_value(rule: Mapping[str, Any], path: str, out: Causes) -> None:
    http = rule.get("http")
    if http is None:
        return
    paths = http.get("paths") or ()
    if not paths:
        out.append(required(f"{path}.http.paths"))
    for index, item in enumerate(paths):
        _http_path(item, f"{path}.http.paths[{index}]", out)


def _rule(rule: Mapping[str, Any], path: str, out: Causes, *, any_wildcard: bool) -> None:
    host = rule.get("host") or ""
    if host:
        if parse_ip(host) is not None:
            out.append(invalid(f"{path}.host", host, _NOT_AN_ADDRESS))
        out.extend(invalid(f"{path}.host", host, text) for text in _host(host))
    if "*" not in host or not any_wildcard:
        _rule_value(rule, path, out)


def _tls(item: Mapping[str, Any], path: str, out: Causes, *, any_secret: bool) -> None:
    for index, host in enumerate(item.get("hosts") or ()):
        out.extend(invalid(f"{path}.hosts[{index}]", host, text) for text in _host(host))
    secret = item.get("secretName")
    if secret and not any_secret:
        where = f"{path}.secretName"
        out.extend(invalid(where, secret, text) for text in dns1123_subdomain(secret))


# --- the whole ---


def _spec(
    spec: Mapping[str, Any], out: Causes, *, any_secret: bool = False, any_wildcard: bool = False
) -> None:
    rules, default = spec.get("rules") or (), spec.get("defaultBackend")
    if not rules and default is None:
        detail = "either `defaultBackend` or `rules` must be specified"
        out.append(invalid("spec", None, detail))
    if default is not None:
        _backend(default, "spec.defaultBackend", out)
    for index, rule in enumerate(rules):
        _rule(rule, f"spec.rules[{index}]", out, any_wildcard=any_wildcard)
    for index, item in enumerate(spec.get("tls") or ()):
        _tls(item, f"spec.tls[{index}]", out, any_secret=any_secret)
    name = spec.get("ingressClassName")
    if name is not None:
        where = "spec.ingressClassName"
        out.extend(invalid(where, name, text) for text in dns1123_subdomain(name))


def _create(obj: Mapping[str, Any], _: str, out: Causes) -> None:
    spec = member(obj, "spec")
    _spec(spec, out)
    annotation = (obj["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION)
    name = spec.get("ingressClassName")
    if annotation is not None and name is not None and annotation != name:
        detail = "must match `ingressClassName` when both are specified"
        out.append(invalid(f"annotations.{_CLASS_ANNOTATION}", annotation, detail))


def _update(new: Json, old: Json, out: Causes) -> None:
    stored = member(old, "spec")
    secrets = [item.get("secretName") or "" for item in stored.get("tls") or ()]
    broken: Causes = []
    for rule in stored.get("rules") or ():
        if "*" in (rule.get("host") or ""):
            _rule_value(rule, "", broken)
    _spec(
        member(new, "spec"),
        out,
        any_secret=any(secret and dns1123_subdomain(secret) for secret in secrets),
        any_wildcard=bool(broken),
    )


def _entries(ingress: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
    items = member(member(ingress, "status"), "loadBalancer").get("ingress") or ()
    for index, item in enumerate(items):
        yield f"status.loadBalancer.ingress[{index}]", item


def _status(new: Json, old: Json, out: Causes) -> None:
    check = ip_check({item.get("ip") or "" for _, item in _entries(old)})
    for path, item in _entries(new):
        if address := item.get("ip"):
            check(address, f"{path}.ip", out)
        if host := item.get("hostname"):
            where = f"{path}.hostname"
            out.extend(invalid(where, host, text) for text in dns1123_subdomain(host))
            if parse_ip(host) is not None:
                out.append(invalid(where, host, _NOT_AN_ADDRESS))


def _warnings(new: Json, old: Json | None) -> list[str]:
    if old is None:
        annotated = _CLASS_ANNOTATION in (new["metadata"].get("annotations") or {})
        if annotated and member(new, "spec").get("ingressClassName") is None:
            return [
                (
                    f'annotation "{_CLASS_ANNOTATION}" is deprecated, please use '
                    "'spec.ingressClassName' instead"
                )
            ]
        return []
    stored = {item.get("ip") for _, item in _entries(old)}
    warnings: list[str] = []
    for path, item in _entries(new):
        address = item.get("ip")
        if address and address not in stored:
            warnings += ip_warnings(address, f"{path}.ip")
    return warnings


INGRESSES = Validation(
    create=_create,
    update=_update,
    revalidate=False,
    subresources={"status": _status},
    warnings=_warnings,
)
"""The rules of ``ingresses``."""
