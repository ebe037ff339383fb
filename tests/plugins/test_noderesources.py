"""Pods that are resized, and what their nodes can bear."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.testing.client import Answer, Client

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
MERGE = {"Content-Type": "application/merge-patch+json"}
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}
BIG = {"cpu": "2", "memory": "2Gi"}
WHOLE = "InPlacePodLevelResourcesVerticalScaling"
INITIAL = "InPlacePodVerticalScalingInitContainers"
Object = dict[str, Any]


def requests(cpu: str, memory: str) -> Object:
    return {"requests": {"cpu": cpu, "memory": memory}}


async def node(client: Client, system: str = "linux", *features: str, **allocatable: str) -> None:
    meta = {"name": "n", "labels": {"kubernetes.io/os": system}}
    await client.request("POST", NODES, json={"metadata": meta})
    status = {"allocatable": allocatable, "declaredFeatures": list(features)}
    done = await client.request(
        "PATCH", f"{NODES}/n/status", headers=MERGE, json={"status": status}
    )
    assert done.status == 200


async def pod(client: Client, name: str = "n") -> None:
    spec = {
        "nodeName": name,
        "initContainers": [{"name": "a", "image": "i", "resources": requests("100m", "64Mi")}],
        "containers": [{"name": "c", "image": "i", "resources": requests("100m", "64Mi")}],
        "resources": requests("200m", "128Mi"),
    }
    made = await client.request("POST", PODS, json={"metadata": {"name": "p"}, "spec": spec})
    assert made.status == 201, made.body


async def resize(client: Client, **spec: Any) -> Answer:
    return await client.request("PATCH", f"{PODS}/p/resize", headers=STRATEGIC, json={"spec": spec})


def container(cpu: str, memory: str, name: str = "c") -> list[Object]:
    return [{"name": name, "resources": requests(cpu, memory)}]


@pytest.mark.parametrize(
    ("whole", "why"),
    [
        (("3", "128Mi"), "cpu, requested: 3000, allocatable: 2000"),
        (("200m", "3Gi"), "memory, requested: 3221225472, allocatable: 2147483648"),
        (
            ("2500001u", "3000000001500m"),
            (
                "cpu, requested: 2501, allocatable: 2000; "
                "memory, requested: 3000000002, allocatable: 2147483648"
            ),
        ),
    ],
)
async def test_more_than_a_node_has(client: Client, whole: tuple[str, str], why: str) -> None:
    """403, in whole thousandths and bytes, with a cause for programs."""
    await node(client, "linux", WHOLE, **BIG)
    await pod(client)
    answer = await resize(client, resources=requests(*whole))
    assert (answer.status, answer.json()["message"]) == (
        403,
        f'pods "p" is forbidden: node didn\'t have enough allocatable resources: {why}',
    )
    assert answer.json()["details"]["causes"] == [{"reason": "NodeCapacity"}]
    assert (await resize(client, resources=requests("2", "2Gi"))).status == 200


async def test_other_systems(client: Client) -> None:
    """Only nodes with Linux resize."""
    await node(client, "windows", **BIG)
    await pod(client)
    answer = await resize(client, containers=container("150m", "64Mi"))
    assert answer.json()["message"] == (
        'pods "p" is forbidden: pod resize is only supported on linux nodes, node "n" is "windows"'
    )
    assert answer.json()["details"]["causes"] == [{"reason": "UnsupportedPlatform"}]


async def test_a_node_that_is_not_there(client: Client) -> None:
    """Nothing is resized on it, and what is no change is fine."""
    await pod(client, "gone")
    answer = await resize(client, containers=container("150m", "64Mi"))
    assert answer.json()["message"] == 'pods "p" is forbidden: node "gone" not found'
    assert (await resize(client, containers=container("0.1", "64Mi"))).status == 200


@pytest.mark.parametrize(
    ("feature", "change"),
    [
        (WHOLE, {"resources": requests("300m", "128Mi")}),
        (INITIAL, {"initContainers": container("150m", "64Mi", "a")}),
    ],
)
async def test_what_takes_a_feature(client: Client, feature: str, change: Object) -> None:
    """A node that does not declare it cannot do that."""
    await node(client, "linux", "Other", **BIG)
    await pod(client)
    answer = await resize(client, **change)
    assert (answer.status, answer.json()["message"]) == (
        403,
        (
            f'pods "p" is forbidden: pod update requires features {feature} '
            'which are not available on node "n"'
        ),
    )
    await node(client, "linux", feature, **BIG)
    assert (await resize(client, **change)).status == 200
