"""Which devices are given, as a table: what there is, what is asked for, and what comes of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson
import pytest

from kubetrio.controllers.scheduler.devices.allocator import AllocationError, Allocator, pools_of
from kubetrio.controllers.scheduler.devices.facts import (
    DeviceId,
    Devices,
    device_claim_facts,
    device_class_facts,
    slice_facts,
)
from kubetrio.testing.devices import claim, device, device_class, request, resource_slice

Object = dict[str, Any]


def there(*slices: Object, kind: Object | None = None) -> Devices:
    """Devices of slices, and the class."""
    found = Devices()
    for one in slices:
        found.slices[one["metadata"]["name"]] = slice_facts(orjson.dumps(one))
    found.classes["gpu"] = device_class_facts(orjson.dumps(kind or device_class()))
    return found


def given(
    devices: Devices, *claims: Object, used: tuple[str, ...] = (), node: str = "n"
) -> list[Object] | None:
    """What claims get on a node."""
    parsed = []
    for one in claims:
        one["metadata"]["uid"] = one["metadata"]["name"]
        parsed.append((f"default/{one['metadata']['name']}", device_claim_facts(orjson.dumps(one))))
    taken = {DeviceId("gpu.example", "n", name) for name in used}
    return Allocator(devices, taken, parsed).allocate(node, {"disk": "ssd"})


class Case(NamedTuple):
    """Devices of the node's pool, a claim, those in use, and those that are given."""

    devices: list[Object]
    claim: Object
    used: tuple[str, ...]
    names: list[str] | None


ABC = [device("a"), device("b", "b"), device("c")]
SAME = {"constraints": [{"matchAttribute": "gpu.example/model"}]}
TAINT = {"key": "broken", "value": "yes", "effect": "NoSchedule"}
TAINTED = [device("a", taints=[TAINT]), device("b")]
BIG = 'device.capacity["gpu.example"].memory.compareTo(quantity("9Gi")) >= 0'
CASES = {
    "the first that fits": Case(ABC, claim("x"), (), ["a"]),
    "the first that is free": Case(ABC, claim("x"), ("a",), ["b"]),
    "as many as are asked for": Case(ABC, claim("x", request(count=2)), (), ["a", "b"]),
    "not fewer": Case(ABC, claim("x", request(count=4)), (), None),
    "all": Case(ABC, claim("x", request(allocationMode="All")), (), ["a", "b", "c"]),
    "all, one of which is in use": Case(
        ABC, claim("x", request(allocationMode="All")), ("b",), None
    ),
    "all of none": Case([], claim("x", request(allocationMode="All")), (), None),
    "those that an expression selects": Case(
        ABC, claim("x", request("r", 'device.attributes["gpu.example"].model == "b"')), (), ["b"]
    ),
    "a capacity": Case([device("a"), device("b", capacity={"memory": {"value": "9Gi"}})],
                       claim("x", request("r", BIG)), (), ["b"]),
    "a version": Case(ABC, claim("x", request(
        "r", 'device.attributes["gpu.example"].version.isGreaterThan(semver("2.0.0"))'
    )), (), None),
    "another domain": Case(ABC, claim("x", request(
        "r", '!("model" in device.attributes["other.example"])'
    )), (), ["a"]),
    "the same value of all": Case(ABC, claim("x", request(count=2), **SAME), (), ["a", "c"]),
    "the same value, which is in use": Case(
        ABC, claim("x", request(count=2), **SAME), ("c",), None
    ),
    "in use, for an administrator": Case(ABC, claim("x", request(adminAccess=True)), ("a",), ["a"]),
    "no taint": Case(TAINTED, claim("x"), (), ["b"]),
    "a taint that is tolerated": Case(
        TAINTED, claim("x", request(tolerations=[{"key": "broken", "operator": "Exists"}])), (),
        ["a"],
    ),
    "a taint with another value": Case(
        TAINTED, claim("x", request(tolerations=[{"key": "broken", "value": "no"}])), (), ["b"]
    ),
    "two requests of one claim": Case(
        ABC, claim("x", request("q"), request("r", count=2)), (), ["a", "b", "c"]
    ),
    "a later request that needs the first": Case(
        [device("a"), device("b")],
        claim("x", request("q"), request("r", 'device.attributes["gpu.example"].model == "a"')),
        (), ["a", "b"],
    ),
    "one that needs what is not known": Case(
        [device("a", bindingConditions=["ready"]), device("b")], claim("x"), (), ["b"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_devices_that_are_given(name: str) -> None:
    """The first solution, or none."""
    case = CASES[name]
    found = given(there(resource_slice("s", *case.devices, node="n")), case.claim, used=case.used)
    names = None if found is None else [one["device"] for one in found[0]["devices"]["results"]]
    assert names == case.names


def test_a_search_goes_back() -> None:
    """A device that another request needs is given to that."""
    wants_b = request("r", 'device.attributes["gpu.example"].model == "b"')
    devices = there(resource_slice("s", device("a", "b"), device("b", "a"), node="n"))
    found = given(devices, claim("x", request("q"), wants_b))
    assert found is not None
    rows = [(one["request"], one["device"]) for one in found[0]["devices"]["results"]]
    assert rows == [("q", "b"), ("r", "a")]


def test_claims_of_a_pod_share_no_device() -> None:
    """Each gets its own."""
    devices = there(resource_slice("s", *ABC, node="n"))
    found = given(devices, claim("x"), claim("y"))
    assert found is not None
    assert [one["devices"]["results"][0]["device"] for one in found] == ["a", "b"]
    assert given(devices, claim("x", request(count=2)), claim("y", request(count=2))) is None


def test_what_is_stored_of_an_allocation() -> None:
    """The devices, the configuration of the class and of the claim, and the node."""
    config = {"opaque": {"driver": "gpu.example", "parameters": {}}}
    kind = device_class("gpu", config=[config])
    own = {**config, "requests": ["r"]}
    found = given(
        there(resource_slice("s", device("a"), node="n"), kind=kind),
        claim("x", config=[own, {**config, "requests": ["other"]}]),
    )
    row = {"key": "metadata.name", "operator": "In", "values": ["n"]}
    result = {"request": "r", "driver": "gpu.example", "pool": "n", "device": "a"}
    assert found == [{
        "devices": {
            "results": [result],
            "config": [{"source": "FromClass", "requests": ["r"], **config},
                       {"source": "FromClaim", **own}],
        },
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [row]}]},
    }]  # fmt: skip


def test_a_pool_of_some_nodes() -> None:
    """A selector of nodes is that of the allocation; a pool of all nodes has none."""
    row = {"key": "disk", "operator": "In", "values": ["ssd"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [row]}]}
    some = resource_slice("s", device("a"), allNodes=None, nodeSelector=terms)
    found = given(there(some), claim("x"))
    assert found is not None
    assert found[0]["nodeSelector"] == terms
    found = given(there(resource_slice("s", device("a"))), claim("x"))
    assert found is not None
    assert "nodeSelector" not in found[0]
    assert given(there(resource_slice("s", device("a"), node="other")), claim("x")) is None


def test_a_pool_that_is_not_whole() -> None:
    """It gives nothing, and all of it cannot be had; older generations do not count."""
    half = there(resource_slice("s", device("a"), node="n", parts=2))
    assert given(half, claim("x")) is None
    with pytest.raises(AllocationError, match="is currently being updated"):
        given(half, claim("x", request(allocationMode="All")))
    both = there(
        resource_slice("s", device("old"), node="n"),
        resource_slice("t", device("new"), node="n", generation=2),
    )
    (pool,) = pools_of(both.slices, "n", {})
    assert [one.id.device for one in pool.devices] == ["new"]


def test_an_expression_that_fails() -> None:
    """It says of which claim or class it is."""
    devices = there(resource_slice("s", device("a"), node="n"))
    with pytest.raises(AllocationError) as caught:
        given(devices, claim("x", request("r", 'device.attributes["gpu.example"].nope == 1')))
    text = "claim default/x: selector #0: CEL runtime error: no such key: nope"
    assert str(caught.value) == text


def test_too_many_devices() -> None:
    """A claim has room for 32."""
    devices = there(resource_slice("s", *(device(f"d{one}") for one in range(40)), node="n"))
    with pytest.raises(AllocationError, match="number of requested devices 33 exceeds"):
        given(devices, claim("x", request(count=33)))
    assert given(devices, claim("x", request(count=32))) is not None


def test_a_search_that_takes_too_long_ends() -> None:
    """Many devices that are equal and never fit together are not tried for ever."""
    many = [device(f"d{one}", str(one)) for one in range(40)]
    devices = there(resource_slice("s", *many, node="n"))
    same = claim("x", request("q", count=3), request("r", count=8), request("s", count=8))
    same["spec"]["devices"]["constraints"] = [
        {"matchAttribute": "gpu.example/model", "requests": ["s"]}
    ]
    with pytest.raises(AllocationError, match="node n: timed out trying to allocate devices"):
        given(devices, same)
