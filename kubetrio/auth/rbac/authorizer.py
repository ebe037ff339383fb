"""RBAC: what roles allow the users that they are bound to.

Roles and bindings are in memory (informers), and what was once found for a question is remembered
until one of them changes: then everything is forgotten, and the next request is judged by the new
rules.  A question is remembered without the name of an object, so that reading many objects asks
once.

Source: docs "Using RBAC Authorization"; k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac and
pkg/registry/rbac/validation/rule.go, whose words the reasons have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kubetrio.auth.authorize import NO_OPINION, Rules
from kubetrio.auth.rbac.matching import (
    GROUP,
    SERVICE_ACCOUNT,
    Rule,
    allows_path,
    allows_resource,
    applies_to,
    rule_of,
)
from kubetrio.gotext.text import aggregate
from kubetrio.informers.informer import EventHandler, Item, SharedInformerFactory
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.identity import Attributes, Decision, UserInfo, Verdict
from kubetrio.machinery.remember import keep

Object = Mapping[str, Any]

REMEMBERED = 10_000
LONGEST = 1024
"""Questions that are remembered with their answers, and characters of one: any client may ask."""
COLLECTIONS = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
SUBJECT = "subject"
"""Index of bindings by subject."""

Ways = tuple[tuple[frozenset[str], Verdict], ...]
"""What allows something: names of objects, empty for all, and the verdict, in order."""


class RoleError(Exception):
    """A binding refers to what is not there; the text is kube-apiserver's.

    Args:
        text: what is wrong.
        missing: name of the role that is not there; empty where the reference makes no sense.
    """

    def __init__(self, text: str, missing: str = "") -> None:
        super().__init__(text)
        self.missing = missing


class Granted(NamedTuple):
    """One binding that applies to a user.

    Args:
        binding: the binding.
        subject: of it, that is meant.
        namespace: of it, empty for one of the cluster.
        rules: of its role.
    """

    binding: Object
    subject: Object
    namespace: str
    rules: Sequence[Object]


class Rbac:
    """The authorizer, and the one who knows all rules of a user.

    Args:
        informers: of the server.
    """

    def __init__(self, informers: SharedInformerFactory) -> None:
        self._informers = {name: informers.informer(f"/registry/{name}/") for name in COLLECTIONS}
        self._ways: dict[tuple[object, ...], tuple[Ways, Verdict]] = {}
        # Rules of roles by kind, namespace and name.
        self._compiled: dict[tuple[str, str, str], tuple[Rule, ...]] = {}
        for name in ("clusterrolebindings", "rolebindings"):
            self._informers[name].indexer.add_index(SUBJECT, _subjects)
        changed = EventHandler(add=self._forget, update=self._forget, delete=self._forget)
        for informer in self._informers.values():
            informer.add_event_handler(changed)

    def _forget(self, *_: object) -> None:
        self._ways.clear()
        self._compiled.clear()

    def remembered(self) -> int:
        """How many questions are remembered."""
        return len(self._ways)

    async def sync(self) -> None:
        """Wait until all roles and bindings are known.

        Raises:
            StoreError: they cannot be read.
        """
        for informer in self._informers.values():
            await informer.sync()

    # ------------------------------------------------------------------ questions

    def authorize(self, attributes: Attributes) -> Verdict:
        """Allow what a role allows."""
        user = attributes.user
        if attributes.resource_request:
            key: tuple[object, ...] = (
                user.name, user.groups, attributes.verb, attributes.namespace,
                attributes.resource, attributes.api_group, attributes.subresource,
            )  # fmt: skip
        else:
            key = (user.name, user.groups, attributes.verb, attributes.path)
        entry = self._ways.get(key)
        if entry is None:
            entry = keep(self._ways, key, self._find(attributes), REMEMBERED, LONGEST)
        ways, none = entry
        name = attributes.name
        for names, verdict in ways:
            if not names or name in names:
                return verdict
        return none

    def _find(self, attributes: Attributes) -> tuple[Ways, Verdict]:
        """All ways to allow something, and the verdict when none is open."""
        about = attributes.resource_request
        allows = allows_resource if about else allows_path
        ways: list[tuple[frozenset[str], Verdict]] = []
        errors: list[RoleError] = []
        namespace = attributes.namespace if about else ""
        for granted in self._granted(attributes.user, namespace, errors):
            for rule in self._rules_of(granted):
                if allows(rule, attributes):
                    verdict = Verdict(Decision.ALLOW, f"RBAC: allowed by {_source(granted)}")
                    names = rule.names if about else frozenset[str]()
                    ways.append((names, verdict))
                    if not names:
                        return tuple(ways), NO_OPINION
        none = NO_OPINION
        if errors:
            none = Verdict(Decision.NO_OPINION, f"RBAC: {aggregate(map(str, errors))}")
        return tuple(ways), none

    def _rules_of(self, granted: Granted) -> tuple[Rule, ...]:
        reference = granted.binding["roleRef"]
        key = (reference["kind"], granted.namespace, reference["name"])
        rules = self._compiled.get(key)
        if rules is None:
            rules = self._compiled[key] = tuple(map(rule_of, granted.rules))
        return rules

    # ------------------------------------------------------------------ rules of a user

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """Return what a user may do in a namespace, as a SelfSubjectRulesReview tells it."""
        errors: list[RoleError] = []
        resources: list[dict[str, Any]] = []
        paths: list[dict[str, Any]] = []
        for rule in self.rules(user, namespace, errors):
            shown = {
                name: rule[name]
                for name in ("verbs", "apiGroups", "resources", "resourceNames")
                if rule.get(name)
            }
            if rule.get("resources"):
                resources.append(shown)
            if rule.get("nonResourceURLs"):
                paths.append({"verbs": rule["verbs"], "nonResourceURLs": rule["nonResourceURLs"]})
        return Rules(resources, paths, incomplete=False, error=aggregate(map(str, errors)))

    def rules(self, user: UserInfo, namespace: str, errors: list[RoleError]) -> list[Object]:
        """Yield the rules of all roles that are bound to a user.

        Args:
            user: who.
            namespace: where; empty for the whole cluster only.
            errors: gets what could not be found.
        """
        return [
            rule for granted in self._granted(user, namespace, errors) for rule in granted.rules
        ]

    def _granted(
        self, user: UserInfo, namespace: str, errors: list[RoleError]
    ) -> Iterator[Granted]:
        """Yield the bindings that apply to a user: of the cluster, then of the namespace."""
        yield from self._applying("clusterrolebindings", user, "", errors)
        if namespace:
            yield from self._applying("rolebindings", user, namespace, errors)

    def _applying(
        self, collection: str, user: UserInfo, namespace: str, errors: list[RoleError]
    ) -> Iterator[Granted]:
        indexer = self._informers[collection].indexer
        names = (f"User {user.name}", *(f"Group {group}" for group in user.groups))
        bindings = {
            item.key: item
            for name in names
            for item in indexer.by_index(SUBJECT, f"{namespace} {name}")
        }
        for key in sorted(bindings):
            binding = bindings[key].object
            subject = next(
                (one for one in binding["subjects"] if applies_to(user, one, namespace)), None
            )
            if subject is None:
                raise AssertionError("the index names bindings for those they are for")
            try:
                rules = self.role_rules(binding["roleRef"], namespace)
            except RoleError as error:
                errors.append(error)
                continue
            yield Granted(binding, subject, namespace, rules)

    def role_rules(self, reference: Object, namespace: str) -> Sequence[Object]:
        """The rules of the role that a binding refers to.

        Args:
            reference: ``roleRef``.
            namespace: of the binding.

        Raises:
            RoleError: it is not there.
        """
        kind, name = reference.get("kind") or "", reference.get("name") or ""
        if kind == "ClusterRole":
            role = self._informers["clusterroles"].lister.get(name)
        elif kind == "Role":
            role = self._informers["roles"].lister.get(name, namespace) if namespace else None
        else:
            raise RoleError(f"unsupported role reference kind: {quote(kind)}")
        if role is None:
            raise RoleError(f"{kind.lower()}.{GROUP} {quote(name)} not found", name)
        return role.get("rules") or ()


def _subjects(item: Item) -> Iterator[str]:
    """Subjects of a binding: index values, each with the namespace in which it counts."""
    binding = item.object
    namespace = binding["metadata"].get("namespace") or ""
    for subject in binding.get("subjects") or ():
        kind, name = subject.get("kind"), subject.get("name") or ""
        if kind == "ServiceAccount":
            home = subject.get("namespace") or namespace
            if home:
                yield f"{namespace} User {SERVICE_ACCOUNT}{home}:{name}"
        elif kind in ("User", "Group"):
            yield f"{namespace} {kind} {name}"


def _source(granted: Granted) -> str:
    """A binding as reasons name it."""
    binding, subject, namespace = granted.binding, granted.subject, granted.namespace
    name, kind = binding["metadata"]["name"], "ClusterRoleBinding"
    if namespace:
        name, kind = f"{name}/{namespace}", "RoleBinding"
    role, who = binding["roleRef"], subject.get("name") or ""
    if subject["kind"] == "ServiceAccount":
        who = f"{who}/{subject.get('namespace') or namespace}"
    return (
        f"{kind} {quote(name)} of {role['kind']} {quote(role['name'])} "
        f"to {subject['kind']} {quote(who)}"
    )
