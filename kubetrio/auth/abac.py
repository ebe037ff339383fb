"""Policies in a file, one JSON object a line (mode ABAC).

Source: docs "Using ABAC Authorization"; the words of errors are kube-apiserver's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubetrio.auth.authorize import ALLOWED, Rules
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.identity import AUTHENTICATED, Attributes, Decision, UserInfo, Verdict
from kubetrio.wire.gojson import parse, type_word

LINE_MAX = 64 * 1024  # bytes: bufio.Scanner reads no longer ones
VERSION = "abac.authorization.kubernetes.io/v1beta1"
_SCHEME = "k8s.io/kubernetes/pkg/apis/abac/register.go:33"
_NO_MATCH = Verdict(Decision.NO_OPINION, "No policy matched.")
_READ = ("get", "list", "watch")
_VALUE = (
    r'struct { APIVersion string "json:\"apiVersion,omitempty\""; '
    r'Kind string "json:\"kind,omitempty\"" }'
)

_OLD = {"user": str, "group": str, "readonly": bool, "resource": str, "namespace": str}
_NEW = {**_OLD, "apiGroup": str, "nonResourcePath": str}


class PolicyError(ValueError):
    """A policy file cannot be used; the text is one line for the terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One line.

    Args:
        user: name that it is about; empty for any user.
        group: group that it is about; empty for any.
        readonly: whether it allows to read only.
        api_group: API group, ``*`` for all.
        resource: plural name, ``*`` for all.
        namespace: ``*`` for all and for none.
        path: path that is no resource; a ``*`` at its end matches any rest.
    """

    user: str = ""
    group: str = ""
    readonly: bool = False
    api_group: str = ""
    resource: str = ""
    namespace: str = ""
    path: str = ""

    def concerns(self, user: UserInfo) -> bool:
        """Return whether it is about a user; one without user and group is about no user."""
        if self.user not in ("", "*", user.name):
            return False
        if self.group not in ("", "*") and self.group not in user.groups:
            return False
        return bool(self.user or self.group)

    def allows(self, attributes: Attributes) -> bool:
        """Whether it allows a request."""
        if self.readonly and attributes.verb not in _READ:
            return False
        if attributes.resource_request:
            return (
                self.namespace in ("*", attributes.namespace)
                and self.resource in ("*", attributes.resource)
                and self.api_group in ("*", attributes.api_group)
            )
        path = self.path
        return path in ("*", attributes.path) or (
            path.endswith("*") and attributes.path.startswith(path.rstrip("*"))
        )


class Policies:
    """The policies of a file.

    Args:
        policies: in order.
    """

    def __init__(self, policies: Sequence[Policy]) -> None:
        self._policies = tuple(policies)

    def authorize(self, attributes: Attributes) -> Verdict:
        """Allow what a policy does."""
        for policy in self._policies:
            if policy.concerns(attributes.user) and policy.allows(attributes):
                return ALLOWED
        return _NO_MATCH

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """Return the policies about a user in a namespace."""
        resources, paths = [], []
        for policy in self._policies:
            if not policy.concerns(user) or policy.namespace not in ("*", namespace):
                continue
            verbs = list(_READ) if policy.readonly else ["*"]
            if policy.resource:
                groups, names = [policy.api_group], [policy.resource]
                resources.append({"verbs": verbs, "apiGroups": groups, "resources": names})
            if policy.path:
                paths.append({"verbs": verbs, "nonResourceURLs": [policy.path]})
        return Rules(tuple(resources), tuple(paths))


def read_policies(data: bytes, path: str) -> tuple[Policies, bool]:
    """Read a policy file.

    Args:
        data: its content.
        path: its name, for messages.

    Returns:
        The policies, and whether there are lines without a version.

    Raises:
        PolicyError: a line is no policy; the text names file and line.
    """
    policies: list[Policy] = []
    old = False
    for number, line in _lines(data, path):
        text = line.decode("utf-8", "replace")
        try:
            policy, versioned = _policy(line)
        except ValueError as error:
            where = f"error reading policy file {path}, line {number}: {text}"
            raise PolicyError(f"{where}: {error}") from error
        policies.append(policy)
        old = old or not versioned
    return Policies(policies), old


def _lines(data: bytes, path: str) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(data.split(b"\n"), start=1):
        if len(line) >= LINE_MAX:
            raise PolicyError(f"error reading policy file {path}: bufio.Scanner: token too long")
        stripped = line.strip()
        if stripped and not stripped.startswith(b"#"):
            yield number, line.removesuffix(b"\r")


def _policy(line: bytes) -> tuple[Policy, bool]:
    """A line's policy, and whether it names its version.

    Raises:
        ValueError: it is none.
    """
    try:
        value = parse(line).value
    except ValueError as error:
        raise ValueError(f"couldn't get version/kind; json parse error: {error}") from error
    if not isinstance(value, dict):
        why = f"json: cannot unmarshal {type_word(value)} into Go value of type {_VALUE}"
        raise ValueError(f"couldn't get version/kind; json parse error: {why}")
    version, kind = value.get("apiVersion") or "", value.get("kind") or ""
    if version and kind:
        if (version, kind) != (VERSION, "Policy"):
            raise ValueError(
                f"no kind {quote(str(kind))} is registered for version {quote(str(version))} "
                f'in scheme "{_SCHEME}"'
            )
        return _new(_typed(value.get("spec") or {}, _NEW, "PolicySpec.spec")), True
    return _of_old(_typed(value, _OLD, "Policy")), False


def _typed(value: Any, members: Mapping[str, type], struct: str) -> dict[str, Any]:
    """The members of a policy; others are ignored, as they always were.

    Raises:
        ValueError: one is of another type.
    """
    if not isinstance(value, dict):
        word = type_word(value)
        raise ValueError(f"json: cannot unmarshal {word} into Go struct field {struct}")
    present = {name: value[name] for name in members if value.get(name) is not None}
    for name, member in present.items():
        if type(member) is not members[name]:
            type_name = "bool" if members[name] is bool else "string"
            word = type_word(member)
            raise ValueError(
                f"json: cannot unmarshal {word} into Go struct field {struct}.{name} "
                f"of type {type_name}"
            )
    return present


def _new(found: Mapping[str, Any]) -> Policy:
    all_users = "*" in (found.get("user"), found.get("group"))
    return Policy(
        user="" if all_users else found.get("user", ""),
        group=AUTHENTICATED if all_users else found.get("group", ""),
        readonly=found.get("readonly", False),
        api_group=found.get("apiGroup", ""),
        resource=found.get("resource", ""),
        namespace=found.get("namespace", ""),
        path=found.get("nonResourcePath", ""),
    )


def _of_old(found: Mapping[str, Any]) -> Policy:
    """A line without a version: what it leaves out means everything."""
    user, group = found.get("user", ""), found.get("group", "")
    if "*" in (user, group) or not (user or group):
        user, group = "", AUTHENTICATED
    namespace, resource = found.get("namespace", ""), found.get("resource", "")
    return Policy(
        user=user,
        group=group,
        readonly=found.get("readonly", False),
        api_group="*",
        resource=resource or "*",
        namespace=namespace or "*",
        path="" if namespace or resource else "*",
    )
