"""What volumes of pods need, and what a kubelet says where that is missing."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.simulation.mounting import begun, needs_of, next_wait, problems_of

Object = dict[str, Any]


def pod_of(*volumes: Object, used: bool = True) -> Object:
    """A pod whose container mounts volumes named v0, v1 and so on."""
    named = [{"name": f"v{place}", **volume} for place, volume in enumerate(volumes)]
    mounts = [{"name": one["name"]} for one in named] if used else []
    return {"spec": {"volumes": named, "containers": [{"name": "c", "volumeMounts": mounts}]}}


def problems(pod: Object, **objects: Object) -> list[str]:
    """What is said of a pod where objects are there, by kind and name."""
    wanted = needs_of(pod)
    found = {
        part.source: objects.get(f"{part.source.kind}_{part.source.name}")
        for _, parts in wanted
        for part in parts
    }
    return problems_of("default", wanted, found)


SECRET = {"secret": {"secretName": "s"}}
ITEMS = [{"key": "k", "path": "p"}]


@pytest.mark.parametrize(
    ("volume", "problem"),
    [
        (SECRET, 'secret "s" not found'),
        ({"configMap": {"name": "m"}}, 'configmap "m" not found'),
        (
            {"projected": {"sources": [{"secret": {"name": "s"}},
                                       {"configMap": {"name": "m"}}]}},
            '[secret "s" not found, configmap "m" not found]',
        ),
    ],
)  # fmt: skip
def test_missing_objects(volume: Object, problem: str) -> None:
    """They are named with the volume; those that are there and optional ones are not."""
    said = f'MountVolume.SetUp failed for volume "v0" : {problem}'
    assert problems(pod_of(volume)) == [said]
    assert problems(pod_of(volume), secret_s={}, configmap_m={}) == []
    assert problems(pod_of(volume, used=False)) == []


def test_what_is_optional_may_be_missing() -> None:
    """The object, and its keys."""
    volume = {"secret": {"secretName": "s", "optional": True, "items": ITEMS}}
    assert problems(pod_of(volume)) == []
    assert problems(pod_of(volume), secret_s={}) == []


@pytest.mark.parametrize(
    ("volume", "problem"),
    [
        (
            {"secret": {"secretName": "s", "items": ITEMS}},
            "references non-existent secret key: k",
        ),
        (
            {"configMap": {"name": "m", "items": ITEMS}},
            "configmap references non-existent config key: k",
        ),
    ],
)
def test_missing_keys(volume: Object, problem: str) -> None:
    """They are named."""
    said = f'MountVolume.SetUp failed for volume "v0" : {problem}'
    assert problems(pod_of(volume), secret_s={}, configmap_m={"data": {}}) == [said]
    there = {"data": {"k": "v"}}
    assert problems(pod_of(volume), secret_s=there, configmap_m=there) == []


def test_missing_claims() -> None:
    """They are told in one message."""
    claims = [{"persistentVolumeClaim": {"claimName": name}} for name in ("a", "b")]
    (message,) = problems(pod_of(*claims))
    assert message == (
        "Unable to attach or mount volumes: unmounted volumes=[v0 v1], unattached volumes=[], "
        "failed to process volumes=[v0 v1]: error processing PVC default/a: failed to fetch PVC "
        'from API server: persistentvolumeclaims "a" not found; error processing PVC default/b: '
        'failed to fetch PVC from API server: persistentvolumeclaims "b" not found'
    )
    assert problems(pod_of(claims[0]), persistentvolumeclaim_a={}) == []


def test_the_authority_of_a_namespace_is_not_waited_for() -> None:
    """The server adds its volume to every pod, where nothing may make the ConfigMap."""
    sources = [{"configMap": {"name": "kube-root-ca.crt"}}, {"serviceAccountToken": {}}]
    assert needs_of(pod_of({"projected": {"sources": sources}}, {"emptyDir": {}})) == []


def test_volumes_are_mounted_once() -> None:
    """Before any container, so that a pod with one that started has them."""
    waiting = {"name": "c", "state": {"waiting": {}}}
    assert not begun({"status": {"containerStatuses": [waiting]}})
    assert begun({"status": {"initContainerStatuses": [{"name": "i", "state": {"running": {}}}]}})
    refused = {"name": "c", "state": {"waiting": {"reason": "CreateContainerConfigError"}}}
    assert begun({"status": {"containerStatuses": [refused]}})
    ended = waiting | {"lastState": {"terminated": {}}}
    assert begun({"status": {"containerStatuses": [ended]}})


def test_waits() -> None:
    """They double from half a second to two minutes, and begin anew for another pod."""
    wait = next_wait("u", None, 10.0, only_claims=False)
    assert (wait.delay_s, wait.until) == (0.5, 10.5)
    delays = []
    for _ in range(9):
        wait = next_wait("u", wait, 10.0, only_claims=False)
        delays.append(wait.delay_s)
    assert delays == [1, 2, 4, 8, 16, 32, 64, 122, 122]
    assert next_wait("other", wait, 10.0, only_claims=False).delay_s == 0.5
    assert next_wait("u", wait, 10.0, only_claims=True).delay_s == 10
