"""Who asks, what is asked, and what an authorizer thinks of it.

Source: Kubernetes documentation "Authenticating" and "Authorization Overview" (user info,
request attributes, the three answers of an authorizer).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

from kubetrio.machinery.remember import counted

AUTHENTICATED = "system:authenticated"
"""Group of everyone who presented valid credentials."""

UNAUTHENTICATED = "system:unauthenticated"
"""Group of everyone who presented none."""

MASTERS = "system:masters"
"""Group that no authorizer refuses."""


@dataclass(frozen=True, slots=True)
class UserInfo:
    """The subject of a request.

    Args:
        name: user name, such as ``kubernetes-admin`` or ``system:serviceaccount:ns:name``.
        uid: identifier that survives a rename; empty when the credentials carry none.
        groups: group names in the order the credentials give them.
        extra: further attributes, each a list of texts.
    """

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __hash__(self) -> int:
        # All pods of a Deployment have one name and uid, and differ in what is extra.
        extra = frozenset(self.extra.items()) if self.extra else None
        return hash((self.name, self.uid, self.groups, extra))


ANONYMOUS = UserInfo("system:anonymous", groups=(UNAUTHENTICATED,))
"""The subject of a request without credentials."""

UNUSABLE = UserInfo("")
"""Stands for a client certificate that was verified and names no particular user."""


def user_info(user: UserInfo) -> dict[str, Any]:
    """A user as the API shows one: a ``UserInfo`` of group authentication.k8s.io."""
    info: dict[str, Any] = {}
    if user.name:
        info["username"] = user.name
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(user.extra[key]) for key in sorted(user.extra)}
    return info


@counted
@lru_cache(1024)  # a client certificate is looked at with each request of its connection
def authenticated(user: UserInfo) -> UserInfo:
    """Add ``system:authenticated`` as the last group.

    The credential readers of this package return what the credentials say and nothing else; the
    chain of authenticators applies this once to whatever it accepts, as kube-apiserver does.
    The anonymous user and a user that already is in one of the two groups stay as they are.
    """
    if user.name == ANONYMOUS.name:
        return user
    if AUTHENTICATED in user.groups or UNAUTHENTICATED in user.groups:
        return user
    return replace(user, groups=(*user.groups, AUTHENTICATED))


class SelectorRequirement(NamedTuple):
    """One requirement of a selector, as authorizers see it.

    Args:
        key: of a label, or name of a field.
        operator: ``In``, ``NotIn``, ``Exists`` or ``DoesNotExist``; of fields only the first two.
        values: what it is compared with.
    """

    key: str
    operator: str
    values: tuple[str, ...] = ()


Selection = tuple[SelectorRequirement, ...]
"""Requirements that all hold."""


class Narrowing:
    """What selectors restrict a request to, as far as authorizers see them.

    Args:
        fields: what fields of the objects are restricted to; None for no restriction.
        labels: the restriction of labels.
    """

    __slots__ = ("_fields", "_labels")

    def __init__(self, fields: Selection | None = None, labels: Selection | None = None) -> None:
        self._fields = fields
        self._labels = labels

    @property
    def fields(self) -> Selection | None:
        """What fields of the objects are restricted to."""
        return self._fields

    @property
    def labels(self) -> Selection | None:
        """What labels of the objects are restricted to."""
        return self._labels

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Narrowing):
            return NotImplemented
        return (self.fields, self.labels) == (other.fields, other.labels)

    def __hash__(self) -> int:
        return hash((self.fields, self.labels))


WHOLE = Narrowing()
"""No restriction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributes:
    """The question put to an authorizer.

    Args:
        user: who asks.
        verb: API verb (``get``, ``list``, ``watch``, ...), or for a non-resource request the
            HTTP method in lower case.
        namespace: empty for cluster-scoped and all-namespace requests.
        api_group: empty for the core group.
        api_version: version in the path.
        resource: plural name in the path.
        subresource: such as ``status``; empty without one.
        name: object name; empty for collections.
        resource_request: whether the path names a resource; if not, only ``user``, ``verb`` and
            ``path`` count.
        path: URL path without query.
        narrowing: what selectors restrict the request to; read when an authorizer looks.
    """

    user: UserInfo
    verb: str
    namespace: str = ""
    api_group: str = ""
    api_version: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    resource_request: bool = True
    path: str = ""
    narrowing: Narrowing = WHOLE

    @property
    def field_selector(self) -> Selection | None:
        """What fields of the objects are restricted to; None for no restriction."""
        return self.narrowing.fields

    @property
    def label_selector(self) -> Selection | None:
        """What labels of the objects are restricted to; None for no restriction."""
        return self.narrowing.labels


class Decision(Enum):
    """What one authorizer answers."""

    ALLOW = "allow"
    DENY = "deny"
    NO_OPINION = "no opinion"


class Verdict(NamedTuple):
    """A decision and why; the reason of a refusal is shown to the client.

    Args:
        decision: what it is.
        reason: why.
        error: what went wrong while it was made; empty for nothing.
    """

    decision: Decision
    reason: str = ""
    error: str = ""
