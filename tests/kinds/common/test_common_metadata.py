"""How often causes about metadata are listed, by kind, and which names kinds take."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.kinds.builtin import registry
from kubetrio.machinery.status import Cause
from kubetrio.resources.validation import metadata_of_change, with_metadata_of_new
from kubetrio.schema.kind import Kind

Json = dict[str, Any]
STORED: Json = {
    "uid": "u",
    "resourceVersion": "5",
    "creationTimestamp": "2024-01-01T00:00:00Z",
}
NAMES = {
    "apiservices": "v1.example.com",
    "customresourcedefinitions": "things.example.com",
    "ipaddresses": "2001:db8::1",
}
SPECS: dict[str, Json] = {
    "apiservices": {"group": "example.com", "version": "v1"},
    "customresourcedefinitions": {"group": "example.com", "names": {"plural": "things"}},
}
# What a kube-apiserver 1.36 listed: how often a changed deletionGracePeriodSeconds, a label that is
# bad, a finalizer without a domain, and one with a domain whose name is bad.
ROUNDS = (
    ("", "configmaps", "", 2, 4, 2, 2),
    ("", "endpoints", "", 2, 4, 2, 2),
    ("", "events", "", 1, 2, 0, 1),
    ("", "limitranges", "", 1, 3, 1, 2),
    ("", "namespaces", "", 2, 4, 2, 2),
    ("", "namespaces", "finalize", 2, 3, 1, 1),
    ("", "namespaces", "status", 2, 3, 1, 1),
    ("", "nodes", "", 2, 4, 2, 2),
    ("", "nodes", "status", 2, 3, 1, 1),
    ("", "persistentvolumeclaims", "", 2, 4, 2, 2),
    ("", "persistentvolumeclaims", "status", 2, 3, 1, 1),
    ("", "persistentvolumes", "", 1, 4, 2, 3),
    ("", "persistentvolumes", "status", 2, 3, 1, 1),
    ("", "pods", "", 2, 4, 2, 2),
    ("", "pods", "status", 2, 3, 1, 1),
    ("", "podtemplates", "", 2, 3, 1, 1),
    ("", "replicationcontrollers", "", 2, 3, 1, 1),
    ("", "replicationcontrollers", "status", 2, 3, 1, 1),
    ("", "resourcequotas", "", 2, 3, 1, 1),
    ("", "resourcequotas", "status", 2, 3, 1, 1),
    ("", "secrets", "", 2, 4, 2, 2),
    ("", "serviceaccounts", "", 2, 4, 2, 2),
    ("", "services", "", 2, 3, 1, 1),
    ("", "services", "status", 2, 3, 1, 1),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies", "", 1, 3, 0, 2),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings", "", 1, 3, 0, 2),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "", 1, 3, 0, 2),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies", "", 1, 3, 0, 2),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings", "", 1, 3, 0, 2),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations", "", 1, 3, 0, 2),
    ("apiextensions.k8s.io", "customresourcedefinitions", "", 2, 3, 0, 1),
    ("apiextensions.k8s.io", "customresourcedefinitions", "status", 2, 3, 0, 1),
    ("apiregistration.k8s.io", "apiservices", "", 2, 4, 0, 2),
    ("apps", "controllerrevisions", "", 2, 4, 2, 2),
    ("apps", "daemonsets", "", 2, 3, 1, 1),
    ("apps", "daemonsets", "status", 2, 3, 1, 1),
    ("apps", "deployments", "", 2, 3, 1, 1),
    ("apps", "replicasets", "", 2, 3, 1, 1),
    ("apps", "replicasets", "status", 2, 3, 1, 1),
    ("apps", "statefulsets", "", 2, 3, 1, 1),
    ("apps", "statefulsets", "status", 2, 3, 1, 1),
    ("autoscaling", "horizontalpodautoscalers", "", 2, 3, 1, 1),
    ("autoscaling", "horizontalpodautoscalers", "status", 2, 3, 1, 1),
    ("batch", "cronjobs", "", 2, 3, 1, 1),
    ("batch", "cronjobs", "status", 1, 2, 0, 1),
    ("batch", "jobs", "", 2, 4, 2, 2),
    ("batch", "jobs", "status", 2, 3, 1, 1),
    ("certificates.k8s.io", "certificatesigningrequests", "", 2, 4, 2, 2),
    ("certificates.k8s.io", "certificatesigningrequests", "approval", 2, 4, 2, 2),
    ("certificates.k8s.io", "certificatesigningrequests", "status", 2, 4, 2, 2),
    ("coordination.k8s.io", "leases", "", 2, 3, 0, 1),
    ("discovery.k8s.io", "endpointslices", "", 1, 3, 1, 2),
    ("events.k8s.io", "events", "", 2, 3, 1, 1),
    ("flowcontrol.apiserver.k8s.io", "flowschemas", "", 1, 3, 1, 2),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", "", 1, 3, 1, 2),
    ("networking.k8s.io", "ingressclasses", "", 2, 4, 2, 2),
    ("networking.k8s.io", "ingresses", "", 2, 4, 2, 2),
    ("networking.k8s.io", "ingresses", "status", 2, 3, 1, 1),
    ("networking.k8s.io", "ipaddresses", "", 2, 4, 2, 2),
    ("networking.k8s.io", "networkpolicies", "", 2, 3, 1, 1),
    ("networking.k8s.io", "servicecidrs", "", 2, 3, 1, 1),
    ("node.k8s.io", "runtimeclasses", "", 2, 4, 0, 2),
    ("policy", "poddisruptionbudgets", "", 1, 2, 0, 1),
    ("policy", "poddisruptionbudgets", "status", 1, 2, 0, 1),
    ("rbac.authorization.k8s.io", "clusterrolebindings", "", 2, 4, 2, 2),
    ("rbac.authorization.k8s.io", "clusterroles", "", 2, 4, 2, 2),
    ("rbac.authorization.k8s.io", "rolebindings", "", 2, 4, 2, 2),
    ("rbac.authorization.k8s.io", "roles", "", 2, 4, 2, 2),
    ("resource.k8s.io", "deviceclasses", "", 2, 4, 2, 2),
    ("resource.k8s.io", "resourceclaims", "", 2, 4, 2, 2),
    ("resource.k8s.io", "resourceclaimtemplates", "", 2, 4, 2, 2),
    ("resource.k8s.io", "resourceslices", "", 2, 3, 1, 1),
    ("scheduling.k8s.io", "priorityclasses", "", 2, 3, 1, 1),
    ("storage.k8s.io", "csidrivers", "", 2, 3, 1, 1),
    ("storage.k8s.io", "csinodes", "", 1, 3, 1, 2),
    ("storage.k8s.io", "csistoragecapacities", "", 2, 4, 2, 2),
    ("storage.k8s.io", "storageclasses", "", 2, 4, 2, 2),
    ("storage.k8s.io", "volumeattachments", "", 1, 3, 1, 2),
    ("storage.k8s.io", "volumeattributesclasses", "", 2, 4, 2, 2),
)
"""Group, plural name, subresource, and the four numbers."""


def kind(group: str, plural: str) -> Kind:
    """A built-in resource in any of its versions."""
    found = registry().resources.values()
    return next(item for item in found if (item.group, item.resource) == (group, plural))


def stored(resource: Kind, **meta: Any) -> Json:
    """A good object, its metadata changed."""
    plural = resource.resource
    named = {"name": NAMES.get(plural, "n"), **STORED}
    if resource.namespaced:
        named["namespace"] = "ns"
    obj: Json = {"metadata": {**named, **meta}}
    if plural in SPECS:
        obj["spec"] = SPECS[plural]
    return obj


def new(group: str, plural: str, causes: list[Cause] | None = None, **meta: Any) -> list[str]:
    """Messages about an object to be created."""
    resource = kind(group, plural)
    found = with_metadata_of_new(resource, stored(resource, **meta), causes or [])
    return [cause.message for cause in found]


@pytest.mark.parametrize("row", ROUNDS, ids=lambda row: "/".join(row[:3]))
def test_causes_are_listed_as_often_as_a_kind_is_checked(row: Any) -> None:
    """By the checks of all kinds, and by its own."""
    group, plural, subresource, *times = row
    resource = kind(group, plural)
    changes: list[Json] = [
        {"deletionGracePeriodSeconds": 7},
        {"labels": {"a": "b c"}},
        {"finalizers": ["plain"]},
        {"finalizers": ["example.com/a b"]},
    ]
    found = [
        metadata_of_change(resource, stored(resource, **change), stored(resource), subresource)
        for change in changes
    ]
    assert [len(causes) for causes in found] == times


def test_every_kind_is_in_the_table() -> None:
    """A kind that can be updated has a row here, so that no default stands for it unseen."""
    there = {(group, plural) for group, plural, *_ in ROUNDS}
    updated = {
        (item.group, item.resource)
        for item in registry().resources.values()
        if "update" in item.verbs
    }
    assert updated <= there


@pytest.mark.parametrize(
    ("plural", "change_first"), [("configmaps", True), ("namespaces", False), ("pods", True)]
)
def test_rounds_have_an_order(plural: str, *, change_first: bool) -> None:
    """Some kinds look at the change before they look at the object."""
    resource = kind("", plural)
    bad = stored(resource, labels={"a": "!"}, finalizers=["a b"])
    causes = metadata_of_change(resource, bad, stored(resource))
    fields = [cause.field.removeprefix("metadata.") for cause in causes]
    of_object, of_change = ["labels", "finalizers", "finalizers[0]"], ["labels", "finalizers[0]"]
    own = of_change + of_object if change_first else of_object + of_change
    assert fields == ["labels", "finalizers", "labels", *own]


@pytest.mark.parametrize(
    ("group", "plural", "refused"),
    [
        ("", "configmaps", True),
        ("", "events", False),
        ("events.k8s.io", "events", True),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations", False),
        ("apiextensions.k8s.io", "customresourcedefinitions", False),
        ("apiregistration.k8s.io", "apiservices", False),
        ("coordination.k8s.io", "leases", False),
        ("node.k8s.io", "runtimeclasses", False),
        ("policy", "poddisruptionbudgets", False),
        ("scheduling.k8s.io", "priorityclasses", True),
    ],
)
def test_who_accepts_finalizers_without_a_domain(group: str, plural: str, *, refused: bool) -> None:
    """Most kinds only take the standard ones."""
    assert bool(new(group, plural, finalizers=["plain"])) is refused
    assert new(group, plural, finalizers=["orphan"]) == []


SUBDOMAIN = "a lowercase RFC 1123 subdomain must consist of"


@pytest.mark.parametrize(
    ("group", "plural", "name", "words"),
    [
        ("", "configmaps", "a" * 254, ["must be no more than 253 characters"]),
        ("", "replicationcontrollers", "a" * 254, ["must be no more than 253 bytes"]),
        ("resource.k8s.io", "deviceclasses", "a" * 254, ["must be no more than 253 bytes"]),
        ("", "configmaps", "a:b", [SUBDOMAIN]),
        ("", "events", "A:b", []),
        ("", "events", "a%b", ["may not contain '%'"]),
        ("events.k8s.io", "events", "A:b", [SUBDOMAIN]),
        ("certificates.k8s.io", "certificatesigningrequests", "A:b\n", []),
        ("certificates.k8s.io", "certificatesigningrequests", "..", ["may not be '..'"]),
        ("rbac.authorization.k8s.io", "roles", "system:A", []),
        ("networking.k8s.io", "ipaddresses", "10.1.2.3", []),
        ("networking.k8s.io", "ipaddresses", "2001:db8::1", []),
        ("networking.k8s.io", "ipaddresses", "10.1.2.03", ["must not have leading 0s"]),
        (
            "networking.k8s.io",
            "ipaddresses",
            "2001:DB8:0::1",
            ['must be in canonical form ("2001:db8::1")'],
        ),
        (
            "networking.k8s.io",
            "ipaddresses",
            "a",
            ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"],
        ),
        (
            "apiregistration.k8s.io",
            "apiservices",
            "A",
            ['must be `spec.version+"."+spec.group`: "v1.example.com"'],
        ),
        ("apiregistration.k8s.io", "apiservices", "a/b", ["may not contain '/'"]),
        (
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            "A",
            [SUBDOMAIN, 'must be spec.names.plural+"."+spec.group'],
        ),
    ],
)
def test_names(group: str, plural: str, name: str, words: list[str]) -> None:
    """Each kind has its rule, and most have a DNS subdomain."""
    messages = new(group, plural, name=name)
    assert len(messages) == len(words)
    assert all(word in message for word, message in zip(words, messages, strict=True))


@pytest.mark.parametrize(
    ("group", "plural", "base", "good"),
    [
        ("", "configmaps", "a" * 300, False),
        ("", "replicationcontrollers", "a" * 300, True),
        ("", "replicationcontrollers", "a/", False),
        ("", "events", "..", True),
        ("rbac.authorization.k8s.io", "roles", "..", False),
    ],
)
def test_what_names_are_made_from(group: str, plural: str, base: str, *, good: bool) -> None:
    """Two kinds check the name only; roles check what is no name yet as if it were one."""
    assert (not new(group, plural, generateName=base)) is good


def test_kinds_that_do_not_look_at_new_metadata_have_it_checked_last() -> None:
    """When nothing else is wrong."""
    wrong = Cause("FieldValueRequired", "Required value", "reason")
    labels = {"a": "b c"}
    assert new("", "events", [wrong], labels=labels) == ["Required value"]
    assert len(new("", "configmaps", [wrong], labels=labels)) == 2
    (message,) = new("", "events", labels=labels)
    assert message.startswith('Invalid value: "b c": a valid label must be')


def test_a_name_that_follows_from_the_object_is_checked_again() -> None:
    """When what it follows from changes."""
    resource = kind("apiregistration.k8s.io", "apiservices")
    old = stored(resource)
    changed = {**old, "spec": {**SPECS["apiservices"], "version": "v2"}}
    (cause,) = metadata_of_change(resource, changed, old)
    assert cause.message.endswith('must be `spec.version+"."+spec.group`: "v2.example.com"')


def test_what_a_name_was_made_from_may_change_into_something_bad() -> None:
    """Which is told by the check of all kinds, and by those that check the object."""
    resource = kind("", "pods")
    causes = metadata_of_change(resource, stored(resource, generateName="a/"), stored(resource))
    texts = [cause.message for cause in causes]
    assert texts[0] == "Invalid value: \"a/\": may not contain '/'"
    assert SUBDOMAIN in texts[1]
    assert {cause.field for cause in causes} == {"metadata.generateName"}
    bad = stored(resource, generateName="Bad_")
    assert len(metadata_of_change(resource, bad, stored(resource))) == 1
