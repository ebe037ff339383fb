"""Which volumes are wanted where."""

from __future__ import annotations

from trio.testing import MockClock

from kubetrio.controllers.attachdetach.wanted import Place, WantedVolumes
from kubetrio.controllers.controller import Controller
from kubetrio.kinds.core.pods.digests import pods_of
from kubetrio.testing.controllers import context_of
from kubetrio.testing.server import InProcess, open_api
from kubetrio.testing.workloads import NAMESPACE

UNIQUE = "kubernetes.io/csi/d^h"


class Idle(Controller):
    """A controller that only follows."""

    name = "idle"

    async def sync(self, key: str) -> None:
        """Do nothing."""


async def synced(server: InProcess, changed: list[Place]) -> WantedVolumes:
    """Wanted volumes of a server, and where changes of them are noted."""
    context = context_of(server)
    controller = Idle(context)
    wanted = WantedVolumes(controller, context, changed.append)
    for source in controller.sources:
        await source.sync()
    await pods_of(context.informers).sync()
    return wanted


async def test_what_a_pod_wants_is_known_when_its_claim_is_bound(mock_clock: MockClock) -> None:
    """And stays until the pod goes, even without its claim."""
    changed: list[Place] = []
    async with open_api(seed=0) as server:
        wanted = await synced(server, changed)
        client = server.client()
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": "c"}}
        pod = await client.create({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": NAMESPACE},
            "spec": {"nodeName": "n", "volumes": [volume],
                     "containers": [{"name": "c", "image": "i"}]},
        })  # fmt: skip
        claim = await client.create({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "c", "namespace": NAMESPACE},
            "spec": {"accessModes": ["ReadWriteOnce"], "volumeName": "v",
                     "resources": {"requests": {"storage": "1"}}},
        })  # fmt: skip
        reference = {"namespace": NAMESPACE, "name": "c", "uid": claim["metadata"]["uid"]}
        await client.create({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"},
            "spec": {"capacity": {"storage": "1"}, "accessModes": ["ReadWriteOnce"],
                     "csi": {"driver": "d", "volumeHandle": "h"}, "claimRef": reference},
        })  # fmt: skip
        assert changed == []
        kind = client.kind("v1", "PersistentVolumeClaim")
        bound = {"status": {"phase": "Bound"}}
        await client.patch(kind, "c", bound, NAMESPACE, subresource="status")
        place = Place("n", UNIQUE)
        assert changed == [place]
        assert wanted.pods(place) == [(NAMESPACE, "p")]
        assert wanted.at_node("n") == [UNIQUE]
        assert wanted.volume_name(UNIQUE) == "v"
        assert wanted.uid_of(NAMESPACE, "p") == pod["metadata"]["uid"]
        lost = {"status": {"phase": "Lost"}}
        await client.patch(kind, "c", lost, NAMESPACE, subresource="status")
        assert wanted.pods(place) == [(NAMESPACE, "p")]
        await client.delete(client.kind("v1", "Pod"), "p", NAMESPACE, gracePeriodSeconds=0)
        assert changed == [place, place]
        assert wanted.pods(place) == []
        assert wanted.at_node("n") == []
