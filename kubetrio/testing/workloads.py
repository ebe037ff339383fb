"""Workloads for tests, and what a kubelet would say of their pods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubetrio.client.client import Client
from kubetrio.machinery.timestamps import format_time

Object = dict[str, Any]

NAMESPACE = "default"
LABELS = {"app": "web"}


def template(image: str = "i", **spec: Any) -> Object:
    """A template of pods with one container.

    Args:
        image: of the container.
        spec: more members of the pods' specs.
    """
    containers = [{"name": "c", "image": image}]
    return {"metadata": {"labels": dict(LABELS)}, "spec": {"containers": containers, **spec}}


def workload(kind: str, name: str = "w", api_version: str = "apps/v1", **spec: Any) -> Object:
    """A workload that selects the pods of `template`.

    Args:
        kind: of the workload.
        name: of the workload.
        api_version: of its kind.
        spec: members of its spec in place of the usual ones.
    """
    selector: Object = {"matchLabels": dict(LABELS)}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"selector": selector, "template": template(), **spec},
    }


async def pods_of(client: Client) -> list[Object]:
    """All pods, by name."""
    pods = await client.list(client.kind("v1", "Pod"), NAMESPACE)
    return sorted(pods.items, key=lambda pod: pod["metadata"]["name"])


async def events_of(client: Client, kind: str) -> list[tuple[str, str, str]]:
    """Type, reason and message of the events about objects of a kind, in order."""
    events = await client.list(client.kind("v1", "Event"), NAMESPACE)
    ordered = sorted(events.items, key=lambda event: int(event["metadata"]["resourceVersion"]))
    return [
        (event["type"], event["reason"], event["message"])
        for event in ordered
        if event["involvedObject"]["kind"] == kind
    ]


async def say(client: Client, name: str, **status: Any) -> None:
    """Write members of a pod's status.

    Args:
        client: that may do it.
        name: of the pod.
        status: the members.
    """
    kind = client.kind("v1", "Pod")
    await client.patch(kind, name, {"status": status}, NAMESPACE, subresource="status")


async def make_ready(
    client: Client, now: float, chosen: Callable[[Object], bool] = lambda _: True
) -> int:
    """Have pods run and be ready that are not yet; returns how many.

    Args:
        client: that may do it.
        now: wall clock, in seconds.
        chosen: whether a pod is meant.
    """
    count = 0
    for pod in await pods_of(client):
        status = pod.get("status") or {}
        over = status.get("phase") in ("Running", "Succeeded", "Failed")
        if over or pod["metadata"].get("deletionTimestamp") or not chosen(pod):
            continue
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": format_time(now)}
        await say(client, pod["metadata"]["name"], phase="Running", conditions=[ready])
        count += 1
    return count


async def make_end(client: Client, name: str, phase: str = "Succeeded", code: int = 0) -> None:
    """Have a pod's container end.

    Args:
        client: that may do it.
        name: of the pod.
        phase: ``Succeeded`` or ``Failed``.
        code: with which the container exits.
    """
    ended = {"exitCode": code, "finishedAt": "2023-11-14T22:13:20Z"}
    status = {
        "name": "c", "ready": False, "restartCount": 0, "image": "i", "imageID": "",
        "state": {"terminated": ended},
    }  # fmt: skip
    await say(client, name, phase=phase, containerStatuses=[status])
