"""Acting as another user: who is asked for, whether one may, and who it is then.

Rights to do so are of two kinds.  The old one, verb ``impersonate``, is to be another user for
everything.  Constrained ones (KEP-5284) are to be a user of a sort (``impersonate:MODE``) for
what one may do as such (``impersonate-on:MODE:VERB``), and both are needed.

Source: docs "User impersonation"; KEP-5284.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import chain
from typing import NamedTuple
from urllib.parse import unquote

import trio

from kubetrio.auth.authorize import forbidden
from kubetrio.gotext.text import aggregate
from kubetrio.machinery.asking import Authorize, verdict_of
from kubetrio.machinery.fielderrors import invalid, quote
from kubetrio.machinery.identity import (
    ANONYMOUS,
    AUTHENTICATED,
    MASTERS,
    UNAUTHENTICATED,
    Attributes,
    Decision,
    UserInfo,
    Verdict,
)
from kubetrio.machinery.names_validation import (
    dns1123_label,
    dns1123_subdomain,
    prefixed_path,
)
from kubetrio.machinery.status import ApiError, bad_request
from kubetrio.observe import prometheus
from kubetrio.observe.series import Labels, Timings, counter, exponential
from kubetrio.schema.wellknown import NODES, SERVICE_ACCOUNTS

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
NODE_NAME = "authentication.kubernetes.io/node-name"
"""Extra key of users whose token is bound to something on a node."""
SHOWN_CHARS = 4096  # of headers that name no user
_BAD_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")


def wanted_user(headers: Iterable[tuple[bytes, bytes]]) -> UserInfo | None:
    """Who a request wants to be, as its headers have it; None for the client's own user.

    Args:
        headers: lower-case names and values, in order.

    Raises:
        ApiError: 400, everything but a name is given.
    """
    first: dict[bytes, str] = {}
    groups: list[str] = []
    extra: dict[str, tuple[str, ...]] = {}
    for key, value in headers:
        if not key.startswith(PREFIX):
            continue
        text = value.decode("utf-8", "replace")
        if key in (b"impersonate-user", b"impersonate-uid"):
            first.setdefault(key, text)  # an empty one too: who looks before us sees no other
        elif key == b"impersonate-group":
            groups.append(text)
        elif key.startswith(EXTRA):
            label = key.removeprefix(EXTRA).decode("utf-8", "replace")
            if not _BAD_ESCAPE.search(label):
                label = unquote(label)
            extra[label] = (*extra.get(label, ()), text)
    name, uid = first.get(b"impersonate-user", ""), first.get(b"impersonate-uid", "")
    if name:
        return UserInfo(name, uid, tuple(groups), extra)
    if not (uid or groups or extra):
        return None
    texts = (uid, *groups, *extra, *chain.from_iterable(extra.values()))
    if sum(map(len, texts)) > SHOWN_CHARS:
        uid, groups, extra = uid[:SHOWN_CHARS], [], {}  # strangers' texts cost time to print
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


MANY = 4
"""From so many groups or extra values on, the right to all of them is asked for first."""
REMEMBERED = 10_000  # users whose mode is remembered

CORE, IDENTITIES = "", "authentication.k8s.io"


class Impersonated(NamedTuple):
    """Who a request is from.

    Args:
        user: that is.
        constraint: the verb that allowed it, for the audit log; empty for the old one.
    """

    user: UserInfo
    constraint: str


@dataclass(frozen=True, slots=True)
class _Mode:
    """A way to be another user.

    Args:
        name: in verbs; empty for the old way.
        concerns: whether it applies to a user, from (that user, the client's).
        asks: the question as it is put to authorizers.
    """

    name: str
    concerns: Callable[[UserInfo, UserInfo], bool]
    asks: Callable[[Attributes], Attributes] = lambda asked: asked

    @property
    def verb(self) -> str:
        """The verb of its questions about who is wanted."""
        return f"impersonate:{self.name}" if self.name else "impersonate"


def _about(
    mode: _Mode,
    sender: UserInfo,
    resource: str,
    name: str,
    *,
    group: str = IDENTITIES,
    namespace: str = "",
) -> Attributes:
    return Attributes(
        user=sender,
        verb=mode.verb,
        namespace=namespace,
        api_group=group,
        api_version="v1",
        resource=resource,
        name=name,
    )


def _only_name(wanted: UserInfo) -> bool:
    return not (wanted.uid or wanted.groups or wanted.extra)


def _own_node(wanted: UserInfo, sender: UserInfo) -> bool:
    """Whether a service account wants to be the node that its token is bound to."""
    return (
        _only_name(wanted)
        and is_node(wanted.name)
        and service_account(sender.name) is not None
        and sender.extra.get(NODE_NAME) == (wanted.name.removeprefix(NODE),)
    )


def _of_any_node(asked: Attributes) -> Attributes:
    """A question about the own node as authorizers get it: it does not depend on which that is."""
    user = asked.user
    keys = {"authentication.kubernetes.io/associated-node-keys": tuple(sorted(user.extra))}
    name = "*" if asked.verb == "impersonate:associated-node" else asked.name
    return replace(asked, user=replace(user, extra=keys), name=name)


_MODES = (
    _Mode("associated-node", _own_node, _of_any_node),
    _Mode("arbitrary-node", lambda wanted, _: _only_name(wanted) and is_node(wanted.name)),
    _Mode(
        "serviceaccount",
        lambda wanted, _: _only_name(wanted) and service_account(wanted.name) is not None,
    ),
    _Mode(
        "user-info",
        lambda wanted, _: not is_node(wanted.name) and service_account(wanted.name) is None,
    ),
    _Mode("", lambda *_: True),
)


def _bad_extra(key: str, values: Sequence[str]) -> str:
    """What is wrong with extra values, empty for nothing."""
    if not key:
        return "impersonating the empty string key in extra is not allowed"
    if wrong := [invalid("extra.key", *found) for found in prefixed_path(key)]:
        shown = aggregate(map(str, wrong))
        return f"impersonating an invalid key in extra is not allowed: {shown}"
    if key != key.lower():
        return f"impersonating a non-lowercase key in extra is not allowed: {quote(key)}"
    if not values:
        return "impersonating empty values in extra is not allowed"
    if "" in values:
        return "impersonating the empty string value in extra is not allowed"
    return ""


def _groups_of(wanted: UserInfo, *, constrained: bool) -> tuple[str, ...]:
    """Return a user's groups, with those that follow from the name."""
    groups = wanted.groups
    account = service_account(wanted.name)
    if constrained and is_node(wanted.name):
        groups = ("system:nodes",)
    if account is not None and not groups:
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{account[0]}")
    if wanted.name == ANONYMOUS.name:
        missing = UNAUTHENTICATED
    elif UNAUTHENTICATED not in groups:
        missing = AUTHENTICATED
    else:
        return groups
    return groups if missing in groups else (*groups, missing)


LEGACY = "legacy"
_PREFIX = "apiserver_impersonation_"
_LABELS = ("decision", "mode")
_BOUNDS = exponential(0.001, 2, 15)
_HELP = {
    "attempts": "Requests on behalf of another user, by decision and mode.",
    "authorization_attempts": "Questions to authorizers whether that is allowed.",
}


def _timings(name: str) -> Timings:
    what = f"{_PREFIX}{name}_duration_seconds"
    return Timings(what, f"Seconds. {_HELP[name]}", *_LABELS, bounds=_BOUNDS)


class Impersonation:
    """Decides who may act as another user, by the server's authorizers.

    The modes of constrained impersonation are tried in order, and then the old one.  The mode that
    a user was last successful with is tried first: it also decides which refusal is told.

    Args:
        authorize: decides; it may have to be waited for.
    """

    def __init__(self, authorize: Authorize) -> None:
        self._authorize = authorize
        self._attempts = _timings("attempts")
        self._questions = _timings("authorization_attempts")
        self._last: OrderedDict[bytes, int] = OrderedDict()

    @property
    def remembered(self) -> int:
        """Of how many users the mode is remembered."""
        return len(self._last)

    def families(self) -> Iterator[prometheus.Metric]:
        """Attempts and the questions that they took, as metrics."""
        for name, timings in (
            ("attempts", self._attempts),
            ("authorization_attempts", self._questions),
        ):
            counts: dict[Labels, float] = {
                labels: sum(one.counts) for labels, one in list(timings.items())
            }
            yield from counter(f"{_PREFIX}{name}_total", _HELP[name], _LABELS, counts)
            yield from timings.families()

    async def impersonated(self, wanted: UserInfo, attributes: Attributes) -> Impersonated:
        """The user that a request is from then on.

        Args:
            wanted: as its headers have it.
            attributes: of the request, with who sent it.

        Raises:
            ApiError: 403, the client may not act as that user.
        """
        begun = trio.current_time()
        try:
            allowed = await self._first(wanted, attributes)
        except ApiError:
            self._attempts["denied", ""].observe(trio.current_time() - begun)
            raise
        mode = allowed.constraint.removeprefix("impersonate:") or LEGACY
        self._attempts["allowed", mode].observe(trio.current_time() - begun)
        return allowed

    async def _first(self, wanted: UserInfo, attributes: Attributes) -> Impersonated:
        """What the first mode makes of a request that allows it."""
        sender = blake2b(attributes.user.name.encode("utf-8", "replace"), digest_size=16).digest()
        last = self._last.get(sender)
        order = list(range(len(_MODES)))
        if last is not None:
            order.remove(last)
            order.insert(0, last)
        refused: ApiError | None = None
        for at in order:
            mode = _MODES[at]
            if not mode.concerns(wanted, attributes.user):
                continue
            try:
                user = await self._as(mode, wanted, attributes)
            except ApiError as error:
                refused = refused or error
                continue
            self._remember(sender, at)
            return user
        raise refused or AssertionError("the last mode applies to every user")

    def _remember(self, sender: bytes, mode: int) -> None:
        self._last[sender] = mode
        self._last.move_to_end(sender)
        if len(self._last) > REMEMBERED:
            self._last.popitem(last=False)

    async def _as(self, mode: _Mode, wanted: UserInfo, attributes: Attributes) -> Impersonated:
        if mode.name:
            verb = f"impersonate-on:{mode.name}:{attributes.verb}"
            await self._check(mode, replace(attributes, verb=verb))
        await self._name(mode, wanted, attributes.user)
        if wanted.uid:
            await self._check(mode, _about(mode, attributes.user, "uids", wanted.uid))
        await self._groups(mode, wanted.groups, attributes.user)
        await self._extra(mode, wanted.extra, attributes.user)
        user = replace(wanted, groups=_groups_of(wanted, constrained=bool(mode.name)))
        return Impersonated(user, mode.verb if mode.name else "")

    async def _name(self, mode: _Mode, wanted: UserInfo, sender: UserInfo) -> None:
        account = service_account(wanted.name)
        group = IDENTITIES if mode.name else CORE
        if mode.name and is_node(wanted.name):
            resource, namespace, name = NODES, "", wanted.name.removeprefix(NODE)
        elif account is not None:
            resource, (namespace, name) = SERVICE_ACCOUNTS, account
        else:
            resource, namespace, name = "users", "", wanted.name
        asked = _about(mode, sender, resource, name, group=group, namespace=namespace)
        await self._check(mode, asked)

    async def _groups(self, mode: _Mode, groups: Sequence[str], sender: UserInfo) -> None:
        api_group = IDENTITIES if mode.name else CORE

        def about(name: str) -> Attributes:
            return _about(mode, sender, "groups", name, group=api_group)

        if mode.name and "" in groups:
            raise forbidden(about(""), "impersonating the empty string group is not allowed")
        if mode.name and MASTERS in groups:
            raise forbidden(about(MASTERS), f"impersonating the {MASTERS} group is not allowed")
        if mode.name and len(groups) >= MANY and await self._allowed(mode, about("*")):
            return
        for group in groups:
            await self._check(mode, about(group))

    async def _extra(
        self, mode: _Mode, extra: Mapping[str, Sequence[str]], sender: UserInfo
    ) -> None:
        def about(key: str, value: str) -> Attributes:
            asked = _about(mode, sender, "userextras", value)
            return replace(asked, subresource=key)

        if mode.name:
            for key in sorted(extra):
                if why := _bad_extra(key, extra[key]):
                    raise forbidden(about("", ""), why)
            many = len(extra) >= MANY or sum(map(len, extra.values())) >= MANY
            if many and await self._allowed(mode, about("*", "*")):
                return
        for key in sorted(extra):
            for value in extra[key]:
                await self._check(mode, about(key, value))

    async def _verdict(self, mode: _Mode, asked: Attributes) -> Verdict:
        begun = trio.current_time()
        verdict = await verdict_of(self._authorize, asked)
        decision = "allowed" if verdict.decision is Decision.ALLOW else "denied"
        self._questions[decision, mode.name or LEGACY].observe(trio.current_time() - begun)
        return verdict

    async def _allowed(self, mode: _Mode, asked: Attributes) -> bool:
        verdict = await self._verdict(mode, mode.asks(asked))
        return verdict.decision is Decision.ALLOW

    async def _check(self, mode: _Mode, asked: Attributes) -> None:
        asked = mode.asks(asked)
        verdict = await self._verdict(mode, asked)
        if verdict.decision is not Decision.ALLOW:
            why = ": ".join(filter(None, (verdict.error, verdict.reason)))
            raise forbidden(asked, why)


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
