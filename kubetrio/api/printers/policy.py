"""Who may do what and how much of it: RBAC, certificates, admission, flow control, disruption."""

from __future__ import annotations

from typing import Any

from kubetrio.api.printers.helpers import (
    NONE,
    UNSET,
    age,
    condition,
    duration,
    field,
    items,
    name,
    number,
    optional,
    text,
)
from kubetrio.api.printers.model import Cells, GroupResourceKey, Json

ADMISSION = "admissionregistration.k8s.io"
FLOW_CONTROL = "flowcontrol.apiserver.k8s.io"
RBAC = "rbac.authorization.k8s.io"


def role_binding(obj: Json, now: float) -> list[Any]:
    """Name, Role, Age, Users, Groups, ServiceAccounts."""
    role = obj.get("roleRef")
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in items(obj, "subjects"):
        kind, subject_name = text(subject, "kind"), text(subject, "name")
        if kind == "ServiceAccount":
            subject_name = f"{text(subject, 'namespace')}/{subject_name}"
        subjects.setdefault(kind, []).append(subject_name)
    return [
        name(obj),
        f"{text(role, 'kind')}/{text(role, 'name')}",
        age(obj, now),
        *(", ".join(subjects[kind]) for kind in ("User", "Group", "ServiceAccount")),
    ]


def _request_condition(obj: Json) -> str:
    if condition(obj, "Denied"):
        words = ["Denied"]
    else:
        words = ["Approved" if condition(obj, "Approved") else "Pending"]
    if condition(obj, "Failed"):
        words.append("Failed")
    if field(obj, "status", "certificate"):
        words.append("Issued")
    return ",".join(words)


def certificate_signing_request(obj: Json, now: float) -> list[Any]:
    """Name, Age, SignerName, Requestor, RequestedDuration, Condition."""
    seconds = field(obj, "spec", "expirationSeconds")
    return [
        name(obj),
        age(obj, now),
        text(obj, "spec", "signerName") or NONE,
        text(obj, "spec", "username"),
        NONE if seconds is None else duration(seconds),
        _request_condition(obj),
    ]


def webhook_configuration(obj: Json, now: float) -> list[Any]:
    """Name, Webhooks, Age."""
    return [name(obj), len(items(obj, "webhooks")), age(obj, now)]


def _admission_policy(obj: Json, rules: str, now: float) -> list[Any]:
    kind = field(obj, "spec", "paramKind")
    parameters = UNSET if kind is None else f"{text(kind, 'apiVersion')}/{text(kind, 'kind')}"
    return [name(obj), len(items(obj, "spec", rules)), parameters, age(obj, now)]


def validating_admission_policy(obj: Json, now: float) -> list[Any]:
    """Name, Validations, ParamKind, Age."""
    return _admission_policy(obj, "validations", now)


def mutating_admission_policy(obj: Json, now: float) -> list[Any]:
    """Name, Mutations, ParamKind, Age."""
    return _admission_policy(obj, "mutations", now)


def _go_selector(selector: Json) -> str:
    """A ``LabelSelector`` as Go prints the structure, which is what the column shows."""
    labels = field(selector, "matchLabels") or {}
    pairs = "".join(f"{key}: {labels[key]}," for key in sorted(labels))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{text(each, 'key')},Operator:{text(each, 'operator')},"
        f"Values:[{' '.join(items(each, 'values'))}],}},"
        for each in items(selector, "matchExpressions")
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


def admission_policy_binding(obj: Json, now: float) -> list[Any]:
    """Name, PolicyName, ParamRef, Age."""
    reference = field(obj, "spec", "paramRef")
    parameters = UNSET
    if text(reference, "name"):
        # Whether the parameters have a namespace is not known here: a star stands for both.
        parameters = f"{text(reference, 'namespace') or '*'}/{text(reference, 'name')}"
    elif field(reference, "selector") is not None:
        parameters = _go_selector(field(reference, "selector"))
    return [name(obj), text(obj, "spec", "policyName"), parameters, age(obj, now)]


def flow_schema(obj: Json, now: float) -> list[Any]:
    """Name, PriorityLevel, MatchingPrecedence, DistinguisherMethod, Age, MissingPL."""
    method = field(obj, "spec", "distinguisherMethod")
    dangling = condition(obj, "Dangling")
    return [
        name(obj),
        text(obj, "spec", "priorityLevelConfiguration", "name"),
        number(obj, "spec", "matchingPrecedence"),
        NONE if method is None else text(method, "type"),
        age(obj, now),
        "?" if dangling is None else text(dangling, "status"),
    ]


def flow_schema_order(obj: Json) -> tuple[int, str]:
    """Flow schemas are listed in the order in which requests are matched to them."""
    return number(obj, "spec", "matchingPrecedence"), name(obj)


def priority_level_configuration(obj: Json, now: float) -> list[Any]:
    """Name, Type, NominalConcurrencyShares, Queues, HandSize, QueueLengthLimit, Age."""
    limited = field(obj, "spec", "limited")
    queuing = field(limited, "limitResponse", "queuing")
    queues: list[Any] = [NONE] * 3
    if queuing is not None:
        queues = [number(queuing, key) for key in ("queues", "handSize", "queueLengthLimit")]
    return [
        name(obj),
        text(obj, "spec", "type"),
        NONE if limited is None else number(limited, "nominalConcurrencyShares"),
        *queues,
        age(obj, now),
    ]


def pod_disruption_budget(obj: Json, now: float) -> list[Any]:
    """Name, Min Available, Max Unavailable, Allowed Disruptions, Age."""
    return [
        name(obj),
        optional(field(obj, "spec", "minAvailable"), "N/A"),
        optional(field(obj, "spec", "maxUnavailable"), "N/A"),
        number(obj, "status", "disruptionsAllowed"),
        age(obj, now),
    ]


def priority_class(obj: Json, now: float) -> list[Any]:
    """Name, Value, Global-Default, Age, PreemptionPolicy."""
    return [
        name(obj),
        number(obj, "value"),
        bool(obj.get("globalDefault")),
        age(obj, now),
        text(obj, "preemptionPolicy"),
    ]


CELLS: dict[GroupResourceKey, Cells] = {
    (ADMISSION, "mutatingadmissionpolicies"): mutating_admission_policy,
    (ADMISSION, "mutatingadmissionpolicybindings"): admission_policy_binding,
    (ADMISSION, "mutatingwebhookconfigurations"): webhook_configuration,
    (ADMISSION, "validatingadmissionpolicies"): validating_admission_policy,
    (ADMISSION, "validatingadmissionpolicybindings"): admission_policy_binding,
    (ADMISSION, "validatingwebhookconfigurations"): webhook_configuration,
    ("certificates.k8s.io", "certificatesigningrequests"): certificate_signing_request,
    (FLOW_CONTROL, "flowschemas"): flow_schema,
    (FLOW_CONTROL, "prioritylevelconfigurations"): priority_level_configuration,
    ("policy", "poddisruptionbudgets"): pod_disruption_budget,
    (RBAC, "clusterrolebindings"): role_binding,
    (RBAC, "rolebindings"): role_binding,
    ("scheduling.k8s.io", "priorityclasses"): priority_class,
}
