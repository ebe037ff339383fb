"""PodSecurity: pods keep to the Pod Security Standard that their namespace names.

Pods that do not are refused; pods and what makes pods are noted and warned of.  Who is exempt, and
what namespaces without labels ask for, is configured (`configuration`).

Source: docs "Pod Security Admission"; KEP-2579.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import trio

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.objectcache import ObjectCache
from kubetrio.admission.plugin import Base, denied
from kubetrio.gotext.text import aggregate
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import internal_error, invalid
from kubetrio.observe import prometheus
from kubetrio.plugins.podsecurity.baseline import SECCOMP_CONTAINER
from kubetrio.plugins.podsecurity.configuration import Configuration
from kubetrio.plugins.podsecurity.counts import AUDIT, ENFORCE, WARN, SecurityCounts
from kubetrio.plugins.podsecurity.parts import annotations_of, plural
from kubetrio.plugins.podsecurity.policy import PREFIX, PRIVILEGED, Policy, Standard, policy_of
from kubetrio.plugins.podsecurity.standards import violations
from kubetrio.schema.wellknown import NAMESPACE_RESOURCE as NAMESPACES
from kubetrio.schema.wellknown import POD_RESOURCE as PODS

Object = dict[str, Any]

# The policy of a namespace, None when there is none of that name.
NamespacePolicy = Callable[[str], Awaitable[Policy | None]]

# Where what makes pods keeps the template of them.
TEMPLATES = {
    GroupResource("", "podtemplates"): ("template",),
    GroupResource("", "replicationcontrollers"): ("spec", "template"),
    GroupResource("apps", "daemonsets"): ("spec", "template"),
    GroupResource("apps", "deployments"): ("spec", "template"),
    GroupResource("apps", "replicasets"): ("spec", "template"),
    GroupResource("apps", "statefulsets"): ("spec", "template"),
    GroupResource("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
    GroupResource("batch", "jobs"): ("spec", "template"),
}
# Subresources that change nothing of a pod's spec.
HARMLESS = frozenset(
    {"exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"}
)
# Annotations of the audit log.
ENFORCED = PREFIX + "enforce-policy"
AUDITED = PREFIX + "audit-violations"
ERROR = PREFIX + "error"
EXEMPT = PREFIX + "exempt"
ANYTHING = str(Standard())
DEFAULT = Configuration()
PODS_CHECKED = 3000  # of a namespace whose policy becomes stricter
CHECKING_S = 1.0  # and for how long
PODS_AT_ONCE = 50  # between which other tasks run


class PodSecurity(Base):
    """The plugin.

    Args:
        policy: knows the policies of namespaces.
        objects: reads the pods of a namespace.
        configuration: who is exempt, and what holds by default.
    """

    name = "PodSecurity"
    resources = frozenset({PODS, NAMESPACES, *TEMPLATES})
    operations = frozenset({Operation.CREATE, Operation.UPDATE})

    def __init__(
        self,
        policy: NamespacePolicy,
        objects: ObjectCache,
        configuration: Configuration = DEFAULT,
    ) -> None:
        self._policy = policy
        self._objects = objects
        self._defaults = configuration.defaults
        self._exempt = configuration.exempt
        self._counts = SecurityCounts()

    def families(self) -> Iterator[prometheus.Metric]:
        """Evaluations, exemptions and errors, as metrics."""
        return self._counts.families()

    async def validate(self, attributes: Attributes) -> None:
        """Refuse pods and labels, warn of what will become pods.

        Raises:
            ApiError: 403 for a pod, 422 for labels that make no sense.
        """
        resource = attributes.resource.group_resource
        if resource == PODS:
            if attributes.subresource not in HARMLESS:
                await self._validate_pod(attributes)
        elif not attributes.subresource:
            if resource == NAMESPACES:
                await self._validate_namespace(attributes)
            else:
                await self._validate_maker(attributes, TEMPLATES[resource])

    def _is_exempt(self, attributes: Attributes) -> bool:
        """Whether the namespace or the user of a write is; leaves the audit log why."""
        exempt, why = self._exempt, ""
        if attributes.namespace in exempt.namespaces:
            why = "namespace"
        elif attributes.user.name in exempt.users:
            why = "user"
        if why:
            attributes.annotations[EXEMPT] = why
            self._counts.exempted(attributes)
        return bool(why)

    def _is_class_exempt(self, attributes: Attributes, spec: Object) -> bool:
        if spec.get("runtimeClassName") not in self._exempt.runtime_classes:
            return False
        attributes.annotations[EXEMPT] = "runtimeClass"
        self._counts.exempted(attributes)
        return True

    async def _validate_pod(self, attributes: Attributes) -> None:
        if self._is_exempt(attributes):
            return
        policy = await self._policy(attributes.namespace)
        if policy is None:
            self._counts.failed(attributes, fatal=True)
            raise internal_error(f"failed to lookup namespace {quote(attributes.namespace)}")
        if not policy.concerns_pods:
            attributes.annotations[ENFORCED] = ANYTHING
            self._counts.evaluated(attributes, policy.enforce, ENFORCE, allowed=True)
            return
        pod = attributes.obj or {}
        if attributes.operation is Operation.UPDATE and not _significant(pod, attributes.old or {}):
            return
        if self._is_class_exempt(attributes, pod.get("spec") or {}):
            return
        attributes.annotations[ENFORCED] = str(policy.enforce)
        findings = Findings(pod)
        refused = findings.told(policy.enforce)
        self._counts.evaluated(attributes, policy.enforce, ENFORCE, allowed=not refused)
        self._note(attributes, policy, findings)
        if refused:
            raise denied(attributes, f"violates PodSecurity {refused}")
        self._warn(attributes, policy, findings)

    async def _validate_maker(self, attributes: Attributes, path: Sequence[str]) -> None:
        if self._is_exempt(attributes):
            return
        policy = await self._policy(attributes.namespace)
        # Without its namespace it makes no pods; that is for others to refuse.
        if policy is None:
            self._counts.failed(attributes, fatal=True)
            return
        if not policy.advises:
            return
        template: Any = attributes.obj
        for member in path:
            template = (template or {}).get(member)
        if template and template.get("spec"):
            if self._is_class_exempt(attributes, template["spec"]):
                return
            findings = Findings(template)
            self._note(attributes, policy, findings)
            self._warn(attributes, policy, findings)

    def _note(self, attributes: Attributes, policy: Policy, findings: Findings) -> None:
        """Leave the audit log what it should know."""
        if policy.causes:
            told = aggregate(map(str, policy.causes))
            attributes.annotations[ERROR] = f"Failed to parse policy: {told}"
            self._counts.failed(attributes, fatal=False)
        told = findings.told(policy.audit)
        if told:
            attributes.annotations[AUDITED] = f"would violate PodSecurity {told}"
            self._counts.evaluated(attributes, policy.audit, AUDIT, allowed=False)

    def _warn(self, attributes: Attributes, policy: Policy, findings: Findings) -> None:
        told = findings.told(policy.warn)
        if told:
            attributes.warn([f"would violate PodSecurity {told}"])
            self._counts.evaluated(attributes, policy.warn, WARN, allowed=False)

    async def _validate_namespace(self, attributes: Attributes) -> None:
        policy = self._policy_in(attributes.obj)
        exempt = attributes.name in self._exempt.namespaces
        if attributes.operation is Operation.CREATE:
            if policy.causes:
                raise invalid(attributes.resource.group_kind, attributes.name, policy.causes)
            if exempt:
                self._warn_of_exemption(attributes, policy)
            return
        old = self._policy_in(attributes.old)
        # What was stored before there was a check may stay, but not become another mistake.
        if policy.causes and policy.causes != old.causes:
            raise invalid(attributes.resource.group_kind, attributes.name, policy.causes)
        if not policy.enforce.tightens(old.enforce):
            return
        if exempt:
            self._warn_of_exemption(attributes, policy)
        else:
            attributes.warn(await self._existing(attributes.name, policy.enforce))

    def _policy_in(self, namespace: Object | None) -> Policy:
        labels = ((namespace or {}).get("metadata") or {}).get("labels") or {}
        return policy_of(labels, self._defaults)

    def _warn_of_exemption(self, attributes: Attributes, policy: Policy) -> None:
        """Say that labels of an exempt namespace mean nothing."""
        if not policy.beside(self._defaults):
            return
        labels = ((attributes.obj or {}).get("metadata") or {}).get("labels") or {}
        settings = ", ".join(
            f"{mode}={standard}"
            for mode, standard in (
                ("enforce", policy.enforce),
                ("audit", policy.audit),
                ("warn", policy.warn),
            )
            if standard.level != PRIVILEGED
            and (PREFIX + mode in labels or f"{PREFIX}{mode}-version" in labels)
        )
        text = (
            f"namespace {quote(attributes.name)} is exempt from Pod Security, "
            f"and the policy ({settings}) will be ignored"
        )
        attributes.warn([text])

    async def _existing(self, namespace: str, standard: Standard) -> list[str]:
        """What to say of pods that were there before a namespace's standard."""
        now, deadline = trio.current_time(), trio.current_effective_deadline()
        until = now + min(CHECKING_S, (deadline - now) / 2)
        pods = list(_by_maker(await self._objects.under(f"/registry/pods/{namespace}/")))
        groups: dict[str, list[str]] = {}
        checked = 0
        for pod in pods[:PODS_CHECKED]:
            problems = violations(standard, pod)
            checked += 1
            if problems:
                reasons = ", ".join(each.reason for each in problems)
                groups.setdefault(reasons, []).append(pod["metadata"]["name"])
            if trio.current_time() >= until:
                break
            if not checked % PODS_AT_ONCE:
                await trio.lowlevel.checkpoint()
        told: list[str] = []
        if checked < len(pods):
            told.append(
                "new PodSecurity enforce level only checked against the first "
                f"{checked} of {len(pods)} existing pods"
            )
        if groups:
            told.append(
                f"existing pods in namespace {quote(namespace)} violate the new PodSecurity "
                f"enforce level {quote(str(standard))}"
            )
        return told + sorted(f"{_some(names)}: {reasons}" for reasons, names in groups.items())


class Findings:
    """What a pod violates; each standard is looked at once.

    Args:
        pod: the pod, or a template of pods.
    """

    def __init__(self, pod: Object) -> None:
        self._pod = pod
        self._known: dict[Standard, str] = {}

    def told(self, standard: Standard) -> str:
        """A standard, and what violates it; empty if nothing does."""
        known = self._known.get(standard)
        if known is None:
            text = ", ".join(map(str, violations(standard, self._pod)))
            known = f"{quote(str(standard))}: {text}" if text else ""
            self._known[standard] = known
        return known


def _some(names: Sequence[str]) -> str:
    """The first of some pods, and how many others there are."""
    others = len(names) - 1
    more = f" (and {others} other {plural(others, 'pod')})" if others else ""
    return f"{min(names)}{more}"


def _by_maker(pods: Sequence[Object]) -> Iterator[Object]:
    """Pods, one of each controller before its others: they are all alike."""
    seen: set[str] = set()
    others: list[Object] = []
    for pod in pods:
        owners = pod["metadata"].get("ownerReferences") or ()
        uid = next((owner["uid"] for owner in owners if owner.get("controller")), None)
        if uid in seen:
            others.append(pod)
            continue
        if uid is not None:
            seen.add(uid)
        yield pod
    yield from others


def _significant(pod: Object, old: Object) -> bool:
    """Whether an update changes what standards are about, of what can be changed at all."""
    spec, was = pod["spec"], old.get("spec") or {}
    notes, noted = annotations_of(pod), annotations_of(old)

    def differs(one: Object, two: Object) -> bool:
        key = SECCOMP_CONTAINER + one["name"]
        return one.get("image") != two.get("image") or notes.get(key, "") != noted.get(key, "")

    for member in ("containers", "initContainers"):
        new, before = spec.get(member) or [], was.get(member) or []
        if len(new) != len(before) or any(map(differs, new, before)):
            return True
    known = {each["name"]: each for each in was.get("ephemeralContainers") or ()}
    return any(
        each["name"] not in known or differs(each, known[each["name"]])
        for each in spec.get("ephemeralContainers") or ()
    )
