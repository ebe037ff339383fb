"""Objects of simulated nodes."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kubetrio.controllers.nodelifecycle.health import health_of
from kubetrio.simulation.nodeobjects import (
    MOST,
    index_of,
    is_kubelet,
    is_pod,
    lease_object,
    node_object,
    pod_range,
    renewed,
    renewed_bytes,
    simulated_view,
    with_status,
)

NOW = 1_700_000_000.0


def made(index: int = 0, **annotations: str) -> dict[str, Any]:
    """A node with its status."""
    node = node_object(f"node-{index}", index)
    node["metadata"]["annotations"] |= {
        f"simulation.kubetrio.io/{name}": value for name, value in annotations.items()
    }
    return with_status(node, NOW)


def test_a_node_is_ready_and_has_room() -> None:
    """In the words of a kubelet, and with what schedulers look at."""
    node = made(4)
    health = health_of(node)
    assert (health.ready, health.wanted, health.zone) == (
        "True", frozenset(), "simulated:\0:simulated-b",
    )  # fmt: skip
    assert node["spec"]["podCIDR"] == "100.64.4.0/24"
    assert node["status"]["allocatable"]["pods"] == "110"
    assert node["status"]["addresses"][0] == {"type": "InternalIP", "address": "198.18.0.5"}
    assert simulated_view(orjson.dumps(node)).settled


def test_a_node_that_is_said_to_be_not_ready_is_not() -> None:
    """And well again when the annotation goes; the time of the transition is kept meanwhile."""
    node = made(state="not-ready")
    assert health_of(node).ready == "False"
    again = with_status(node, NOW + 60)
    assert [one["lastTransitionTime"] for one in again["status"]["conditions"]] == [
        one["lastTransitionTime"] for one in node["status"]["conditions"]
    ]
    del again["metadata"]["annotations"]["simulation.kubetrio.io/state"]
    assert not simulated_view(orjson.dumps(again)).settled
    well = with_status(again, NOW + 90)
    assert health_of(well).ready == "True"
    assert well["status"]["conditions"][-1]["lastTransitionTime"] == "2023-11-14T22:14:50Z"


def test_what_was_given_to_a_node_stays() -> None:
    """Its capacity and conditions of others may be somebody else's."""
    node = node_object("big", 1)
    node["status"] = {"capacity": {"cpu": "1"}, "conditions": [{"type": "Mine", "status": "True"}]}
    status = with_status(node, NOW)["status"]
    assert status["capacity"] == status["allocatable"] == {"cpu": "1"}
    assert status["conditions"][0] == {"type": "Mine", "status": "True"}


def test_extended_resources_are_offered() -> None:
    """Those of the capacity, and no others; an amount that is said stays."""
    node = made()
    node["status"]["capacity"] = {"cpu": "1", "example.com/a": "4", "example.com/b": "2"}
    node["status"]["allocatable"] = {"cpu": "1", "example.com/b": "1", "example.com/c": "9"}
    assert not simulated_view(orjson.dumps(node)).settled
    again = with_status(node, NOW)
    assert again["status"]["allocatable"] == {
        "cpu": "1", "example.com/a": "4", "example.com/b": "1"
    }  # fmt: skip
    assert simulated_view(orjson.dumps(again)).settled


def test_what_a_new_node_offers_it_has() -> None:
    """A node that says only what it offers has the rest of a simulated node."""
    node = node_object("big", 1)
    node["status"] = {"allocatable": {"pods": "10", "example.com/a": "4"}}
    status = with_status(node, NOW)["status"]
    assert (status["capacity"]["pods"], status["capacity"]["example.com/a"]) == ("110", "4")
    assert status["allocatable"] == {"pods": "10", "example.com/a": "4"}


@pytest.mark.parametrize("index", [0, 1, 255, 256, MOST - 1])
def test_ranges_are_found_again(index: int) -> None:
    """The range of a node says its number; other ranges say none."""
    assert index_of(pod_range(index)) == index
    assert is_pod(pod_range(index).partition("/")[0])


@pytest.mark.parametrize("text", ["", "10.0.0.0/24", "2001:db8::/64", "100.0.0.0/24", "x"])
def test_other_ranges_have_no_index(text: str) -> None:
    """They were given by hand, or by a cloud."""
    assert index_of(text) is None


def test_addresses_are_told_apart() -> None:
    """Kubelets, pods, and the rest of the world."""
    assert is_kubelet("198.18.0.1")
    assert not is_kubelet("100.64.0.1")
    assert not is_kubelet("2001:db8::1")
    assert not is_pod("198.18.0.1")


@pytest.mark.parametrize("annotations", [{}, {"renewTime": "x"}, {"a": '"spec":{"renewTime":"x"'}])
def test_a_lease_is_renewed_without_parsing_it(annotations: dict[str, str]) -> None:
    """As it is with that, whatever its annotations say."""
    lease = lease_object("n", "u", NOW)
    lease["metadata"]["annotations"] = annotations
    stored = orjson.dumps(lease)
    written = renewed_bytes(stored, NOW + 10)
    assert written is not None
    assert orjson.loads(written) == renewed(lease, NOW + 10)
    assert len(written) == len(stored)


@pytest.mark.parametrize("holder", [None, 'odd "name"'])
def test_another_lease_is_left_to_a_reader(holder: str | None) -> None:
    """It has no time, or a holder that no kubelet is."""
    lease = lease_object("n", "u", NOW)
    lease["spec"]["holderIdentity"] = holder
    assert renewed_bytes(orjson.dumps(lease), NOW) is None
