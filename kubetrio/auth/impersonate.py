"""Acting as somebody else: who is asked for, whether one may, and who it is then.

Source: docs "User impersonation", and KEP-5284, whose modes name the verbs in refusals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from urllib.parse import unquote

from kubetrio.auth.authorize import forbidden
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.identity import (
    ANONYMOUS,
    AUTHENTICATED,
    MASTERS,
    UNAUTHENTICATED,
    Attributes,
    UserInfo,
)
from kubetrio.machinery.names_validation import dns1123_label, dns1123_subdomain
from kubetrio.machinery.status import ApiError, bad_request
from kubetrio.schema.wellknown import SERVICE_ACCOUNTS

PREFIX = b"impersonate-"
EXTRA = b"impersonate-extra-"
ORDINARY = frozenset(
    {
        b"host", b"user-agent", b"accept", b"accept-encoding", b"accept-language", b"audit-id",
        b"authorization", b"cache-control", b"connection", b"content-length", b"content-type",
        b"kubectl-command", b"kubectl-session", b"transfer-encoding", b"x-request-id",
    }
)  # fmt: skip
"""Headers of nearly all requests: who sends no others acts for himself."""

SERVICE_ACCOUNT = "system:serviceaccount:"
NODE = "system:node:"


def wanted_user(headers: Iterable[tuple[bytes, bytes]]) -> UserInfo | None:
    """Who a request wants to be, as its headers have it; None for whom it is from.

    Args:
        headers: lower-case names and values, in order.

    Raises:
        ApiError: 400, everything but a name is given.
    """
    name, uid = "", ""
    groups: list[str] = []
    extra: dict[str, tuple[str, ...]] = {}
    for key, value in headers:
        if not key.startswith(PREFIX):
            continue
        text = value.decode("latin-1")
        if key == b"impersonate-user":
            name = name or text
        elif key == b"impersonate-uid":
            uid = uid or text
        elif key == b"impersonate-group":
            groups.append(text)
        elif key.startswith(EXTRA):
            label = unquote(key.removeprefix(EXTRA).decode("latin-1"))
            extra[label] = (*extra.get(label, ()), text)
    if name:
        return UserInfo(name, uid, tuple(groups), extra)
    if not (uid or groups or extra):
        return None
    raise bad_request(
        f'requested &user.DefaultInfo{{Name:"", UID:{quote(uid)}, Groups:{_texts(groups)}, '
        f"Extra:{_map(extra)}}} without impersonating a user name"
    )


def _texts(values: Sequence[str]) -> str:
    return f"[]string{{{', '.join(map(quote, values))}}}" if values else "[]string(nil)"


def _map(values: Mapping[str, Sequence[str]]) -> str:
    if not values:
        return "map[string][]string(nil)"
    items = (
        f"{quote(key)}:[]string{{{', '.join(map(quote, values[key]))}}}" for key in sorted(values)
    )
    return f"map[string][]string{{{', '.join(items)}}}"


def impersonated(wanted: UserInfo, attributes: Attributes) -> UserInfo:
    """The user that a request is from then on.

    Args:
        wanted: as its headers have it.
        attributes: of the request, with who sent it.

    Raises:
        ApiError: 403, who sent it may not be somebody else.
    """
    account = service_account(wanted.name)
    node = is_node(wanted.name)
    only_name = not (wanted.uid or wanted.groups or wanted.extra)
    if MASTERS not in attributes.user.groups:  # nobody else may yet
        raise _refusal(wanted, attributes, account, node=node, only_name=only_name)
    groups = wanted.groups
    if account is not None and not groups:
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{account[0]}")
    elif node and only_name:
        groups = ("system:nodes",)
    if wanted.name == ANONYMOUS.name:
        if UNAUTHENTICATED not in groups:
            groups = (*groups, UNAUTHENTICATED)
    elif AUTHENTICATED not in groups and UNAUTHENTICATED not in groups:
        groups = (*groups, AUTHENTICATED)
    return replace(wanted, groups=groups)


def _refusal(
    wanted: UserInfo,
    attributes: Attributes,
    account: tuple[str, str] | None,
    *,
    node: bool,
    only_name: bool,
) -> ApiError:
    """403 of the first mode in question; the last one asks for the verb ``impersonate``."""
    if account is None and not node:
        mode = "user-info"
    elif only_name:
        mode = "serviceaccount" if account is not None else "arbitrary-node"
    elif account is not None:
        return forbidden(_legacy(attributes, SERVICE_ACCOUNTS, *account))
    else:
        return forbidden(_legacy(attributes, "users", "", wanted.name))
    return forbidden(replace(attributes, verb=f"impersonate-on:{mode}:{attributes.verb}"))


def _legacy(attributes: Attributes, resource: str, namespace: str, name: str) -> Attributes:
    return Attributes(
        user=attributes.user,
        verb="impersonate",
        namespace=namespace,
        resource=resource,
        name=name,
    )


def service_account(name: str) -> tuple[str, str] | None:
    """Namespace and name of the service account that a user name stands for, or None."""
    if not name.startswith(SERVICE_ACCOUNT):
        return None
    namespace, colon, account = name.removeprefix(SERVICE_ACCOUNT).partition(":")
    if not colon or dns1123_label(namespace) or dns1123_subdomain(account):
        return None
    return namespace, account


def is_node(name: str) -> bool:
    """Whether a user name stands for a node."""
    return name.startswith(NODE) and not dns1123_subdomain(name.removeprefix(NODE))
