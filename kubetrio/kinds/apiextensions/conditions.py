"""Conditions of CustomResourceDefinitions.

Source: k8s.io/apiextensions-apiserver/pkg/apihelpers and pkg/controller/{status,establish,
apiapproval,nonstructuralschema}.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kubetrio.gotext.text import aggregate
from kubetrio.machinery.fielderrors import invalid, quote
from kubetrio.machinery.status import Cause

Json = dict[str, Any]
Said = tuple[str, str, str]
"""Status, reason and message of a condition."""

CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
ESTABLISHED: Final = ("True", "InitialNamesAccepted", "the initial names have been accepted")
INSTALLING: Final = ("False", "Installing", "the initial names have been accepted")
NOT_ACCEPTED: Final = ("False", "NotAccepted", "not all names are accepted")
NO_CONFLICTS: Final = ("True", "NoConflicts", "no conflicts found")
BAD_BUNDLE: Final = ("False", "InvalidCABundle", "The conversion webhook CABundle is invalid")
_APPROVALS: Mapping[str, tuple[str, str]] = {
    "invalid": ("False", "InvalidAnnotation"),
    "missing": ("False", "MissingAnnotation"),
    "approved": ("True", "ApprovedAnnotation"),
    "bypassed": ("False", "UnapprovedAnnotation"),
}


def condition(definition: Json, kind: str) -> Json | None:
    """A condition of a definition, None where it has none of that type."""
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one.get("type") == kind), None)


def is_true(definition: Json, kind: str) -> bool:
    """Whether a condition of a definition is true."""
    current = condition(definition, kind)
    return current is not None and current.get("status") == "True"


def says(definition: Json, kind: str, said: Said) -> bool:
    """Whether a condition says just that."""
    current = condition(definition, kind)
    return current is not None and (
        (current.get("status"), current.get("reason"), current.get("message")) == said
    )


def with_condition(definition: Json, kind: str, said: Said | None, now: str) -> Json:
    """A definition with a condition: in the place of the one of its type, or behind the others.

    Args:
        definition: it is not changed.
        kind: type of the condition.
        said: what it says; None takes it out.
        now: when.
    """
    status = definition.get("status") or {}
    before = status.get("conditions") or []
    if said is None:
        after = [one for one in before if one.get("type") != kind]
        return {**definition, "status": {**status, "conditions": after}}
    value, reason, message = said
    new: Json = {
        "type": kind,
        "status": value,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }
    old = condition(definition, kind)
    if old is None:
        after = [*before, new]
    else:
        if old.get("status") == value and old.get("lastTransitionTime"):
            new["lastTransitionTime"] = old["lastTransitionTime"]
        # The generation that a client noted stays.
        new = {**old, **new}
        after = [new if one is old else one for one in before]
    return {**definition, "status": {**status, "conditions": after}}


# --- names ---


class Names(NamedTuple):
    """Which names a definition has, and what its conditions say of that."""

    accepted: Json
    names: Said
    established: Said | None


def taken_by(others: Iterable[Json]) -> tuple[set[str], set[str]]:
    """The names that definitions have: of resources, and of kinds."""
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        names = (other.get("status") or {}).get("acceptedNames") or {}
        resources |= {names.get("plural") or "", names.get("singular") or ""}
        resources |= set(names.get("shortNames") or ())
        kinds |= {names.get("kind") or "", names.get("listKind") or ""}
    return resources, kinds


def accept_names(definition: Json, group: Sequence[Json]) -> Names:
    """Which of its names a definition gets.

    Args:
        definition: the object.
        group: all definitions of its group, itself among them.
    """
    resources, kinds = taken_by(group)
    names = definition["spec"]["names"]
    mine = (definition.get("status") or {}).get("acceptedNames") or {}
    accepted: Json = {"plural": "", "kind": "", **mine}
    said = NO_CONFLICTS

    def settle(name: str, taken: set[str], reason: str) -> None:
        nonlocal said
        asked = names.get(name) or ""
        if asked != (mine.get(name) or "") and asked in taken:
            said = ("False", reason, f"{quote(asked)} is already in use")
        elif asked or name in ("plural", "kind"):
            accepted[name] = asked

    settle("plural", resources, "PluralConflict")
    settle("singular", resources, "SingularConflict")
    short, had = names.get("shortNames") or [], mine.get("shortNames") or []
    if short != had:
        used = [quote(name) for name in short if name not in had and name in resources]
        if used:
            text = aggregate(f"{name} is already in use" for name in used)
            said = ("False", "ShortNamesConflict", text)
        else:
            accepted["shortNames"] = short
    settle("kind", kinds, "KindConflict")
    settle("listKind", kinds, "ListKindConflict")
    accepted["categories"] = names.get("categories") or []
    for name in ("shortNames", "categories"):
        if not accepted.get(name):
            accepted.pop(name, None)
    ordered = {name: accepted[name] for name in _ORDER if name in accepted}
    established: Said | None = None
    if not is_true(definition, "Established"):
        if said == NO_CONFLICTS:
            established = INSTALLING
        elif condition(definition, "Established") is None:
            established = NOT_ACCEPTED
    return Names(ordered, said, established)


_ORDER = ("plural", "singular", "shortNames", "kind", "listKind", "categories")


# --- the others ---


def established(definition: Json) -> Said:
    """What the condition ``Established`` says of a definition whose names were accepted."""
    webhook = (definition["spec"].get("conversion") or {}).get("webhook") or {}
    bundle = (webhook.get("clientConfig") or {}).get("caBundle")
    if not bundle:
        return ESTABLISHED
    from kubetrio.kinds.apiextensions.validation.definitions import valid_bundle

    return ESTABLISHED if valid_bundle(bundle) else BAD_BUNDLE


def approval(definition: Json) -> Said | None:
    """What ``KubernetesAPIApprovalPolicyConformant`` says, None for groups that are no matter."""
    group = definition["spec"]["group"]
    if not f".{group}".endswith((".k8s.io", ".kubernetes.io")):
        return None
    from kubetrio.kinds.apiextensions.validation.approval import approval_state

    state, detail = approval_state(definition)
    text = (definition["metadata"].get("annotations") or {}).get("api-approved.kubernetes.io") or ""
    if state == "approved":
        detail = f"approved in {text}"
    elif state == "bypassed":
        detail = f"not approved: {quote(text)}"
    return (*_APPROVALS[state], detail)


def non_structural(definition: Json) -> Said | None:
    """What ``NonStructuralSchema`` says, None for schemas that are structural."""
    from kubetrio.kinds.apiextensions.validation.structuralschemas import structural

    spec = definition["spec"]
    causes: list[Cause] = []
    if spec.get("preserveUnknownFields"):
        causes.append(invalid("spec.preserveUnknownFields", True, "must be false"))
    for index, version in enumerate(spec.get("versions") or ()):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is not None:
            where = f"spec.versions[{index}].schema.openAPIV3Schema"
            structural(schema, where, causes, compiles=False)
    if not causes:
        return None
    return ("True", "Violations", aggregate(map(str, causes)))
