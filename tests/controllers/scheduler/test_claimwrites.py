"""What a scheduler writes to claims of devices."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from trio.testing import MockClock

from kubetrio.controllers.scheduler.claimwrites import DeviceClaims
from kubetrio.controllers.scheduler.plugins.devices import Given
from kubetrio.controllers.scheduler.shapes import pod_view
from kubetrio.machinery.status import ApiError
from kubetrio.testing.controllers import context_of
from kubetrio.testing.devices import claim, pod
from kubetrio.testing.server import open_api
from kubetrio.testing.workloads import NAMESPACE

Object = dict[str, Any]
RESULT = {"request": "r", "driver": "gpu.example", "pool": "n", "device": "a"}
ALLOCATION: Object = {"devices": {"results": [RESULT]}}


async def test_a_claim_is_given_devices_once(mock_clock: MockClock) -> None:
    """The same again changes nothing; other devices are refused, and devices are taken back."""
    del mock_clock
    async with open_api(seed=0) as server:
        client, writer = server.client(), DeviceClaims(context_of(server))
        made = await client.create(claim("c"))
        views = [
            pod_view(orjson.dumps(await client.create(pod(name, claim_name="c"))))
            for name in ("p", "q")
        ]
        uid, kind = made["metadata"]["uid"], client.kind("resource.k8s.io/v1", "ResourceClaim")
        await writer.reserve(views[0], [Given("c", uid, ALLOCATION)])
        await writer.reserve(views[1], [Given("c", uid, None)])
        found = await client.get(kind, "c", NAMESPACE)
        assert found["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
        assert found["status"]["allocation"]["devices"] == ALLOCATION["devices"]
        assert [one["name"] for one in found["status"]["reservedFor"]] == ["p", "q"]
        with pytest.raises(ApiError, match="it got devices elsewhere"):
            await writer.reserve(views[1], [Given("c", uid, ALLOCATION)])
        with pytest.raises(ApiError, match="not found"):
            await writer.reserve(views[1], [Given("c", "other", None)])
        await writer.free(views[0], "c")
        held = await client.get(kind, "c", NAMESPACE)
        assert held["status"] == found["status"]  # another pod uses it
        alone = {"status": {"reservedFor": held["status"]["reservedFor"][:1]}}
        await client.patch(kind, "c", alone, NAMESPACE, subresource="status")
        await writer.free(views[0], "c")
        freed = await client.get(kind, "c", NAMESPACE)
        assert freed.get("status", {}) == {}
