"""Webhook configurations: read, made ready once for each change, in order in which they are asked.

Configurations are in the order of their names, their webhooks as they are written.  The collection
is read again when the commit stream says that it changed, so a change counts from the next request
on; what is compiled of a configuration is kept until that one changes.

Source: docs "Dynamic Admission Control"; the order is kube-apiserver's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kubetrio.admission.attributes import Attributes
from kubetrio.admission.criteria import Criteria
from kubetrio.admission.lookup import Lookup
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import not_found
from kubetrio.schema.kind import Kind
from kubetrio.schema.wellknown import NAMESPACE_RESOURCE

if TYPE_CHECKING:
    from kubetrio.admission.objectcache import ObjectCache
    from kubetrio.plugins.dynamic.conditions import MatchConditions

Object = dict[str, Any]

MUTATING, VALIDATING = "mutatingwebhookconfigurations", "validatingwebhookconfigurations"
_GROUP = "admissionregistration.k8s.io"
_EXEMPT = frozenset(
    GroupResource(_GROUP, name)
    for name in (
        MUTATING,
        VALIDATING,
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
    )
)
"""What no webhook is asked about: the author of a bad one must be able to take it back."""
TIMEOUT_S = 10


def exempt(attributes: Attributes) -> bool:
    """Whether no webhook is asked about a request."""
    return attributes.resource.group_resource in _EXEMPT


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hook:
    """One webhook of a configuration.

    Args:
        uid: what tells it from all others: configuration, name, and which of that name.
        configuration: name of its configuration.
        spec: the webhook.
        criteria: which requests it is about.
    """

    uid: str
    configuration: str
    spec: Object
    criteria: Criteria
    _compiled: list[MatchConditions] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its name, which others may have too."""
        text: str = self.spec.get("name") or ""
        return text

    @property
    def ignored(self) -> bool:
        """Whether requests go on that it cannot be asked about."""
        return self.spec.get("failurePolicy") == "Ignore"

    @property
    def timeout_s(self) -> int:
        """Seconds that a call may take."""
        seconds: int = self.spec.get("timeoutSeconds") or TIMEOUT_S
        return seconds

    @property
    def has_conditions(self) -> bool:
        """Whether there are match conditions."""
        return bool(self.spec.get("matchConditions"))

    def conditions(self) -> MatchConditions:
        """Its match conditions; compiled when they are first asked for."""
        if not self._compiled:
            from kubetrio.cel.expressions import admission_scope
            from kubetrio.plugins.dynamic.conditions import MatchConditions

            scope = admission_scope(params=False, authorizer=True, composed=False, patches=False)
            self._compiled.append(MatchConditions(self.spec, scope))
        return self._compiled[0]


class HookSource:
    """The webhooks of one kind.

    Args:
        lookup: knows the configurations.
        objects: reads namespaces.
        collection: plural name of the configurations.
    """

    def __init__(self, lookup: Lookup, objects: ObjectCache, collection: str) -> None:
        self._lookup = lookup
        self._objects = objects
        self._collection = collection
        self._seen: Mapping[str, Object] | None = None
        self._ready: tuple[Hook, ...] = ()
        self._made: dict[tuple[str, str], tuple[Hook, ...]] = {}

    async def hooks(self) -> tuple[Hook, ...]:
        """All webhooks, in order."""
        objects = await self._lookup.all(self._collection)
        if objects is not self._seen:
            by_configuration: dict[tuple[str, str], tuple[Hook, ...]] = {}
            for name in sorted(objects):
                meta = objects[name]["metadata"]
                key = (meta["uid"], meta.get("resourceVersion") or "")
                by_configuration[key] = self._made.get(key) or _hooks_of(name, objects[name])
            self._made, self._seen = by_configuration, objects
            self._ready = tuple(hook for hooks in by_configuration.values() for hook in hooks)
        return self._ready

    async def match(self, hook: Hook, attributes: Attributes) -> Kind | None:
        """The resource as which a webhook is asked about a request, None when it is not.

        Raises:
            ApiError: 404, the namespace is not there.
        """
        return await hook.criteria.match(attributes, self._namespace)

    async def _namespace(self, name: str) -> Object | None:
        obj = await self._objects.get(f"/registry/namespaces/{name}")
        if obj is None:
            raise not_found(NAMESPACE_RESOURCE, name)
        return obj


def _hooks_of(configuration: str, obj: Object) -> tuple[Hook, ...]:
    seen: Counter[str] = Counter()
    hooks = []
    for spec in obj.get("webhooks") or ():
        name = spec.get("name") or ""
        uid = f"{configuration}/{name}/{seen[name]}"
        seen[name] += 1
        rules = spec.get("rules")
        if not rules:
            continue  # is about nothing
        criteria = Criteria({**spec, "resourceRules": rules})
        hooks.append(Hook(uid=uid, configuration=configuration, spec=spec, criteria=criteria))
    return tuple(hooks)
