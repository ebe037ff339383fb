"""Strategies: rows of facts about kinds."""

from __future__ import annotations

import pytest

from kubetrio.machinery.names_validation import NAME_CHECKS
from kubetrio.resources.strategy import Strategy, collection_path, strategy_of
from kubetrio.schema import builtin


def strategy(group: str, version: str, plural: str) -> Strategy:
    return strategy_of(builtin.registry().resources[group, version, plural])


@pytest.mark.parametrize(
    ("key", "path"),
    [
        (("", "v1", "pods"), "/api/v1/pods"),
        (("apps", "v1", "deployments"), "/apis/apps/v1/deployments"),
    ],
)
def test_the_path_of_a_collection(key: tuple[str, str, str], path: str) -> None:
    """The core group lives under ``/api``."""
    assert collection_path(builtin.registry().resources[key]) == path


def test_every_resource_has_a_name_rule_that_exists() -> None:
    """No create may fail for want of a rule."""
    for resource in builtin.registry().resources.values():
        assert strategy_of(resource).name_rule in NAME_CHECKS


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
    graceful = {
        r.resource for r in builtin.registry().resources.values() if strategy_of(r).graceful
    }
    assert graceful == {"pods"}


def test_leases_are_made_by_put() -> None:
    """A PUT to a missing Lease creates it, one to a missing ConfigMap does not."""
    assert strategy("coordination.k8s.io", "v1", "leases").create_on_update
    assert not strategy("", "v1", "configmaps").create_on_update


def test_status_is_a_subresource_where_there_is_one() -> None:
    """It decides who may write it."""
    assert strategy("apps", "v1", "deployments").status
    assert not strategy("", "v1", "configmaps").status


def test_dependents_of_jobs_stay_by_default() -> None:
    """Old kinds orphan unless asked otherwise (docs: "Garbage Collection")."""
    keys = {
        (r.group, r.resource)
        for r in builtin.registry().resources.values()
        if strategy_of(r).orphan_by_default
    }
    assert keys == {("batch", "jobs"), ("", "replicationcontrollers")}


def test_a_strategy_is_made_once() -> None:
    """Every write asks for one."""
    assert strategy("", "v1", "pods") is strategy("", "v1", "pods")


def test_ranges_of_services_take_their_status_from_every_update() -> None:
    """kube-apiserver does not keep the stored one, as it does for all other kinds."""
    assert not strategy("networking.k8s.io", "v1", "servicecidrs").status
    assert strategy("networking.k8s.io", "v1", "ingresses").status


@pytest.mark.parametrize(
    ("group", "plural", "standard"),
    [
        ("", "configmaps", True),
        ("coordination.k8s.io", "leases", False),
        ("node.k8s.io", "runtimeclasses", False),
        ("policy", "poddisruptionbudgets", False),
    ],
)
def test_finalizers_without_a_domain(group: str, plural: str, standard: bool) -> None:
    """Kinds whose metadata is checked by the core group's rules take standard ones only."""
    assert strategy(group, "v1", plural).standard_finalizers is standard
