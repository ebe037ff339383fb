"""Endpoint slices as values: every endpoint in one of them, and few writes."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubetrio.controllers.endpointslices.slices import (
    MOST_ENDPOINTS,
    Plan,
    endpoint_ports,
    families_of,
    identity,
    labels_of,
    name_prefix,
    planned,
    ports_key,
)
from kubetrio.kinds.core.nodedigests import NodeDigest
from kubetrio.kinds.core.pods.digests import PodDigest, Port

Object = dict[str, Any]
NODES = {"n": NodeDigest(zone="z", ready=True, out_of_service=False)}


def pod(number: int, **members: Any) -> PodDigest:
    """A ready pod with an address."""
    blank = dict.fromkeys(PodDigest._fields, "")
    lists = dict.fromkeys(("labels", "ports", "claims", "ephemeral"), ())
    given_ = {
        "uid": f"u{number}", "node": "n", "ready": True, "shut_down": False, "target": None,
        "owner": None, "phase": "Running",
        "ips": (f"10.0.{number // 250}.{number % 250 + 1}", f"fd00::{number + 1:x}"),
    }  # fmt: skip
    return PodDigest(**{**blank, **lists, **given_, **members})  # type: ignore[arg-type]


def service(**spec: Any) -> Object:
    """A service with one port."""
    return {
        "metadata": {"name": "s", "namespace": "d", "uid": "u", "labels": {"a": "b"}},
        "spec": {
            "clusterIP": "10.1.1.1", "ipFamilies": ["IPv4"], "selector": {"a": "b"},
            "ports": [{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}],
            **spec,
        },
    }  # fmt: skip


def pods(numbers: Any) -> list[tuple[str, PodDigest]]:
    """Pods by name."""
    return [(f"p{number}", pod(number)) for number in numbers]


def applied(slices: list[Object], plan: Plan, count: list[int]) -> list[Object]:
    """Slices after what was planned is written."""
    gone = {one["metadata"]["name"] for one in plan.delete}
    new = {one["metadata"]["name"]: one for one in plan.update}
    kept = [
        new.get(one["metadata"]["name"], one)
        for one in slices
        if one["metadata"]["name"] not in gone
    ]
    for one in plan.create:
        count[0] += 1
        meta = {**one["metadata"], "name": f"s-{count[0]}"}
        kept.append({**one, "metadata": meta})
    return kept


@given(st.lists(st.sets(st.integers(0, 450)), min_size=1, max_size=6))
def test_each_endpoint_is_in_one_slice(steps: list[set[int]]) -> None:
    """However pods come and go; slices are never too full, and what is right is not written."""
    slices: list[Object] = []
    count = [0]
    for numbers in steps:
        plan, _ = planned(service(), pods(sorted(numbers)), NODES, slices)
        slices = applied(slices, plan, count)
        found = [one for slice_ in slices for one in slice_["endpoints"]]
        assert len({identity(one) for one in found}) == len(found) == len(numbers)
        assert {one["targetRef"]["name"] for one in found} == {f"p{n}" for n in numbers}
        assert all(len(slice_["endpoints"]) <= MOST_ENDPOINTS for slice_ in slices)
        assert slices, "a service without endpoints has an empty slice"
        again, _ = planned(service(), pods(sorted(numbers)), NODES, slices)
        assert [again.create, again.update, again.delete] == [[], [], []]


@given(st.sets(st.integers(0, 300), min_size=1), st.integers(301, 320))
def test_one_more_pod_is_one_write(numbers: set[int], new: int) -> None:
    """A slice with room takes it, or there is a new one."""
    plan, _ = planned(service(), pods(sorted(numbers)), NODES, [])
    slices = applied([], plan, [0])
    plan, _ = planned(service(), pods([*sorted(numbers), new]), NODES, slices)
    assert len(plan.create) + len(plan.update) == 1
    assert not plan.delete


def test_pods_with_other_ports_are_in_other_slices() -> None:
    """A name of a port is looked up in each pod; who does not have it is there without."""
    named = service(ports=[{"name": "", "port": 80, "targetPort": "web", "protocol": "TCP"}])
    one = pod(1, ports=(Port("web", "TCP", 8080),))
    other = pod(2, ports=(Port("web", "UDP", 1), Port("web", "TCP", 9090)))
    none = pod(3)
    plan, _ = planned(named, [("a", one), ("b", other), ("c", none)], NODES, [])
    assert [[port["port"] for port in slice_["ports"]] for slice_ in plan.create] == [
        [8080], [9090], [],
    ]  # fmt: skip


def test_the_order_of_ports_says_nothing() -> None:
    """Whoever wrote a slice."""
    two = [{"name": "a", "port": 1}, {"name": "b", "port": 2, "protocol": "TCP"}]
    assert ports_key(two) == ports_key(two[::-1])
    assert ports_key(two) != ports_key([{**two[0], "protocol": "UDP"}, two[1]])


def test_conditions_say_how_a_pod_is() -> None:
    """Ready means serving and not terminating, or that nobody asks."""
    many = [
        ("a", pod(1)), ("b", pod(2, ready=False)), ("c", pod(3, deleting="x")),
        ("over", pod(4, phase="Failed")), ("without", pod(5, ips=())),
    ]  # fmt: skip

    def said(**spec: Any) -> dict[str, tuple[bool, ...]]:
        plan, _ = planned(service(**spec), many, NODES, [])
        return {
            one["targetRef"]["name"]: tuple(one["conditions"].values())
            for one in plan.create[0]["endpoints"]
        }

    assert said() == {
        "a": (True, True, False), "b": (False, False, False), "c": (False, True, True),
    }  # fmt: skip
    published = said(publishNotReadyAddresses=True)
    assert published == {
        "a": (True, True, False), "b": (True, False, False), "c": (True, True, True),
    }  # fmt: skip


def test_pods_on_lost_nodes_are_left_out() -> None:
    """They are named; a service that publishes everything has them."""
    plan, lost = planned(service(), [("p", pod(1, node="gone"))], NODES, [])
    assert lost == ["p"]
    assert plan.create[0]["endpoints"] == []
    publishing = service(publishNotReadyAddresses=True)
    plan, lost = planned(publishing, [("p", pod(1, node="gone"))], NODES, [])
    assert lost == []
    assert "zone" not in plan.create[0]["endpoints"][0]


def test_each_family_has_its_slices() -> None:
    """And those of a family that a service lost go."""
    dual = service(ipFamilies=["IPv4", "IPv6"])
    plan, _ = planned(dual, pods([1]), NODES, [])
    assert [(one["addressType"], one["endpoints"][0]["addresses"]) for one in plan.create] == [
        ("IPv4", ["10.0.0.2"]), ("IPv6", ["fd00::2"]),
    ]  # fmt: skip
    slices = applied([], plan, [0])
    plan, _ = planned(service(ipFamilies=["IPv6"]), pods([1]), NODES, slices)
    assert [one["addressType"] for one in plan.delete] == ["IPv4"]
    assert not plan.create
    assert families_of(service(ipFamilies=None, clusterIP="fd00::1")) == ["IPv6"]
    assert families_of(service(ipFamilies=None, clusterIP="None")) == ["IPv4", "IPv6"]


def test_slices_of_a_service_that_had_the_name_are_not_kept() -> None:
    """They are deleted, and not used again."""
    plan, _ = planned(service(), pods([1]), NODES, [])
    slices = applied([], plan, [0])
    again = service()
    again["metadata"]["uid"] = "other"
    plan, _ = planned(again, pods([1]), NODES, slices)
    assert plan.delete == slices
    assert len(plan.create) == 1


def test_a_slice_is_rather_changed_than_made_anew() -> None:
    """When the ports change, the slice keeps its name."""
    plan, _ = planned(service(), pods([1]), NODES, [])
    slices = applied([], plan, [0])
    other = service(ports=[{"name": "http", "port": 80, "targetPort": 9, "protocol": "TCP"}])
    plan, _ = planned(other, pods([1]), NODES, slices)
    assert not plan.create
    assert not plan.delete
    (changed,) = plan.update
    assert changed["metadata"]["name"] == slices[0]["metadata"]["name"]
    assert changed["ports"][0]["port"] == 9


def test_labels_are_those_of_the_service() -> None:
    """With three of the slice's own, which a service cannot set."""
    headless = service(clusterIP="None")
    headless["metadata"]["labels"]["kubernetes.io/service-name"] = "mine"
    assert labels_of(headless) == {
        "a": "b",
        "kubernetes.io/service-name": "s",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "service.kubernetes.io/headless": "",
    }
    plan, _ = planned(service(), pods([1]), NODES, [])
    slices = applied([], plan, [0])
    relabelled = service()
    relabelled["metadata"]["labels"] = {"c": "d"}
    plan, _ = planned(relabelled, pods([1]), NODES, slices)
    assert plan.update[0]["metadata"]["labels"]["c"] == "d"
    assert "a" not in plan.update[0]["metadata"]["labels"]


def test_hints_follow_the_traffic_distribution() -> None:
    """Zones or nodes; they go when the service does not want them any more."""
    close = service(trafficDistribution="PreferClose")
    plan, _ = planned(close, pods([1]), NODES, [])
    assert plan.create[0]["endpoints"][0]["hints"] == {"forZones": [{"name": "z"}]}
    slices = applied([], plan, [0])
    plan, _ = planned(service(trafficDistribution="PreferSameNode"), pods([1]), NODES, slices)
    hints = plan.update[0]["endpoints"][0]["hints"]
    assert hints == {"forZones": [{"name": "z"}], "forNodes": [{"name": "n"}]}
    plan, _ = planned(service(), pods([1]), NODES, slices)
    assert "hints" not in plan.update[0]["endpoints"][0]


def test_headless_services_without_ports_have_endpoints() -> None:
    """With no port at all."""
    plan, _ = planned(service(clusterIP="None", ports=[]), pods([1]), NODES, [])
    assert plan.create[0]["ports"] == []
    assert len(plan.create[0]["endpoints"]) == 1


def test_hostnames_are_those_of_the_services_subdomain() -> None:
    """A pod that wants to be in another has none here."""
    mine = [("a", pod(1, hostname="h", subdomain="s")), ("b", pod(2, hostname="h", subdomain="t"))]
    plan, _ = planned(service(), mine, NODES, [])
    assert [one.get("hostname") for one in plan.create[0]["endpoints"]] == ["h", None]


def test_protocols_of_ports_are_told() -> None:
    """As the service has them."""
    port = {"port": 1, "targetPort": 2, "protocol": "UDP", "appProtocol": "x/y"}
    assert endpoint_ports(service(ports=[port]), pod(1)) == [
        {"name": "", "port": 2, "protocol": "UDP", "appProtocol": "x/y"}
    ]


def test_names_of_slices_begin_with_that_of_their_service() -> None:
    """Names get a dash if they may."""
    assert name_prefix("s") == "s-"
    assert name_prefix("a" * 254) == "a" * 254
