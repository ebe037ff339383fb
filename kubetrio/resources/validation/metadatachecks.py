"""How often, and in which order, kinds check metadata on an update.

kube-apiserver checks the metadata of an object and that of its change once for every kind, and
again as each kind likes; what is wrong stands in the details of its answer for each of these
checks.  Only kinds that have a check of Kubernetes' own, and not of its library, insist that
finalizers without a domain are standard ones.

A row is a word of letters, one for each check of the kind itself: ``o`` of the object, ``u`` of the
update; a capital letter also looks for unqualified finalizers.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_REGISTRATION = "admissionregistration.k8s.io"
_FLOW = "flowcontrol.apiserver.k8s.io"
_USUAL = "OU"
_USUAL_OF_SUBRESOURCES = "U"
_OTHERS = "u"
"""Kinds that are not built in."""

_OF_KINDS: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("", "configmaps"): "UO",
        ("", "endpoints"): "UO",
        ("", "events"): "",
        ("", "limitranges"): "O",
        ("", "persistentvolumeclaims"): "UO",
        ("", "persistentvolumes"): "OO",
        ("", "pods"): "UO",
        ("", "podtemplates"): "U",
        ("", "replicationcontrollers"): "U",
        ("", "resourcequotas"): "U",
        ("", "secrets"): "UO",
        ("", "serviceaccounts"): "UO",
        ("", "services"): "U",
        (_REGISTRATION, "mutatingadmissionpolicies"): "o",
        (_REGISTRATION, "mutatingadmissionpolicybindings"): "o",
        (_REGISTRATION, "mutatingwebhookconfigurations"): "o",
        (_REGISTRATION, "validatingadmissionpolicies"): "o",
        (_REGISTRATION, "validatingadmissionpolicybindings"): "o",
        (_REGISTRATION, "validatingwebhookconfigurations"): "o",
        ("apiextensions.k8s.io", "customresourcedefinitions"): "u",
        ("apiregistration.k8s.io", "apiservices"): "uo",
        ("apps", "controllerrevisions"): "UO",
        ("apps", "daemonsets"): "U",
        ("apps", "deployments"): "U",
        ("apps", "replicasets"): "U",
        ("apps", "statefulsets"): "U",
        ("autoscaling", "horizontalpodautoscalers"): "U",
        ("batch", "cronjobs"): "U",
        ("coordination.k8s.io", "leases"): "u",
        ("discovery.k8s.io", "endpointslices"): "O",
        ("events.k8s.io", "events"): "U",
        (_FLOW, "flowschemas"): "O",
        (_FLOW, "prioritylevelconfigurations"): "O",
        ("networking.k8s.io", "ingressclasses"): "UO",
        ("networking.k8s.io", "ingresses"): "UO",
        ("networking.k8s.io", "networkpolicies"): "U",
        ("networking.k8s.io", "servicecidrs"): "U",
        ("node.k8s.io", "runtimeclasses"): "ou",
        ("policy", "poddisruptionbudgets"): "",
        ("resource.k8s.io", "resourceslices"): "U",
        ("scheduling.k8s.io", "priorityclasses"): "U",
        ("storage.k8s.io", "csidrivers"): "U",
        ("storage.k8s.io", "csinodes"): "O",
        ("storage.k8s.io", "volumeattachments"): "O",
        ("storage.k8s.io", "volumeattributesclasses"): "UO",
    }
)

_OF_SUBRESOURCES: Mapping[tuple[str, str, str], str] = MappingProxyType(
    {
        ("", "pods", "ephemeralcontainers"): "UO",
        ("", "pods", "resize"): "UO",
        (_REGISTRATION, "validatingadmissionpolicies", "status"): "",
        ("apiextensions.k8s.io", "customresourcedefinitions", "status"): "u",
        ("apiregistration.k8s.io", "apiservices", "status"): "u",
        ("batch", "cronjobs", "status"): "",
        ("certificates.k8s.io", "certificatesigningrequests", "approval"): "OU",
        ("certificates.k8s.io", "certificatesigningrequests", "status"): "OU",
        ("policy", "poddisruptionbudgets", "status"): "",
        ("storage.k8s.io", "volumeattachments", "status"): "",
    }
)


def checks_of(group: str, plural: str, subresource: str = "", *, known: bool = True) -> str:
    """The checks of a kind, as above.

    Args:
        group: API group.
        plural: plural name.
        subresource: where is written, empty for the object itself.
        known: whether the kind is built in.
    """
    if not known:
        return _OTHERS
    if subresource:
        usual = _USUAL_OF_SUBRESOURCES
        return _OF_SUBRESOURCES.get((group, plural, subresource), usual)
    return _OF_KINDS.get((group, plural), _USUAL)


def insists_on_qualified(checks: str) -> bool:
    """Whether some check looks for finalizers without a domain."""
    return any(check.isupper() for check in checks)
