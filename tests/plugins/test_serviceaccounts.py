"""ServiceAccount: which account a pod gets, what of it the pod gets, and what it may name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.objectcache import ObjectCache
from kubetrio.config import Admission, Config, Serving, Storage
from kubetrio.env import seeded
from kubetrio.informers.dispatch import Dispatcher
from kubetrio.kinds.builtin import registry
from kubetrio.kinds.core.validation.podannotations import MIRROR
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.status import ApiError
from kubetrio.plugins.serviceaccounts import (
    ACCOUNT_KEYS,
    ENFORCE,
    MOUNT_PATH,
    VOLUME,
    ServiceAccount,
    secret_names,
)
from kubetrio.resources.objects import stamp
from kubetrio.testing.server import open_api
from kubetrio.testing.store_model import MemoryStore

Object = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
NAME = re.compile(VOLUME + "[bcdfghjklmnpqrstvwxz2456789]{5}")


class Cluster:
    """Accounts in a store, and the plugin that asks for them."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.plugin = ServiceAccount(ObjectCache(Dispatcher(self.store)), seeded(0))

    async def account(self, name: str = "default", annotations: Any = None, **more: Any) -> None:
        meta = {"name": name, "namespace": "ns", "annotations": annotations or {}}
        obj = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta, **more}
        await self.store.create(f"{ACCOUNT_KEYS}ns/{name}", stamp(obj))

    async def admit(
        self,
        pod: Object,
        operation: Operation = Operation.CREATE,
        subresource: str = "",
    ) -> Object:
        attributes = Attributes(
            operation=operation,
            resource=registry().resources["", "v1", "pods"],
            subresource=subresource,
            namespace="ns",
            name="p",
            user=UserInfo("u"),
            obj=pod,
            old=None,
            dry_run=False,
        )
        if operation is Operation.CREATE:
            await self.plugin.mutate(attributes)
        await self.plugin.validate(attributes)
        assert attributes.obj is not None
        return attributes.obj["spec"]

    async def refused(self, pod: Object, **how: Any) -> str:
        with pytest.raises(ApiError) as caught:
            await self.admit(pod, **how)
        assert caught.value.code == 403
        start = 'pods "p" is forbidden: '
        assert caught.value.message.startswith(start)
        return caught.value.message.removeprefix(start)


def pod(annotations: Mapping[str, str] | None = None, **spec: Any) -> Object:
    spec.setdefault("containers", [{"name": "c", "image": "i"}])
    return {"metadata": {"name": "p", "annotations": annotations or {}}, "spec": spec}


async def test_a_pod_gets_the_default_account_and_its_token() -> None:
    """The projected volume is what kube-apiserver makes, member by member."""
    cluster = Cluster()
    await cluster.account()
    init = [{"name": "i", "image": "i"}]
    spec = await cluster.admit(pod(initContainers=init, volumes=[{"name": "v", "emptyDir": {}}]))
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    name = spec["volumes"][1]["name"]
    assert NAME.fullmatch(name)
    mount = {"name": name, "readOnly": True, "mountPath": MOUNT_PATH}
    assert spec["containers"][0]["volumeMounts"] == [mount]
    assert spec["initContainers"][0]["volumeMounts"] == [mount]
    assert spec["volumes"][1]["projected"] == {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {
                "configMap": {
                    "name": "kube-root-ca.crt",
                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }
            },
            {
                "downwardAPI": {
                    "items": [
                        {
                            "path": "namespace",
                            "fieldRef": {
                                "apiVersion": "v1",
                                "fieldPath": "metadata.namespace",
                            },
                        }
                    ]
                }
            },
        ],
        "defaultMode": 420,
    }


@pytest.mark.parametrize(
    ("of_pod", "of_account", "mounted"),
    [(None, None, True), (None, False, False), (True, False, True), (False, True, False)],
)
async def test_the_pod_says_whether_it_gets_a_token(
    of_pod: bool | None, of_account: bool | None, mounted: bool
) -> None:
    """Before its account does, and with neither it gets one."""
    cluster = Cluster()
    said = {} if of_account is None else {"automountServiceAccountToken": of_account}
    await cluster.account(**said)
    more = {} if of_pod is None else {"automountServiceAccountToken": of_pod}
    assert ("volumes" in await cluster.admit(pod(**more))) is mounted


async def test_what_is_mounted_there_already_stays() -> None:
    """A container with a mount of its own gets none, and a volume of that name serves for all."""
    cluster = Cluster()
    await cluster.account()
    own = [{"name": "v", "mountPath": MOUNT_PATH}]
    spec = await cluster.admit(pod(containers=[{"name": "c", "volumeMounts": own}]))
    assert spec["containers"][0]["volumeMounts"] == own
    assert "volumes" not in spec
    volumes = [{"name": VOLUME + "mine", "emptyDir": {}}]
    spec = await cluster.admit(pod(volumes=volumes))
    assert spec["volumes"] == volumes
    assert spec["containers"][0]["volumeMounts"][0]["name"] == VOLUME + "mine"


async def test_secrets_for_pulling_images() -> None:
    """Those of the account, unless the pod names some."""
    cluster = Cluster()
    await cluster.account(imagePullSecrets=[{"name": "a"}])
    assert (await cluster.admit(pod()))["imagePullSecrets"] == [{"name": "a"}]
    own = [{"name": "b"}]
    assert (await cluster.admit(pod(imagePullSecrets=own)))["imagePullSecrets"] == own


async def test_an_account_that_is_not_there() -> None:
    """403 at once, in kube-apiserver's words."""
    told = await Cluster().refused(pod(serviceAccountName="a"))
    expected = 'error looking up service account ns/a: serviceaccount "a" not found'
    assert told == expected


async def test_the_default_account_may_come_a_moment_later(autojump_clock: Any) -> None:
    """It is looked for ten times, within two seconds; then it is 403."""
    cluster = Cluster()
    start = trio.current_time()
    told = await cluster.refused(pod())
    assert told.endswith('ns/default: serviceaccount "default" not found')
    assert 0.9 <= trio.current_time() - start <= 1.8
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cluster.admit, pod())
        await trio.sleep(0.35)
        await cluster.account()


FROM = [{"name": "V", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]
ALL = [{"secretRef": {"name": "s"}}]
BECAUSE = "is not allowed because service account a does not reference that secret"


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (
            {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]},
            f'volume with secret.secretName="s" {BECAUSE}',
        ),
        (
            {"initContainers": [{"name": "i", "env": FROM}]},
            f'init container i with envVar V referencing secret.secretName="s" {BECAUSE}',
        ),
        (
            {"initContainers": [{"name": "i", "envFrom": ALL}]},
            f'init container i with envFrom referencing secret.secretName="s" {BECAUSE}',
        ),
        (
            {"containers": [{"name": "c", "env": FROM}]},
            f'container c with envVar V referencing secret.secretName="s" {BECAUSE}',
        ),
        (
            {"containers": [{"name": "c", "envFrom": ALL}]},
            f'container c with envFrom referencing secret.secretName="s" {BECAUSE}',
        ),
        (
            {"imagePullSecrets": [{"name": "s"}]},
            (
                'imagePullSecrets[0].name="s" is not allowed because service account a does not '
                "reference that imagePullSecret"
            ),
        ),
    ],
)
async def test_pods_name_what_their_account_names(spec: Object, told: str) -> None:
    """Where the account says so, and only there."""
    cluster = Cluster()
    await cluster.account("a", {ENFORCE: "true"})
    await cluster.account("b", {ENFORCE: "yes"})
    assert await cluster.refused(pod(serviceAccountName="a", **spec)) == told
    await cluster.admit(pod(serviceAccountName="b", **spec))


async def test_secrets_that_the_account_names_are_fine() -> None:
    """Mountable ones and those for images are two lists."""
    cluster = Cluster()
    refs = [{"name": "s"}]
    await cluster.account(annotations={ENFORCE: "1"}, secrets=refs, imagePullSecrets=refs)
    volumes = [{"name": "v", "secret": {"secretName": "s"}}]
    containers = [{"name": "c", "env": FROM, "envFrom": ALL}]
    await cluster.admit(pod(volumes=volumes, containers=containers, imagePullSecrets=refs))


async def test_ephemeral_containers_are_checked_as_they_come() -> None:
    """The pod's others were checked when it was made."""
    cluster = Cluster()
    await cluster.account("a", {ENFORCE: "true"})
    how = {"operation": Operation.UPDATE, "subresource": "ephemeralcontainers"}
    old = [{"name": "c", "env": FROM}]
    fine = pod(serviceAccountName="a", containers=old, ephemeralContainers=[{"name": "e"}])
    await cluster.admit(fine, **how)  # type: ignore[arg-type]
    for members, word in (({"env": FROM}, "envVar V"), ({"envFrom": ALL}, "envFrom")):
        wrong = pod(serviceAccountName="a", ephemeralContainers=[{"name": "e", **members}])
        told = f'ephemeral container e with {word} referencing secret.secretName="s" {BECAUSE}'
        assert await cluster.refused(wrong, **how) == told
    nobody = pod(ephemeralContainers=[{"name": "e"}])
    assert await cluster.refused(nobody, **how) == "no service account specified for pod ns/p"


async def test_other_updates_are_not_looked_at() -> None:
    """Neither of the pod nor of its subresources."""
    for subresource in ("", "status", "resize"):
        await Cluster().admit(pod(), Operation.UPDATE, subresource)


PROJECTED = {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"serviceAccountName": "a"}, "a mirror pod may not reference service accounts"),
        ({"imagePullSecrets": [{"name": "s"}]}, "a mirror pod may not reference secrets"),
        (
            {"volumes": [{"name": "v", **PROJECTED}]},
            "a mirror pod may not use ServiceAccountToken volume projections",
        ),
    ],
)
async def test_images_of_static_pods_have_no_account(spec: Object, told: str) -> None:
    """Nor Secrets; and nothing is added to them, or kubelets would delete them."""
    cluster = Cluster()
    assert await cluster.refused(pod({MIRROR: "x"}, **spec)) == told
    made = await cluster.admit(pod({MIRROR: "x"}))
    assert set(made) == {"containers"}


@pytest.mark.parametrize(
    "source",
    [
        {"azureFile": {"secretName": "s"}},
        {"cephfs": {"secretRef": {"name": "s"}}},
        {"cinder": {"secretRef": {"name": "s"}}},
        {"csi": {"nodePublishSecretRef": {"name": "s"}}},
        {"flexVolume": {"secretRef": {"name": "s"}}},
        {"iscsi": {"secretRef": {"name": "s"}}},
        {"projected": {"sources": [{"secret": {"name": "s"}}]}},
        {"rbd": {"secretRef": {"name": "s"}}},
        {"scaleIO": {"secretRef": {"name": "s"}}},
        {"secret": {"secretName": "s"}},
        {"storageos": {"secretRef": {"name": "s"}}},
    ],
)
def test_every_way_to_name_a_secret(source: Object) -> None:
    """Each kind of volume has its own."""
    assert [name for name in secret_names({"volumes": [source]}) if name] == ["s"]


async def test_the_plugin_in_a_whole_server(tmp_path: Path) -> None:
    """Where it is on, the pod is stored with its account and its token, and valid."""
    config = Config(
        data_dir=tmp_path,
        serving=Serving(secure_port=6443),
        storage=Storage(durability="normal"),
        admission=Admission(enable_plugins=("ServiceAccount",)),
    )
    async with open_api(config=config) as server, server.connect() as client:
        accounts = "/api/v1/namespaces/default/serviceaccounts"
        await client.request("POST", accounts, json={"metadata": {"name": "default"}})
        made = await client.request("POST", PODS, json=pod())
        assert made.status == 201
        spec = made.json()["spec"]
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "default"
    assert spec["containers"][0]["volumeMounts"][0]["mountPath"] == MOUNT_PATH
    members = ["volumes", "containers"]
    assert [name for name in spec if name in members] == members
    mount = spec["containers"][0]["volumeMounts"][0]
    assert list(mount) == ["name", "readOnly", "mountPath"]
