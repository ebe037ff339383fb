"""Strategies: rows of facts about kinds."""

from __future__ import annotations

import pytest

from kubetrio.kinds.builtin import registry
from kubetrio.kinds.parts import collection_path
from kubetrio.machinery.names_validation import NAME_CHECKS
from kubetrio.schema import builtin
from kubetrio.schema.kind import Strategy


def strategy(group: str, version: str, plural: str) -> Strategy:
    return registry().resources[group, version, plural].strategy


@pytest.mark.parametrize(
    ("key", "path"),
    [
        (("", "v1", "pods"), "/api/v1/pods"),
        (("apps", "v1", "deployments"), "/apis/apps/v1/deployments"),
    ],
)
def test_the_path_of_a_collection(key: tuple[str, str, str], path: str) -> None:
    """The core group lives under ``/api``."""
    assert collection_path(registry().resources[key]) == path


def test_every_resource_has_a_name_rule_that_exists() -> None:
    """No create may fail for want of a rule."""
    for resource in registry().resources.values():
        assert resource.strategy.name_rule in NAME_CHECKS


def test_policies_and_webhooks_are_updated_by_who_saw_them() -> None:
    """An update of these has to name the version that it changes."""
    key = ("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations")
    assert not strategy(*key).unconditional_update
    assert strategy("", "v1", "configmaps").unconditional_update


@pytest.mark.parametrize(
    ("key", "counts"),
    [
        (("apps", "v1", "deployments"), True),
        (("", "v1", "pods"), True),
        (("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations"), True),
        (("", "v1", "configmaps"), False),
        (("", "v1", "secrets"), False),
    ],
)
def test_which_kinds_count_generations(key: tuple[str, str, str], counts: bool) -> None:
    """Kinds with a desired state do, plain data does not."""
    assert strategy(*key).generation is counts


@pytest.mark.parametrize(
    ("key", "begins", "counts"),
    [
        (("networking.k8s.io", "v1", "ingresses"), True, True),
        (("scheduling.k8s.io", "v1", "priorityclasses"), True, False),
        (("storage.k8s.io", "v1", "csidrivers"), False, True),
        (("storage.k8s.io", "v1", "csinodes"), False, False),
    ],
)
def test_generations_begin_and_count(key: tuple[str, str, str], begins: bool, counts: bool) -> None:
    """Mostly both or neither."""
    found = strategy(*key)
    assert (found.generation, found.generation_counts) == (begins, counts)


def test_labels_of_endpoint_slices_count() -> None:
    """Other metadata of theirs does not."""
    key = ("discovery.k8s.io", "v1", "endpointslices")
    assert strategy(*key).generation_metadata == ("labels",)


def test_annotations_of_deployments_count() -> None:
    """Deployments are the kind whose annotations are part of what is wanted."""
    assert strategy("apps", "v1", "deployments").generation_metadata == ("annotations",)
    assert strategy("apps", "v1", "statefulsets").generation_metadata == ()


def test_only_pods_wait_for_a_kubelet() -> None:
    """Graceful deletion is for what somebody runs."""
    graceful = {r.resource for r in registry().resources.values() if r.strategy.graceful}
    assert graceful == {"pods"}


def test_leases_are_made_by_put() -> None:
    """A PUT to a missing Lease creates it, one to a missing ConfigMap does not."""
    assert strategy("coordination.k8s.io", "v1", "leases").create_on_update
    assert strategy("", "v1", "events").create_on_update
    assert not strategy("", "v1", "configmaps").create_on_update


def test_status_is_a_subresource_where_there_is_one() -> None:
    """It decides who may write it."""
    assert strategy("apps", "v1", "deployments").status
    assert not strategy("", "v1", "configmaps").status


def test_dependents_of_jobs_stay_by_default() -> None:
    """Old kinds orphan unless asked otherwise (docs: "Garbage Collection")."""
    keys = {
        (r.group, r.resource) for r in registry().resources.values() if r.strategy.orphan_by_default
    }
    assert keys == {("batch", "jobs"), ("", "replicationcontrollers")}


def test_a_strategy_is_made_once() -> None:
    """Every write asks for one."""
    assert strategy("", "v1", "pods") is strategy("", "v1", "pods")


@pytest.mark.parametrize(
    ("key", "creates", "unconditional"),
    [
        (("", "v1", "events"), True, True),
        (("events.k8s.io", "v1", "events"), True, True),
        (("coordination.k8s.io", "v1", "leases"), True, False),
        (("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations"), False, False),
        (("admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings"), False, False),
        (("networking.k8s.io", "v1", "ipaddresses"), False, True),
        (("certificates.k8s.io", "v1", "certificatesigningrequests"), False, True),
        (("apiregistration.k8s.io", "v1", "apiservices"), False, False),
    ],
)
def test_what_updates_allow(key: tuple[str, str, str], creates: bool, unconditional: bool) -> None:
    """Create what is missing, and leave out the resourceVersion: as upstream's strategies say."""
    found = strategy(*key)
    assert (found.create_on_update, found.unconditional_update) == (creates, unconditional)


def test_every_resource_with_updates_has_a_strategy() -> None:
    """Nothing is left to a default."""
    known = builtin.load("strategies")
    for resource in registry().resources.values():
        if "update" in resource.verbs:
            assert resource.kind.lower() in known


@pytest.mark.parametrize(
    ("group", "name"),
    [
        ("", "persistentvolumeclaims"),
        ("", "persistentvolumes"),
        ("", "podtemplates"),
        ("", "services"),
        ("resource.k8s.io", "resourceslices"),
        ("storage.k8s.io", "volumeattributesclasses"),
    ],
)
def test_some_kinds_show_what_they_deleted(group: str, name: str) -> None:
    """The rest answer with a Status."""
    assert strategy(group, "v1", name).returns_deleted
    assert not strategy("", "v1", "configmaps").returns_deleted


def test_ranges_of_services_keep_their_status() -> None:
    """It is written through its path only, as that of all other kinds (since 1.36)."""
    assert strategy("networking.k8s.io", "v1", "servicecidrs").status
