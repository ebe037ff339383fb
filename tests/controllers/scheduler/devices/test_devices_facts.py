"""What is kept of claims, classes and slices."""

from __future__ import annotations

import orjson

from kubetrio.controllers.scheduler.devices.facts import (
    DeviceId,
    Devices,
    device_claim_facts,
    device_class_facts,
    slice_facts,
)
from kubetrio.testing.devices import claim, device, device_class, request, resource_slice


def test_a_claim_without_devices() -> None:
    """It asks for one if it does not say how many, and for all by its mode."""
    asked = claim("x", request("q"), request("r", allocationMode="All"),
                  {"name": "s", "firstAvailable": []})  # fmt: skip
    asked["metadata"]["uid"] = "u"
    found = device_claim_facts(orjson.dumps(asked))
    assert [(one.name, one.known, one.amount) for one in found.requests] == [
        ("q", True, 1), ("r", True, 0), ("s", False, 1),
    ]  # fmt: skip
    assert not found.allocated
    assert found.serves("any", {})


def test_a_claim_with_devices() -> None:
    """Its devices are in use, but for those that an administrator looks at."""
    asked = claim("x")
    asked["metadata"]["uid"] = "u"
    row = {"request": "r", "driver": "d", "pool": "p", "device": "a"}
    field = {"key": "metadata.name", "operator": "In", "values": ["n"]}
    asked["status"] = {
        "allocation": {
            "devices": {"results": [row, {**row, "device": "b", "adminAccess": True}]},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
        },
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "1"}],
    }
    found = device_claim_facts(orjson.dumps(asked))
    assert found.devices == {DeviceId("d", "p", "a")}
    assert found.consumers == {"1"}
    assert (found.serves("n", {}), found.serves("m", {})) == (True, False)
    devices = Devices(given={"other": frozenset({DeviceId("d", "p", "c")})})
    devices.claims["default/x"] = found
    assert devices.in_use() == {DeviceId("d", "p", "a"), DeviceId("d", "p", "c")}


def test_a_slice_of_devices_with_nodes_of_their_own() -> None:
    """Each device says where it is."""
    stored = resource_slice("s", device("a", nodeName="n"), device("b", allNodes=True))
    stored["spec"] |= {"perDeviceNodeSelection": True, "allNodes": None}
    found = slice_facts(orjson.dumps(stored))
    assert [one.nodes.have("m", {}) for one in found.devices] == [False, True]


def test_a_class() -> None:
    """Its expressions."""
    assert device_class_facts(orjson.dumps(device_class("gpu", "true"))).selectors == ("true",)
