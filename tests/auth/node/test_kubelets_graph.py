"""The graph of the Node authorizer is what is stored, after each commit."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubetrio.auth.node.graph import Graph
from kubetrio.auth.node.graphinformer import NodeGraphInformer
from kubetrio.auth.node.uses import secrets_of_volume, uses_of_pod
from kubetrio.informers.dispatch import Dispatcher
from kubetrio.kinds.builtin import registry
from kubetrio.store.model import Stamped
from kubetrio.testing.store_model import MemoryStore

Object = dict[str, Any]
NODES = ["n1", "n2"]
NAMES = ["a", "b"]
SPACES = ["x", "y"]

WHOLE_POD: Object = {
    "metadata": {"namespace": "x", "name": "p"},
    "spec": {
        "nodeName": "n1",
        "serviceAccountName": "account",
        "imagePullSecrets": [{"name": "pull"}, {}],
        "initContainers": [{"envFrom": [{"secretRef": {"name": "init"}}, {"prefix": "a"}]}],
        "containers": [
            {
                "envFrom": [{"configMapRef": {"name": "from"}}],
                "env": [
                    {"name": "a", "value": "b"},
                    {"valueFrom": {"secretKeyRef": {"name": "key"}}},
                    {"valueFrom": {"configMapKeyRef": {"name": "cmkey"}}},
                    {"valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                ],
            }
        ],
        "ephemeralContainers": [{"envFrom": [{"secretRef": {"name": "late"}}]}],
        "volumes": [
            {"name": "v1", "azureFile": {"secretName": "azure"}},
            {"name": "v2", "cephfs": {"secretRef": {"name": "ceph"}}},
            {"name": "v3", "cinder": {"secretRef": {"name": "cinder"}}},
            {"name": "v4", "flexVolume": {"secretRef": {"name": "flex"}}},
            {
                "name": "v5",
                "projected": {
                    "sources": [
                        {"secret": {"name": "projected"}},
                        {"configMap": {"name": "cmprojected"}},
                        {"serviceAccountToken": {"path": "t"}},
                    ]
                },
            },
            {"name": "v6", "rbd": {"secretRef": {"name": "rbd"}}},
            {"name": "v7", "secret": {"secretName": "secret"}},
            {"name": "v8", "scaleIO": {"secretRef": {"name": "scale"}}},
            {"name": "v9", "iscsi": {"secretRef": {"name": "iscsi"}}},
            {"name": "v10", "storageos": {"secretRef": {"name": "storage"}}},
            {"name": "v11", "csi": {"nodePublishSecretRef": {"name": "csi"}}},
            {"name": "v12", "configMap": {"name": "cm"}},
            {"name": "v13", "persistentVolumeClaim": {"claimName": "claim"}},
            {"name": "v14", "ephemeral": {}},
            {"name": "v15", "emptyDir": {}},
            {"name": "v16", "iscsi": {"secretRef": None}},
        ],
        "resourceClaims": [
            {"name": "r1", "resourceClaimName": "direct"},
            {"name": "r2", "resourceClaimTemplateName": "t"},
            {"name": "r3", "resourceClaimTemplateName": "t"},
        ],
    },
    "status": {
        "resourceClaimStatuses": [{"name": "r2", "resourceClaimName": "made"}, {"name": "r3"}],
        "extendedResourceClaimStatus": {"resourceClaimName": "extended"},
    },
}


def test_everything_that_a_pod_names() -> None:
    """Each source of each kind."""
    found: dict[str, set[str]] = {}
    for kind, namespace, name in uses_of_pod(WHOLE_POD):
        assert namespace == "x"
        found.setdefault(kind, set()).add(name)
    assert found == {
        "serviceAccount": {"account"},
        "secret": {
            "pull", "init", "key", "late", "azure", "ceph", "cinder", "flex", "projected", "rbd",
            "secret", "scale", "iscsi", "storage", "csi",
        },
        "configmap": {"from", "cmkey", "cmprojected", "cm"},
        "pvc": {"claim", "p-v14"},
        "resourceclaim": {"direct", "made", "extended"},
    }  # fmt: skip


def test_a_mirror_pod_names_nothing() -> None:
    """A kubelet makes it, and would give itself rights."""
    meta = {**WHOLE_POD["metadata"], "annotations": {"kubernetes.io/config.mirror": ""}}
    assert not list(uses_of_pod({**WHOLE_POD, "metadata": meta}))


@pytest.mark.parametrize(
    ("source", "secrets"),
    [
        ({"azureFile": {"secretName": "s"}}, {("c", "s")}),
        ({"azureFile": {"secretName": "s", "secretNamespace": "o"}}, {("o", "s")}),
        ({"cephfs": {"secretRef": {"name": "s"}}}, {("c", "s")}),
        ({"cephfs": {"secretRef": {"name": "s", "namespace": "o"}}}, {("o", "s")}),
        ({"cinder": {"secretRef": {"name": "s", "namespace": "o"}}}, {("o", "s")}),
        ({"flexVolume": {"secretRef": {"name": "s"}}}, {("c", "s")}),
        ({"rbd": {"secretRef": {"name": "s"}}}, {("c", "s")}),
        ({"scaleIO": {"secretRef": {"name": "s"}}}, {("c", "s")}),
        ({"iscsi": {"secretRef": {"name": "s"}}}, {("c", "s")}),
        ({"storageos": {"secretRef": {"name": "s", "namespace": "o"}}}, {("o", "s")}),
        (
            {
                "csi": {
                    "controllerPublishSecretRef": {"name": "hidden", "namespace": "o"},
                    "controllerExpandSecretRef": {"name": "hidden", "namespace": "o"},
                    "nodePublishSecretRef": {"name": "a", "namespace": "o"},
                    "nodeStageSecretRef": {"name": "b", "namespace": "o"},
                    "nodeExpandSecretRef": {"name": "c", "namespace": "o"},
                }
            },
            {("o", "a"), ("o", "b"), ("o", "c")},
        ),
        ({"hostPath": {"path": "/"}}, set()),
    ],
)
def test_secrets_of_a_volume(source: Object, secrets: set[tuple[str, str]]) -> None:
    """In the namespace that is named, else in that of the claim; none of controllers."""
    spec = {"claimRef": {"namespace": "c", "name": "claim"}, **source}
    assert {use[1:] for use in secrets_of_volume({"spec": spec})} == secrets


POD = st.builds(
    lambda node, secrets, claim, mirror: {
        "metadata": {"annotations": {"kubernetes.io/config.mirror": "1"} if mirror else {}},
        "spec": {
            **({"nodeName": node} if node else {}),
            "imagePullSecrets": [{"name": name} for name in secrets],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}],
        },
    },
    st.sampled_from([*NODES, None]),
    st.lists(st.sampled_from(NAMES), max_size=2),
    st.sampled_from(NAMES),
    st.booleans(),
)
VOLUME = st.builds(
    lambda space, claim, secret: {
        "metadata": {},
        "spec": {
            "azureFile": {"secretName": secret},
            **({"claimRef": {"namespace": space, "name": claim}} if space else {}),
        },
    },
    st.sampled_from([*SPACES, None]),
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
)
OWNED = st.builds(
    lambda node: {"metadata": {}, "spec": {"nodeName": node} if node else {}},
    st.sampled_from([*NODES, None]),
)
KEYS = {
    "pods": "/registry/pods/{space}/{name}",
    "persistentvolumes": "/registry/persistentvolumes/{name}",
    "volumeattachments": "/registry/volumeattachments/{name}",
    "resourceslices": "/registry/resourceslices/{name}",
}
OBJECTS = {
    "pods": POD,
    "persistentvolumes": VOLUME,
    "volumeattachments": OWNED,
    "resourceslices": OWNED,
}
CHANGES = st.lists(
    st.sampled_from(list(KEYS)).flatmap(
        lambda kind: st.tuples(
            st.just(kind),
            st.sampled_from(SPACES),
            st.sampled_from(NAMES),
            st.one_of(st.none(), OBJECTS[kind], OBJECTS[kind]),
        )
    ),
    max_size=40,
)


def reachable(stored: dict[str, Object], node: str) -> set[tuple[str, str, str]]:
    """What leads to a node, computed from everything that is stored."""
    found: set[tuple[str, str, str]] = set()
    for key, obj in stored.items():
        kind, *rest = key.removeprefix("/registry/").split("/")
        spec = obj["spec"]
        if spec.get("nodeName") != node:
            continue
        if kind == "pods":
            space, name = rest
            found.add(("pod", space, name))
            if obj["metadata"].get("annotations"):
                continue
            found |= {("secret", space, one["name"]) for one in spec["imagePullSecrets"]}
            found.add(("pvc", space, spec["volumes"][0]["persistentVolumeClaim"]["claimName"]))
        elif kind == "volumeattachments":
            found.add(("volumeattachment", "", rest[0]))
        elif kind == "resourceslices":
            found.add(("resourceslice", "", rest[0]))
    for key, obj in stored.items():
        claim = obj["spec"].get("claimRef")
        if claim and ("pvc", claim["namespace"], claim["name"]) in found:
            found.add(("pv", "", key.rpartition("/")[2]))
            found.add(("secret", claim["namespace"], obj["spec"]["azureFile"]["secretName"]))
    return found


ALL = [
    (kind, space, name)
    for kind, spaces in (
        ("pod", SPACES), ("secret", SPACES), ("pvc", SPACES), ("pv", [""]),
        ("volumeattachment", [""]), ("resourceslice", [""]), ("configmap", SPACES),
    )
    for space in spaces
    for name in NAMES
]  # fmt: skip


async def write(store: MemoryStore, key: str, obj: Object | None) -> None:
    """Create, update or delete, whichever there is to do."""
    found = await store.get(key)
    text = orjson.dumps(obj or {})
    body = Stamped(b'{"revision":', b"," + text[1:] if len(text) > 2 else b"}")
    if obj is None:
        if found is not None:
            await store.delete(key, expected=found.revision)
    elif found is None:
        await store.create(key, body)
    else:
        await store.update(key, body, expected=found.revision)


@given(CHANGES, CHANGES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
async def test_the_graph_is_what_is_stored(
    before: list[tuple[str, str, str, Object | None]],
    after: list[tuple[str, str, str, Object | None]],
) -> None:
    """After each change, those before it began to follow and those since; and nothing is left."""
    store, stored = MemoryStore(), dict[str, Object]()
    followed = NodeGraphInformer(Dispatcher(store), registry())

    async def change(one: tuple[str, str, str, Object | None]) -> None:
        kind, space, name, obj = one
        key = KEYS[kind].format(space=space, name=name)
        if obj is None:
            stored.pop(key, None)
        else:
            meta = {**obj["metadata"], "name": name, "namespace": space}
            obj = stored[key] = {**obj, "metadata": meta}
        await write(store, key, obj)

    def check() -> None:
        for node in NODES:
            wanted = reachable(stored, node)
            assert {what for what in ALL if followed.graph.leads(what, node)} == wanted

    for one in before:
        await change(one)
    await followed.start()
    check()
    for one in after:
        await change(one)
        check()
    for key in list(stored):
        await write(store, key, None)
    assert len(followed.graph) == 0


def test_equal_uses_cost_one_edge() -> None:
    """A pod that names a thing twice gives it up once."""
    graph = Graph()
    secret = ("secret", "x", "s")
    graph.bind(("pod", "x", "p"), "n1", [secret, secret])
    graph.bind(("pod", "x", "q"), "n1", [secret])
    graph.release(("pod", "x", "p"))
    assert graph.leads(secret, "n1")
    graph.release(("pod", "x", "q"))
    assert not graph.leads(secret, "n1")


def test_a_pod_that_comes_again_elsewhere_leaves_its_node() -> None:
    """Under the same name."""
    graph = Graph()
    secret = ("secret", "x", "s")
    graph.bind(("pod", "x", "p"), "n1", [secret])
    graph.bind(("pod", "x", "p"), "n2", [secret])
    assert [graph.leads(secret, node) for node in NODES] == [False, True]


def test_names_with_slashes_are_not_mixed_up() -> None:
    """A namespace and a name stay two things."""
    graph = Graph()
    graph.bind(("pod", "a", "p"), "n1", [("secret", "a", "b/c")])
    assert not graph.leads(("secret", "a/b", "c"), "n1")
