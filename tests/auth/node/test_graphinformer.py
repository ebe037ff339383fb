"""The graph that follows the commit stream."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubetrio.auth.node.graphinformer import NodeGraphInformer
from kubetrio.informers.dispatch import Dispatcher
from kubetrio.kinds.builtin import registry
from kubetrio.store.model import Stamped
from kubetrio.testing.store_model import MemoryStore

Object = dict[str, Any]


NODES = ["n1", "n2"]


NAMES = ["a", "b"]


SPACES = ["x", "y"]


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
