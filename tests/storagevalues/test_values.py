"""Values of etcd: every kind goes there and comes back as it was."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts.server import samples
from kubetrio.kinds.builtin import registry
from kubetrio.resources.objects import restamp, stamp
from kubetrio.schema.builtin import message
from kubetrio.storagevalues.table import folders
from kubetrio.storagevalues.values import EtcdValues, MediaType
from kubetrio.store.model import KeyValue, Range, Stamped, Unstampable
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess
from kubetrio.wire import protowire

FOLDERS = folders(registry().resources.values())
VALUES = EtcdValues(FOLDERS, registry)
AS_JSON = EtcdValues(FOLDERS, registry, MediaType.JSON)
WIDGETS = "/registry/example.com/widgets/default/w"


async def stored(server: InProcess, client: Client) -> list[KeyValue]:
    """Objects of every kind, as the store has them."""
    for sample in samples().values():
        await client.request("POST", sample["path"], json=sample["object"])
    found = await server.api.storage.store.range(Range.prefix("/registry/"))
    return list(found.items)


@pytest.mark.parametrize("values", [VALUES, AS_JSON], ids=["protobuf", "JSON"])
async def test_every_kind_comes_back_as_it_was(
    server: InProcess, client: Client, values: EtcdValues
) -> None:
    """Byte for byte, whatever etcd has; and etcd's value comes out of it again."""
    seen = set()
    for item in await stored(server, client):
        data = values.to_etcd(item.key, restamp(item.value))
        assert values.from_etcd(item.key, data).at(item.revision) == item.value
        assert b'resourceVersion":"' not in data.split(b"managedFields")[0]
        seen.add(next(folder for folder in FOLDERS if item.key.startswith(folder)))
    assert set(FOLDERS) - seen == set()


async def test_both_encodings_are_read(server: InProcess, client: Client) -> None:
    """Whichever is written."""
    for item in await stored(server, client):
        for one, other in ((VALUES, AS_JSON), (AS_JSON, VALUES)):
            data = one.to_etcd(item.key, restamp(item.value))
            assert other.from_etcd(item.key, data).at(item.revision) == item.value


def value_of(obj: dict[str, Any]) -> Stamped:
    """An object as the store has it."""
    return stamp(obj)


CONFIG_MAP = {
    "kind": "ConfigMap",
    "apiVersion": "v1",
    "metadata": {"name": "c", "namespace": "default", "uid": "u"},
    "data": {"a": "b"},
}
KEY = "/registry/configmaps/default/c"


def test_protobuf_by_hand() -> None:
    """The envelope, with the resourceVersion empty."""
    meta = b"\x0a\x01c\x12\x00\x1a\x07default\x22\x00\x2a\x01u\x32\x00\x38\x00\x42\x00"
    raw = b"\x0a" + bytes((len(meta),)) + meta + b"\x12\x06\x0a\x01a\x12\x01b"
    assert VALUES.to_etcd(KEY, value_of(CONFIG_MAP)) == protowire.wrap("v1", "ConfigMap", raw)


def test_json_by_hand() -> None:
    """The hole and its member are gone; a newline is at the end."""
    assert AS_JSON.to_etcd(KEY, value_of(CONFIG_MAP)) == (
        b'{"kind":"ConfigMap","apiVersion":"v1",'
        b'"metadata":{"name":"c","namespace":"default","uid":"u"},"data":{"a":"b"}}\n'
    )


def test_custom_resources_are_sorted() -> None:
    """As Go prints maps, down to the last; here they are in the order of other objects."""
    obj = {
        "kind": "Widget",
        "apiVersion": "example.com/v1",
        "metadata": {"name": "w", "namespace": "default", "uid": "u", "labels": {"b": "1"}},
        "spec": {"z": 1.50, "a": {"y": [{"c": "<", "b": None}]}},
    }
    data = VALUES.to_etcd(WIDGETS, value_of(obj))
    assert data == (
        b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"labels":{"b":"1"},'
        b'"name":"w","namespace":"default","uid":"u"},'
        b'"spec":{"a":{"y":[{"b":null,"c":"\\u003c"}]},"z":1.5}}\n'
    )
    back = VALUES.from_etcd(WIDGETS, data)
    assert orjson.loads(back.at(7)) == {
        **obj,
        "metadata": {**obj["metadata"], "resourceVersion": "7"},  # type: ignore[dict-item]
    }
    assert back.at(7).startswith(b'{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"na')


@pytest.mark.parametrize("values", [VALUES, AS_JSON], ids=["protobuf", "JSON"])
def test_defaults_are_set_when_a_value_is_read(values: EtcdValues) -> None:
    """kube-apiserver stores what it has set after them, and what an older one did not know."""
    meta = {"name": "j", "namespace": "default", "uid": "u"}
    pods = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}
    template = {"metadata": {"labels": {"job-name": "j"}}, "spec": pods}
    job = {
        "kind": "Job",
        "apiVersion": "batch/v1",
        "metadata": meta,
        "spec": {"template": template},
    }
    key = "/registry/jobs/default/j"
    read = orjson.loads(values.from_etcd(key, values.to_etcd(key, stamp(job))).at(5))
    assert read["metadata"]["labels"] == {"job-name": "j"}
    assert read["spec"]["completionMode"] == "NonIndexed"
    assert read["spec"]["template"]["spec"]["dnsPolicy"] == "ClusterFirst"
    claim: dict[str, Any] = {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "metadata": meta,
        "status": {},
    }
    key = "/registry/persistentvolumeclaims/default/j"
    read = orjson.loads(values.from_etcd(key, values.to_etcd(key, stamp(claim))).at(5))
    assert read["status"] == {"phase": "Pending"}


names = st.text(alphabet='abc"\\/{}[]<>é\n', min_size=1, max_size=8)


@given(st.dictionaries(names, names, max_size=3), st.dictionaries(names, names, max_size=3))
def test_texts_that_look_like_members(labels: dict[str, str], data: dict[str, str]) -> None:
    """No text is taken for the uid, the metadata or the resourceVersion."""
    trap = {'"uid":"': 'x","resourceVersion":"', ',"metadata":{': '"uid":"y"'}
    for meta in ({"uid": "u"}, {}):
        obj = {
            **CONFIG_MAP,
            "metadata": {"name": "c", **meta, "labels": {**labels, **trap}},
            "data": {**data, **trap},
        }
        value = value_of(obj)
        for values in (VALUES, AS_JSON):
            back = values.from_etcd(KEY, values.to_etcd(KEY, value))
            assert orjson.loads(back.at(12)) == orjson.loads(value.at(12))
            assert back.hole == len(back.before)


def test_leases_of_servers_are_endpoints() -> None:
    """In the folder of their own, as kube-apiserver writes and reads them."""
    key = "/registry/masterleases/10.0.0.1"
    obj = {
        "kind": "Endpoints",
        "apiVersion": "v1",
        "metadata": {"generation": 3},
        "subsets": [{"addresses": [{"ip": "10.0.0.1"}]}],
    }
    data = VALUES.to_etcd(key, stamp(obj))
    assert data == VALUES.to_etcd("/registry/services/endpoints/default/e", stamp(obj))
    assert data.startswith(b"k8s\0\n\x0f\n\x02v1\x12\tEndpoints\x12")
    back = orjson.loads(VALUES.from_etcd(key, data).at(7))
    assert (back["subsets"], back["metadata"]["generation"]) == (obj["subsets"], 3)


def test_former_versions_are_read() -> None:
    """What another release stored: converted where they differ, renamed where not."""
    hpa = "/registry/horizontalpodautoscalers/default/h"
    old: dict[str, Any] = {
        "kind": "HorizontalPodAutoscaler",
        "apiVersion": "autoscaling/v1",
        "metadata": {"name": "h", "namespace": "default", "uid": "u"},
        "spec": {
            "scaleTargetRef": {"kind": "Deployment", "name": "d"},
            "maxReplicas": 3,
            "targetCPUUtilizationPercentage": 50,
        },
        "status": {"currentReplicas": 0, "desiredReplicas": 0},
    }
    back = orjson.loads(VALUES.from_etcd(hpa, orjson.dumps(old)).at(3))
    assert back["apiVersion"] == "autoscaling/v2"
    assert back["spec"]["metrics"][0]["resource"]["name"] == "cpu"
    role = "/registry/clusterroles/r"
    old = {
        "kind": "ClusterRole",
        "apiVersion": "rbac.authorization.k8s.io/v1beta1",
        "metadata": {"name": "r", "uid": "u"},
        "rules": None,
    }
    codec = protowire.ProtobufCodec(message)
    for data in (
        orjson.dumps(old),
        codec.encode_object(old, "io.k8s.api.rbac.v1.ClusterRole"),
    ):
        back = orjson.loads(VALUES.from_etcd(role, data).at(3))
        assert (back["apiVersion"], back["metadata"]["resourceVersion"]) == (
            "rbac.authorization.k8s.io/v1",
            "3",
        )


def test_the_other_encoding_is_not_current() -> None:
    """An update that changes nothing writes it in the one that the flag names."""
    as_json = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{}}'
    as_protobuf = VALUES.to_etcd(KEY, VALUES.from_etcd(KEY, as_json))
    assert VALUES.is_current(KEY, as_protobuf)
    assert not VALUES.is_current(KEY, as_json)
    assert AS_JSON.is_current(KEY, as_json)
    assert not AS_JSON.is_current(KEY, as_protobuf)


def test_another_version_is_not_current() -> None:
    """What is written is, whichever version a kind is stored in."""
    role = "/registry/clusterroles/r"
    old = protowire.wrap("rbac.authorization.k8s.io/v1beta1", "ClusterRole", b"")
    assert not VALUES.is_current(role, old)
    assert VALUES.is_current(role, VALUES.to_etcd(role, VALUES.from_etcd(role, old)))
    definition = "/registry/apiextensions.k8s.io/customresourcedefinitions/w"
    begin = b'{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/'
    assert VALUES.is_current(definition, begin + b'v1beta1","metadata":{}}')
    assert not VALUES.is_current(definition, begin + b'v1","metadata":{}}')
    assert VALUES.is_current("/registry/ranges/servicenodeports", b"")
    assert VALUES.is_current("/kubetrio/x", b"anything")
    assert VALUES.is_current(WIDGETS, b"{}")


def test_a_kind_that_is_missing_is_that_of_the_folder() -> None:
    """As for kube-apiserver; the value is written again with it."""
    obj = {name: value for name, value in CONFIG_MAP.items() if name != "kind"}
    data = orjson.dumps(obj)
    read = orjson.loads(VALUES.from_etcd(KEY, data).at(7))
    assert read["kind"] == "ConfigMap"
    assert not AS_JSON.is_current(KEY, data)


def test_what_is_no_object_stays_as_it_is() -> None:
    """The server's own keys."""
    assert VALUES.to_etcd("/kubetrio/x", Unstampable(b"anything", b"")) == b"anything"
    assert VALUES.from_etcd("/kubetrio/x", b"anything") == Unstampable(b"anything", b"")
