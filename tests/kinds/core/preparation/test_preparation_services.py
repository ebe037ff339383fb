"""Services that change their type, and updates that leave out what was allocated."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kubetrio.kinds.builtin import registry
from kubetrio.schema.rules import Context
from kubetrio.schema.structural import Report, compile_type

Json = dict[str, Any]
SERVICES = registry().resources["", "v1", "services"]
NOW = "2026-01-01T00:00:00Z"


def decoded(spec: Json) -> Json:
    raw = {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "x"}, "spec": spec}
    obj = compile_type(SERVICES.schema_name).decode(deepcopy(raw), Report())
    SERVICES.rules.default(obj)
    return obj


def created(spec: Json) -> Json:
    obj = decoded(spec)
    SERVICES.rules.prepare_create(obj, Context(now=NOW))
    return obj


def updated(old: Json, **changes: Any) -> Json:
    spec = {name: value for name, value in {**old["spec"], **changes}.items() if value is not None}
    return replaced(old, spec)


def replaced(old: Json, spec: Json) -> Json:
    new = decoded(spec)
    before = deepcopy(old)
    SERVICES.rules.prepare_update(new, old, Context(now=NOW), "")
    assert old == before
    spec_of_new: Json = new["spec"]
    return spec_of_new


@pytest.fixture
def node_port() -> Json:
    """A stored service with an address and a node port."""
    ports = [{"port": 80, "nodePort": 30080}]
    return created({"type": "NodePort", "clusterIP": "10.0.0.7", "ports": ports})


def test_a_resubmitted_manifest_keeps_what_was_allocated(node_port: Json) -> None:
    """Addresses and node ports that are left out stay."""
    spec = replaced(node_port, {"type": "NodePort", "ports": [{"port": 81}]})
    assert spec["clusterIP"] == "10.0.0.7"
    assert spec["clusterIPs"] == ["10.0.0.7"]
    assert spec["ports"][0]["nodePort"] == 30080


def test_a_port_that_is_used_again_is_not_kept_twice(node_port: Json) -> None:
    """The number goes to the port that asks for it."""
    ports = [{"port": 80}, {"name": "b", "port": 81, "nodePort": 30080}]
    spec = replaced(node_port, {"type": "NodePort", "ports": ports})
    assert [port.get("nodePort") for port in spec["ports"]] == [None, 30080]


def test_node_ports_go_with_the_type(node_port: Json) -> None:
    """Back to a cluster address only: no node ports, no policy for external traffic."""
    spec = updated(node_port, type="ClusterIP")
    assert "nodePort" not in spec["ports"][0]
    assert "externalTrafficPolicy" not in spec
    assert spec["clusterIP"] == "10.0.0.7"


def test_addresses_go_with_the_type(node_port: Json) -> None:
    """A name elsewhere has no address here."""
    spec = updated(node_port, type="ExternalName", externalName="a.example")
    assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} & spec.keys()


def test_fields_of_load_balancers_go_with_the_type() -> None:
    """Health check port and node port allocation are dropped when unchanged."""
    old = created(
        {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 30001}
    )
    spec = updated(old, type="ClusterIP")
    dropped = {"allocateLoadBalancerNodePorts", "healthCheckNodePort", "externalTrafficPolicy"}
    assert not dropped & spec.keys()


def test_cluster_ips_follow_cluster_ip(node_port: Json) -> None:
    """A client that knows the older field only changes both."""
    assert updated(node_port, clusterIP="10.0.0.8")["clusterIPs"] == ["10.0.0.8"]


def test_ports_that_were_taken_away_do_not_stay(node_port: Json) -> None:
    """Node ports go with the type although some of them were not sent."""
    old = {**node_port, "spec": {**node_port["spec"]}}
    old["spec"]["ports"] = [
        {"name": "a", "protocol": "TCP", "port": 80, "targetPort": 80, "nodePort": 30080},
        {"name": "b", "protocol": "TCP", "port": 81, "targetPort": 81, "nodePort": 30081},
    ]
    spec = updated(old, type="ClusterIP", ports=[{"name": "b", "port": 81, "nodePort": 30081}])
    assert "nodePort" not in spec["ports"][0]


def test_a_load_balancer_without_node_ports_keeps_none() -> None:
    """Node ports that it has anyway are not put back where they are left out."""
    balancer = {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}
    old = created({**balancer, "ports": [{"port": 80, "nodePort": 30080}]})
    spec = replaced(old, {**balancer, "ports": [{"port": 80}]})
    assert "nodePort" not in spec["ports"][0]


def test_the_status_of_a_load_balancer_goes_with_the_type(node_port: Json) -> None:
    """Where it listened is of no interest any more."""
    old = deepcopy(node_port)
    old["spec"]["type"] = "LoadBalancer"
    old["status"] = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ipMode": "VIP"}]}}
    new = decoded({**old["spec"], "type": "NodePort"})
    new["status"] = old["status"]
    SERVICES.rules.prepare_update(new, old, Context(now=NOW), "")
    assert new["status"] == {"loadBalancer": {}}


def test_a_name_elsewhere_has_no_traffic_policy() -> None:
    """Once it was a default of all types; nobody gets to see it."""
    named = {"type": "ExternalName", "externalName": "a.example"}
    assert (
        "internalTrafficPolicy" not in created({**named, "internalTrafficPolicy": "Local"})["spec"]
    )
    wrong = created({**named, "internalTrafficPolicy": "Wrong"})
    assert wrong["spec"]["internalTrafficPolicy"] == "Wrong"


def test_members_stay_in_the_order_of_the_go_struct(node_port: Json) -> None:
    """What preparation adds is printed where it belongs."""
    again = compile_type(SERVICES.schema_name).decode(node_port, Report())
    assert list(again["spec"]) == list(node_port["spec"])


@pytest.mark.parametrize("policy", ["PreferDualStack", "RequireDualStack", "nope"])
def test_a_family_that_there_is_not_has_no_other(policy: str) -> None:
    """It is left to validation, on a create and on an update."""
    spec = {"clusterIP": "None", "ports": [{"port": 80}]}
    wrong = {**spec, "ipFamilies": ["IPv9"], "ipFamilyPolicy": policy}
    assert created(wrong)["spec"]["ipFamilies"] == ["IPv9"]
    assert replaced(created(spec), wrong)["ipFamilies"] == ["IPv9"]
