"""Checks shared by kinds outside the core groups: conditions, domains, webhook clients, printing.

Source: "Typical status properties" in the Kubernetes API conventions; "Dynamic Admission Control"
in the Kubernetes documentation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubetrio.gotext.urls import GoURLError, parse_url
from kubetrio.kinds.common.checks import Causes, Check, Json, Messages
from kubetrio.kinds.common.formats import PORT_NUMBER
from kubetrio.kinds.common.selectors import label_name
from kubetrio.machinery.fielderrors import duplicate, invalid, not_supported, required, too_long
from kubetrio.machinery.names_validation import byte_length, dns1123_label, dns1123_subdomain

STATUSES = ("False", "True", "Unknown")
"""What the status of a condition may be."""

_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_reason_re = re.compile(_REASON)
_REASON_MESSAGE = (
    "a condition reason must start with alphabetic character, optionally followed by a string of "
    "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. "
    "'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex "
    f"used for validation is '{_REASON}')"
)
_REASON_MAX = 1024
_MESSAGE_MAX = 32 * 1024
_URL_FORM = "; desired format: https://host[/path]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A CEL expression that must compile.

    Args:
        text: the expression.
        purpose: what it is for: ``matchCondition``, ``validation``, ``message``,
            ``auditAnnotation``, ``variable``, ``jsonPatch``, ``applyConfiguration`` or ``device``.
        params: whether ``params`` may be used.
        authorizer: whether ``authorizer`` may be used.
        variables: names and expressions of the variables declared before it.
        stored: whether the stored object has it already.
    """

    text: str
    purpose: str
    params: bool = False
    authorizer: bool = True
    variables: tuple[tuple[str, str], ...] = ()
    stored: bool = False


Compile = Callable[[Expression], Sequence[str]]
"""A compiler: what is wrong with an expression."""


def compiled(
    compiler: Compile, expression: Expression, path: str, out: Causes, shown: str = ""
) -> None:
    """Check that an expression compiles.

    Args:
        compiler: the compiler.
        expression: the expression.
        path: path of the field.
        out: receives causes.
        shown: what to print when it is not the text of the expression.
    """
    out.extend(invalid(path, shown or expression.text, text) for text in compiler(expression))


def joined(messages: Messages, intro: str = "") -> Check:
    """A check of a text by its format, all messages in one cause.

    Args:
        messages: the format.
        intro: what stands before the messages.
    """

    def check(value: str, path: str, out: Causes) -> None:
        if texts := messages(value):
            out.append(invalid(path, value, intro + ",".join(texts)))

    return check


def shorter(limit: int) -> Check:
    """A check of the length of a text: "Too long" over the limit.

    Args:
        limit: bytes allowed.
    """

    def check(value: str, path: str, out: Causes) -> None:
        if byte_length(value) > limit:
            out.append(too_long(path, limit))

    return check


def conditions(items: Sequence[Json], path: str, out: Causes) -> None:
    """Check a list of ``metav1.Condition``.

    Args:
        items: the conditions.
        path: path of the list.
        out: receives causes.
    """
    seen: set[str] = set()
    for index, item in enumerate(items):
        where = f"{path}[{index}]"
        kind = item.get("type") or ""
        if kind in seen:
            out.append(duplicate(f"{where}.type", kind))
        seen.add(kind)
        _condition(item, where, out)


def _condition(item: Json, path: str, out: Causes) -> None:
    label_name(item.get("type") or "", f"{path}.type", out)
    if item.get("status") not in STATUSES:
        out.append(not_supported(f"{path}.status", item.get("status") or "", STATUSES))
    generation = item.get("observedGeneration") or 0
    if generation < 0:
        detail = "must be greater than or equal to zero"
        out.append(invalid(f"{path}.observedGeneration", generation, detail))
    if not item.get("lastTransitionTime"):
        out.append(required(f"{path}.lastTransitionTime"))
    reason = item.get("reason") or ""
    if not reason:
        out.append(required(f"{path}.reason"))
    else:
        if not _reason_re.fullmatch(reason):
            out.append(invalid(f"{path}.reason", reason, _REASON_MESSAGE))
        if byte_length(reason) > _REASON_MAX:
            out.append(too_long(f"{path}.reason", _REASON_MAX))
    if byte_length(item.get("message") or "") > _MESSAGE_MAX:
        out.append(too_long(f"{path}.message", _MESSAGE_MAX))


def typed_conditions(items: Sequence[Json], path: str, out: Causes) -> None:
    """Check conditions of which only the type matters: present and once.

    Args:
        items: the conditions.
        path: path of the list.
        out: receives causes.
    """
    seen: set[str] = set()
    for index, item in enumerate(items):
        kind = item.get("type") or ""
        if kind in seen:
            out.append(duplicate(f"{path}[{index}].type", kind))
        seen.add(kind)
        if not kind:
            out.append(required(f"{path}[{index}].type", "must not be empty"))


def qualified_domain(value: str, path: str, out: Causes) -> None:
    """Check a domain of at least three segments, such as names of webhooks.

    Args:
        value: the domain.
        path: path of the field.
        out: receives causes.
    """
    if not value:
        out.append(required(path))
    elif messages := dns1123_subdomain(value):
        out.append(invalid(path, value, ",".join(messages)))
    elif value.count(".") < 2:
        detail = "should be a domain with at least three segments separated by dots"
        out.append(invalid(path, value, detail))


def fully_qualified_domain(value: str, path: str, out: Causes) -> None:
    """Check a domain of at least two segments that may end with a dot.

    Args:
        value: the domain.
        path: path of the field.
        out: receives causes.
    """
    if not value:
        out.append(required(path))
        return
    name = value.removesuffix(".")
    if messages := dns1123_subdomain(name):
        out.append(invalid(path, name, ",".join(messages)))
        return
    if "." not in name:
        detail = "should be a domain with at least two segments separated by dots"
        out.append(invalid(path, name, detail))
        return
    for label in name.split("."):
        if messages := dns1123_label(label):
            out.append(invalid(path, label, ",".join(messages)))


def driver_name(value: str, path: str, out: Causes) -> None:
    """Check the name of a CSI or DRA driver; nothing more is said of a missing one.

    Args:
        value: the name.
        path: path of the field.
        out: receives causes.
    """
    if not value:
        out.append(required(path))
        return
    if byte_length(value) > 63:
        out.append(too_long(path, 63))
    out.extend(invalid(path, value, text) for text in dns1123_subdomain(value.lower()))


def sole_wildcard(values: Sequence[str], others: str) -> Check:
    """A check that ``*`` stands alone in a list.

    Args:
        values: texts that count as wildcards.
        others: what must not stand beside it.
    """

    def check(items: Sequence[str], path: str, out: Causes) -> None:
        if len(items) > 1 and any(value in items for value in values):
            detail = f"if '{values[0]}' is present, must not specify other {others}"
            out.append(invalid(path, items, detail))

    return check


# --- clients of webhooks ---


def webhook_client(client: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check where a webhook is.

    Args:
        client: with ``url`` or ``service``.
        path: path of the client configuration.
        out: receives causes.
    """
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        out.append(required(path, "exactly one of url or service is required"))
    elif url is not None:
        _webhook_url(url, f"{path}.url", out)
    elif service is not None:
        _webhook_service(service, f"{path}.service", out)


def _webhook_url(url: str, path: str, out: Causes) -> None:
    try:
        parts = parse_url(url)
    except GoURLError as error:
        out.append(required(path, f"url must be a valid URL: {error}{_URL_FORM}"))
        return
    if parts.scheme != "https":
        detail = f"'https' is the only allowed URL scheme{_URL_FORM}"
        out.append(invalid(path, parts.scheme, detail))
    if not parts.host:
        out.append(invalid(path, "", f"host must be specified{_URL_FORM}"))
    if parts.user is not None:
        detail = "user information is not permitted in the URL"
        out.append(invalid(path, parts.user, detail))
    if parts.fragment:
        out.append(invalid(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        out.append(invalid(path, parts.query, "query parameters are not permitted in the URL"))


def _webhook_service(service: Mapping[str, Any], path: str, out: Causes) -> None:
    # kube-apiserver passes the two in the wrong order: a missing name is told of the namespace
    if not service.get("namespace"):
        out.append(required(f"{path}.name"))
    if not service.get("name"):
        out.append(required(f"{path}.namespace"))
    port = service.get("port")
    if port is not None and not 1 <= port <= 65535:
        out.append(invalid(f"{path}.port", port, f"port is not valid: {PORT_NUMBER}"))
    url_path = service.get("path") or "/"
    if url_path != "/":
        _webhook_path(url_path, f"{path}.path", out)


def _webhook_path(url_path: str, path: str, out: Causes) -> None:
    if url_path == "//":
        out.append(invalid(path, url_path, "segment[0] may not be empty"))
        return
    if not url_path.startswith("/"):
        out.append(invalid(path, url_path, "must start with a '/'"))
    for index, step in enumerate(url_path[1:].removesuffix("/").split("/")):
        if not step:
            out.append(invalid(path, url_path, f"segment[{index}] may not be empty"))
            continue
        for message in dns1123_subdomain(step):
            out.append(invalid(path, url_path, f"segment[{index}]: {message}"))
