"""How the kinds check ``metadata``: which names they take, and how often a cause is listed.

kube-apiserver checks metadata once for every kind, and most kinds check it again: on create
instead of that, on update beside it.  What is wrong stands in the details for each of these rounds.

Source: "Object Names and IDs" and "Finalizers" in the documentation; the number of rounds is what
a kube-apiserver 1.36 was seen to list, kind by kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.names_validation import (
    NAME_CHECKS,
    NameCheck,
    any_name,
    dns1123_subdomain,
    long_name,
    path_segment,
)
from kubetrio.machinery.objectmeta import (
    repeated,
    validate_names,
    validate_object_meta,
    validate_object_meta_update,
)
from kubetrio.machinery.status import Cause
from kubetrio.resources.strategy import strategy_of
from kubetrio.resources.validation.addresses import canonical_ip_messages
from kubetrio.resources.validation.model import Json, member
from kubetrio.schema.registry import ResourceType

Rounds = tuple[int, int]
"""How often a kind checks, on an update, the metadata of the object and that of the change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRules:
    """What a kind checks of metadata itself.

    Args:
        created: whether it checks a new object; if not, metadata are looked at when nothing else is
            wrong, and any name that fits into a path will do.
        updated: its rounds when the object is updated.
        subresources: its rounds where a subresource is written, where they are others than
            :data:`SUBRESOURCE`.
        change_first: whether it checks the change before the object.
        standard_finalizers: whether finalizers without a domain must be standard ones.
        name: the check of names, made from the object; None for that of the class in
            ``schemas/names.json``.
    """

    created: bool = True
    updated: Rounds = (1, 1)
    subresources: Mapping[str, Rounds] = field(default_factory=dict)
    change_first: bool = False
    standard_finalizers: bool = True
    name: Callable[[Json], NameCheck] | None = None


SUBRESOURCE: Rounds = (0, 1)
"""The rounds of most subresources."""


# --- names that follow from the object, or are of no class ---


def _definition_name(obj: Json) -> NameCheck:
    spec = member(obj, "spec")
    wanted = f"{member(spec, 'names').get('plural') or ''}.{spec.get('group') or ''}"

    def check(name: str, prefix: bool) -> list[str]:
        messages = dns1123_subdomain(name, prefix)
        return messages if name == wanted else [*messages, _DEFINITION_NAME]

    return check


_DEFINITION_NAME = 'must be spec.names.plural+"."+spec.group'


def _service_name(obj: Json) -> NameCheck:
    spec = member(obj, "spec")
    wanted = f"{spec.get('version') or ''}.{spec.get('group') or ''}"
    detail = f'must be `spec.version+"."+spec.group`: {quote(wanted)}'

    def check(name: str, _prefix: bool) -> list[str]:
        return path_segment(name) or ([] if name == wanted else [detail])

    return check


def _address_name(_: Json) -> NameCheck:
    return lambda name, _prefix: canonical_ip_messages(name)


def _always(check: NameCheck) -> Callable[[Json], NameCheck]:
    return lambda _: check


_LOOSE = (any_name, long_name)
"""Checks that let names or prefixes pass that do not fit into a path."""


# --- the kinds ---

_USUAL = MetadataRules()
_CHANGE_FIRST = MetadataRules(change_first=True)
_CHANGE = MetadataRules(updated=(0, 1))
_OBJECT = MetadataRules(updated=(1, 0))
_UNCHECKED = MetadataRules(
    created=False, updated=(0, 0), subresources={"status": (0, 0)}, standard_finalizers=False
)
_ADMISSION = MetadataRules(
    updated=(1, 0), subresources={"status": (0, 0)}, standard_finalizers=False
)

RULES: Mapping[tuple[str, str], MetadataRules] = MappingProxyType(
    {
        ("", "configmaps"): _CHANGE_FIRST,
        ("", "endpoints"): _CHANGE_FIRST,
        ("", "events"): _UNCHECKED,
        ("", "limitranges"): _OBJECT,
        ("", "persistentvolumeclaims"): _CHANGE_FIRST,
        ("", "persistentvolumes"): MetadataRules(updated=(2, 0)),
        ("", "pods"): MetadataRules(
            change_first=True, subresources={"ephemeralcontainers": (1, 1), "resize": (1, 1)}
        ),
        ("", "podtemplates"): _CHANGE,
        ("", "replicationcontrollers"): MetadataRules(updated=(0, 1), name=_always(long_name)),
        ("", "resourcequotas"): _CHANGE,
        ("", "secrets"): _CHANGE_FIRST,
        ("", "serviceaccounts"): _CHANGE_FIRST,
        ("", "services"): _CHANGE,
        ("admissionregistration.k8s.io", "mutatingadmissionpolicies"): _ADMISSION,
        ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"): _ADMISSION,
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): _ADMISSION,
        ("admissionregistration.k8s.io", "validatingadmissionpolicies"): _ADMISSION,
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"): _ADMISSION,
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): _ADMISSION,
        ("apiextensions.k8s.io", "customresourcedefinitions"): MetadataRules(
            updated=(0, 1), standard_finalizers=False, name=_definition_name
        ),
        ("apiregistration.k8s.io", "apiservices"): MetadataRules(
            change_first=True, standard_finalizers=False, name=_service_name
        ),
        ("apps", "controllerrevisions"): _CHANGE_FIRST,
        ("apps", "daemonsets"): _CHANGE,
        ("apps", "deployments"): _CHANGE,
        ("apps", "replicasets"): _CHANGE,
        ("apps", "statefulsets"): _CHANGE,
        ("autoscaling", "horizontalpodautoscalers"): _CHANGE,
        ("batch", "cronjobs"): MetadataRules(updated=(0, 1), subresources={"status": (0, 0)}),
        ("certificates.k8s.io", "certificatesigningrequests"): MetadataRules(
            subresources={"approval": (1, 1), "status": (1, 1)}, name=_always(any_name)
        ),
        ("coordination.k8s.io", "leases"): MetadataRules(updated=(0, 1), standard_finalizers=False),
        ("discovery.k8s.io", "endpointslices"): _OBJECT,
        ("events.k8s.io", "events"): _CHANGE,
        ("flowcontrol.apiserver.k8s.io", "flowschemas"): _OBJECT,
        ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): _OBJECT,
        ("networking.k8s.io", "ingressclasses"): _CHANGE_FIRST,
        ("networking.k8s.io", "ingresses"): _CHANGE_FIRST,
        ("networking.k8s.io", "ipaddresses"): MetadataRules(name=_address_name),
        ("networking.k8s.io", "networkpolicies"): _CHANGE,
        ("networking.k8s.io", "servicecidrs"): _CHANGE,
        ("node.k8s.io", "runtimeclasses"): MetadataRules(standard_finalizers=False),
        ("policy", "poddisruptionbudgets"): _UNCHECKED,
        ("resource.k8s.io", "deviceclasses"): MetadataRules(name=_always(long_name)),
        ("resource.k8s.io", "resourceslices"): _CHANGE,
        ("scheduling.k8s.io", "priorityclasses"): _CHANGE,
        ("storage.k8s.io", "csidrivers"): _CHANGE,
        ("storage.k8s.io", "csinodes"): _OBJECT,
        ("storage.k8s.io", "volumeattachments"): MetadataRules(
            updated=(1, 0), subresources={"status": (1, 0)}
        ),
        ("storage.k8s.io", "volumeattributesclasses"): _CHANGE_FIRST,
    }
)
"""Rules by (group, plural name), of the kinds that do not check metadata once in every way."""


def _rules_of(resource: ResourceType) -> MetadataRules:
    """How a kind checks metadata, of the group whose rules count."""
    return RULES.get((resource.group, resource.resource), _USUAL)


def _name_check(rules: MetadataRules, resource: ResourceType, obj: Json) -> NameCheck:
    return rules.name(obj) if rules.name else NAME_CHECKS[strategy_of(resource).name_rule]


def with_metadata_of_new(resource: ResourceType, obj: Json, causes: list[Cause]) -> list[Cause]:
    """All that is wrong with an object to be created.

    Args:
        resource: the resource in the version the object is written in.
        obj: the object, its name generated.
        causes: what is wrong with everything but its metadata.
    """
    rules, meta = _rules_of(resource), obj["metadata"]
    if rules.created:
        check = _name_check(rules, resource, obj)
        found = validate_object_meta(
            meta,
            namespaced=resource.namespaced,
            name_check=check,
            standard_finalizers=rules.standard_finalizers,
        )
        causes = found + causes
        if check not in _LOOSE:
            return causes
    if causes:
        return causes
    return validate_object_meta(
        meta, namespaced=resource.namespaced, name_check=path_segment, standard_finalizers=False
    )


def metadata_of_change(
    resource: ResourceType, new: Json, old: Json, subresource: str = ""
) -> list[Cause]:
    """What is wrong with the metadata of an update, for each time that it is checked.

    Args:
        resource: the resource in the version both objects are written in.
        new: the object as it would be stored.
        old: the object as it is stored.
        subresource: where it is written, empty for the object itself.
    """
    rules, meta = _rules_of(resource), new["metadata"]
    rounds = rules.subresources.get(subresource, SUBRESOURCE) if subresource else rules.updated
    causes = validate_object_meta_update(
        meta, old["metadata"], standard_finalizers=rules.standard_finalizers
    )
    common: list[Cause] = []
    own: list[Cause] = []
    # Any name that is stored is a segment of a path.
    if rules.name is not None or "generateName" in meta:
        common = validate_names(meta, path_segment)
        own = validate_names(meta, _name_check(rules, resource, new)) if rounds[0] else []
    if not causes and not common and not own:
        return causes
    return repeated(causes, *rounds, updates_first=rules.change_first, names=(common, own))
