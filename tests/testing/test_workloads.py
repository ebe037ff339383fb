"""Workloads for tests."""

from kubetrio.testing.server import open_api
from kubetrio.testing.workloads import make_end, make_ready, pods_of, template, workload


async def test_pods_run_and_end() -> None:
    """As a kubelet would say."""
    async with open_api() as server:
        client = server.client()
        await client.create(workload("Deployment", replicas=1))
        for name in "ab":
            meta = {"name": name, "namespace": "default"}
            spec = template()["spec"]
            await client.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
        chosen = await make_ready(client, 0, lambda pod: pod["metadata"]["name"] == "a")
        assert chosen == 1
        assert await make_ready(client, 0) == 1
        assert await make_ready(client, 0) == 0
        await make_end(client, "a", "Failed", 3)
        ended, running = await pods_of(client)
        assert (ended["status"]["phase"], running["status"]["phase"]) == ("Failed", "Running")
        (container,) = ended["status"]["containerStatuses"]
        assert container["state"]["terminated"]["exitCode"] == 3
