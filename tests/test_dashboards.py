"""Metrics that dashboards key on, of a server that is used."""

from __future__ import annotations

import re
from typing import Any

import orjson
import pytest
import trio

from kubetrio.machinery.identity import AUTHENTICATED, MASTERS, UserInfo
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess, open_api

ADMIN = UserInfo("admin", groups=(MASTERS, AUTHENTICATED))
SECRETS = "/api/v1/namespaces/default/secrets"
SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")


class Samples:
    """What ``/metrics`` shows.

    Args:
        text: the page.
    """

    def __init__(self, text: str) -> None:
        self._rows: list[tuple[str, dict[str, str], float]] = []
        for line in text.splitlines():
            if (found := SAMPLE.match(line)) is not None:
                labels = dict(re.findall(r'(\w+)="([^"]*)"', found[2] or ""))
                self._rows.append((found[1], labels, float(found[3])))

    def __call__(self, name: str, /, **wanted: str) -> float:
        """The sum of samples of a name with some labels."""
        return sum(
            value
            for sample, labels, value in self._rows
            if sample == name and wanted.items() <= labels.items()
        )


async def scraped(server: InProcess) -> Samples:
    async with server.connect(certificate=ADMIN) as client:
        return Samples((await client.request("GET", "/metrics")).body.decode())


async def post(client: Client, path: str, obj: dict[str, Any], code: int = 201) -> None:
    head = {"Content-Type": "application/json"}
    answer = await client.request("POST", path, body=orjson.dumps(obj), headers=head)
    assert answer.status == code, answer.body


@pytest.fixture
async def used() -> Samples:
    """A server's metrics after some requests."""
    async with open_api(kept=True) as server:
        before = await scraped(server)
        assert before("apiserver_watch_events_total", resource="secrets") == 0
        async with server.connect(certificate=ADMIN) as admin:
            await play(server, admin)
        return await scraped(server)


async def play(server: InProcess, admin: Client) -> None:
    """Lists, watches, pods, Services, impersonation, and a refusal."""
    for name in ("a", "b", "c"):
        await post(admin, SECRETS, {"metadata": {"name": name}})
    assert (await admin.request("GET", f"{SECRETS}?limit=2")).status == 200
    async with server.connect(certificate=ADMIN) as watcher, trio.open_nursery() as nursery:
        nursery.start_soon(
            watcher.request, "GET", f"{SECRETS}?watch=1&resourceVersion=0&timeoutSeconds=1"
        )
        await trio.testing.wait_all_tasks_blocked()
        await post(admin, SECRETS, {"metadata": {"name": "d"}})
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    await post(admin, "/api/v1/namespaces", {"metadata": {"name": "strict", "labels": labels}})
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    await post(admin, "/api/v1/namespaces/strict/pods", pod, 403)
    service = {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}
    await post(admin, "/api/v1/namespaces/default/services", service)
    head = {"Impersonate-User": "bob"}
    assert (await admin.request("GET", SECRETS, headers=head)).status == 403


EXPECTED: list[tuple[str, dict[str, str], float]] = [
    ("apiserver_watch_events_total", {"resource": "secrets", "version": "v1"}, 4),
    ("apiserver_watch_events_sizes_count", {"resource": "secrets"}, 4),
    ("apiserver_storage_list_total", {"resource": "secrets"}, 1),
    ("apiserver_storage_list_returned_objects_total", {"resource": "secrets"}, 2),
    ("apiserver_request_body_size_bytes_count", {"resource": "secrets", "verb": "create"}, 4),
    ("apiserver_watch_cache_events_received_total", {"resource": "secrets"}, 4),
    ("authorization_attempts_total", {"result": "no-opinion"}, 1),
    ("authorization_duration_seconds_count", {"result": "no-opinion"}, 1),
    ("apiserver_impersonation_attempts_total", {"decision": "allowed", "mode": "user-info"}, 1),
    ("pod_security_evaluations_total", {"decision": "deny", "mode": "enforce"}, 1),
    ("kube_apiserver_clusterip_allocator_allocation_total", {"scope": "dynamic"}, 1),
    ("kube_apiserver_nodeport_allocator_allocation_total", {"scope": "dynamic"}, 1),
    ("kube_apiserver_nodeport_allocator_available_ports", {}, 2767),
    ("kubernetes_build_info", {"major": "1", "minor": "36"}, 1),
    ("kubernetes_feature_enabled", {"name": "CBORServingAndStorage"}, 0),
    ("kubernetes_feature_enabled", {"name": "ConstrainedImpersonation"}, 1),
]  # fmt: skip


async def test_what_was_done_is_counted(used: Samples) -> None:
    """Each family by its labels."""
    wrong = {
        (name, *labels.items()): (used(name, **labels), value)
        for name, labels, value in EXPECTED
        if used(name, **labels) != value
    }
    assert not wrong
    for name in ("authorization_attempts_total", "authentication_attempts"):
        assert used(name) > 10
    assert used("authentication_duration_seconds_count") == used("authentication_attempts")
    assert used("process_resident_memory_bytes") > 1e6
