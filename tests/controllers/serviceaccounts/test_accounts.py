"""The objects that every namespace has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.plugin import Base
from kubetrio.auth.trust import ClusterAuthorities, RootBundle
from kubetrio.controllers.serviceaccounts.accounts import DESCRIBED, DESCRIPTION
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError, forbidden
from kubetrio.server.parts import Parts
from kubetrio.testing.controllers import Writes, refused, running
from kubetrio.testing.server import InProcess, open_api

Object = dict[str, Any]
ACCOUNTS, AUTHORITIES = "serviceaccount-controller", "root-ca-certificate-publisher-controller"
OLD = ("default", "kube-node-lease", "kube-public", "kube-system")


def namespace(name: str) -> Object:
    """A namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


async def found(server: InProcess, kind: str, name: str) -> list[str]:
    """The namespaces that have an object."""
    await wait_all_tasks_blocked()
    client = server.client()
    listed = await client.list(client.kind("v1", kind), field_selector=f"metadata.name={name}")
    return [item["metadata"]["namespace"] for item in listed.items]


async def test_each_namespace_has_a_default_account(server: InProcess) -> None:
    """Those that are there and those that come, and it comes back when it is deleted."""
    client = server.client()
    kind = client.kind("v1", "ServiceAccount")
    async with running(server, ACCOUNTS):
        assert await found(server, "ServiceAccount", "default") == list(OLD)
        await client.create(namespace("new"))
        assert "new" in await found(server, "ServiceAccount", "default")
        before = await client.get(kind, "default", "new")
        await client.delete(kind, "default", "new")
        await wait_all_tasks_blocked()
        after = await client.get(kind, "default", "new")
        assert before["metadata"]["uid"] != after["metadata"]["uid"]
        assert set(after) == {"apiVersion", "kind", "metadata"}


async def test_a_namespace_that_goes_gets_none(server: InProcess) -> None:
    """Nor does one that was deleted before anybody looked."""
    client = server.client()
    await client.create(namespace("going"))
    await client.delete(client.kind("v1", "Namespace"), "going")
    async with running(server, ACCOUNTS, AUTHORITIES) as controllers:
        assert "going" not in await found(server, "ServiceAccount", "default")
        assert "going" not in await found(server, "ConfigMap", "kube-root-ca.crt")
        assert [one.queue.limiter.failures("going") for one in controllers] == [0, 0]


async def test_each_namespace_has_the_authorities(server: InProcess) -> None:
    """With the description; whatever somebody makes of it is put right, other metadata stays."""
    client = server.client()
    kind = client.kind("v1", "ConfigMap")
    trust = ClusterAuthorities(RootBundle("PEM"))
    async with running(server, AUTHORITIES, trust=trust):
        assert await found(server, "ConfigMap", "kube-root-ca.crt") == list(OLD)
        made = await client.get(kind, "kube-root-ca.crt", "default")
        assert made["data"] == {"ca.crt": "PEM"}
        assert made["metadata"]["annotations"] == {DESCRIPTION: DESCRIBED}
        changed = {
            "data": {"ca.crt": "false", "more": "x"},
            "metadata": {"annotations": {DESCRIPTION: None, "mine": "1"}},
        }
        await client.patch(kind, "kube-root-ca.crt", changed, "default")
        await wait_all_tasks_blocked()
        right = await client.get(kind, "kube-root-ca.crt", "default")
        assert right["data"] == {"ca.crt": "PEM"}
        assert right["metadata"]["annotations"] == {DESCRIPTION: DESCRIBED, "mine": "1"}
        await client.delete(kind, "kube-root-ca.crt", "default")
        assert "default" in await found(server, "ConfigMap", "kube-root-ca.crt")


async def test_a_description_of_others_stays(server: InProcess) -> None:
    """As long as there is one."""
    client = server.client()
    kind = client.kind("v1", "ConfigMap")
    async with running(server, AUTHORITIES):
        await wait_all_tasks_blocked()
        changed = {"metadata": {"annotations": {DESCRIPTION: "mine"}}}
        await client.patch(kind, "kube-root-ca.crt", changed, "default")
        await wait_all_tasks_blocked()
        stored = await client.get(kind, "kube-root-ca.crt", "default")
        assert stored["metadata"]["annotations"] == {DESCRIPTION: "mine"}


async def test_new_authorities_are_published(server: InProcess) -> None:
    """Everywhere, as soon as the server shows certificates of others."""
    client = server.client()
    root = RootBundle("one")
    async with running(server, AUTHORITIES, trust=ClusterAuthorities(root)):
        await wait_all_tasks_blocked()
        root.set("two")
        await wait_all_tasks_blocked()
        listed = await client.list(
            client.kind("v1", "ConfigMap"), field_selector="metadata.name=kube-root-ca.crt"
        )
        assert {item["data"]["ca.crt"] for item in listed.items} == {"two"}


class Refusing(Base):
    """A plugin that refuses some objects, and then no more."""

    name = "Refusing"
    resources = frozenset({GroupResource("", "serviceaccounts"), GroupResource("", "configmaps")})

    def __init__(self, times: int) -> None:
        self.left = times

    async def validate(self, attributes: Attributes) -> None:
        """Refuse."""
        if attributes.namespace == "default" and self.left:
            self.left -= 1
            raise forbidden(attributes.resource.group_resource, "x", "no")


@pytest.mark.parametrize(
    ("controller", "kind", "name"),
    [(ACCOUNTS, "ServiceAccount", "default"), (AUTHORITIES, "ConfigMap", "kube-root-ca.crt")],
)
async def test_refusals_are_survived(
    autojump_clock: MockClock, controller: str, kind: str, name: str
) -> None:
    """Others get theirs meanwhile, and this one when nobody refuses it any more."""
    refusing = Refusing(5)
    async with open_api(parts=Parts(admission=[refusing])) as server, running(server, controller):
        client = server.client()
        await trio.sleep(30)
        assert refusing.left == 0
        assert (await found(server, kind, name))[0] == "default"
        with pytest.raises(ApiError):
            await client.get(client.kind("v1", kind), name, "nowhere")


async def test_they_write_what_their_roles_allow() -> None:
    """And nothing when there is nothing to do."""
    writes = Writes()
    trust = ClusterAuthorities(RootBundle("PEM"))
    async with (
        open_api(parts=Parts(admission=[writes])) as server,
        running(server, ACCOUNTS, AUTHORITIES, trust=trust),
    ):
        await wait_all_tasks_blocked()
        client = server.client()
        kind = client.kind("v1", "ConfigMap")
        await client.patch(kind, "kube-root-ca.crt", {"data": {"a": "b"}}, "default")
        await wait_all_tasks_blocked()
        own = writes.by_controllers()
        assert len(own) == 2 * len(OLD) + 1
        assert refused(server, own) == []
        # A change that is none of their business.
        body = {"metadata": {"labels": {"a": "b"}}}
        await client.patch(client.kind("v1", "Namespace"), "default", body)
        await wait_all_tasks_blocked()
        assert len(writes.by_controllers()) == len(own)


class Faster(Base):
    """A plugin that lets somebody else make the ConfigMap first."""

    name = "Faster"
    resources = frozenset({GroupResource("", "configmaps")})
    operations = frozenset({Operation.CREATE})

    def __init__(self) -> None:
        self.make: Callable[[str], Awaitable[object]] | None = None

    async def validate(self, attributes: Attributes) -> None:
        """Make it."""
        make, self.make = self.make, None
        if make is not None:
            await make(attributes.namespace)


async def test_one_made_by_others_meanwhile_is_corrected() -> None:
    """The controller finds that it is there, and looks at what it is."""
    faster = Faster()
    async with open_api(parts=Parts(admission=[faster])) as server:
        client = server.client()

        async def make(where: str) -> None:
            await client.create(
                {
                    "apiVersion": "v1", "kind": "ConfigMap", "data": {"ca.crt": "false"},
                    "metadata": {"name": "kube-root-ca.crt", "namespace": where},
                }
            )  # fmt: skip

        faster.make = make
        async with running(server, AUTHORITIES, trust=ClusterAuthorities(RootBundle("PEM"))):
            await wait_all_tasks_blocked()
            listed = await client.list(client.kind("v1", "ConfigMap"))
            assert {
                item["data"]["ca.crt"]
                for item in listed.items
                if item["metadata"]["name"] == "kube-root-ca.crt"
            } == {"PEM"}


async def test_it_stands_back_from_another_publisher(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """A controller manager with another --root-ca-file corrects each ConfigMap, too."""
    writes = Writes()
    async with open_api(parts=Parts(admission=[writes])) as server:
        client = server.client()
        kind = client.kind("v1", "ConfigMap")
        key = kind.key("default", "kube-root-ca.crt")
        woken = trio.Event()

        def wake(_: object) -> None:
            woken.set()

        async def correct() -> None:
            nonlocal woken
            while True:
                await woken.wait()
                woken = trio.Event()
                body = {"data": {"ca.crt": "theirs"}}
                found = await client.get(kind, "kube-root-ca.crt", "default")
                if found["data"]["ca.crt"] != "theirs":
                    await client.patch(kind, "kube-root-ca.crt", body, "default")

        server.api.storage.informers.dispatcher.subscribe(key, wake)
        root = RootBundle("ours")
        async with (
            running(server, AUTHORITIES, trust=ClusterAuthorities(root)),
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(correct)
            await trio.sleep(24 * 3600)
            assert len([one for one in writes.by_controllers() if one.namespace == "default"]) < 20
            found = await client.get(kind, "kube-root-ca.crt", "default")
            assert found["data"]["ca.crt"] == "theirs"
            said = [one for one in caplog.records if "keeps changing" in one.getMessage()]
            assert said
            fields = vars(said[0])["kubetrio_fields"]
            assert (fields["object"], fields["key"]) == ("configmaps/kube-root-ca.crt", "default")
            # The others are as they should be, and what is new is written at once.
            nursery.cancel_scope.cancel()
        async with running(server, AUTHORITIES, trust=ClusterAuthorities(RootBundle("new"))):
            await wait_all_tasks_blocked()
            found = await client.get(kind, "kube-root-ca.crt", "default")
            assert found["data"]["ca.crt"] == "new"
