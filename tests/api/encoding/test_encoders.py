"""Encoders: stored bytes as they are, and every other representation from objects."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kubetrio.api.encoding import encoders, serializers
from kubetrio.api.encoding.cache import ByteCache
from kubetrio.api.encoding.encoders import JsonEncoder, ObjectEncoder, bookmark_object, encoder_for
from kubetrio.api.request import Request, parse_query, resolve
from kubetrio.kinds.builtin import registry
from kubetrio.machinery.status import ApiError
from kubetrio.resources.objects import head, stamp
from kubetrio.resources.representation import Encoder, ListMeta
from kubetrio.schema.kind import Kind
from kubetrio.store.model import KeyValue
from kubetrio.wire import cborwire, yamlwire
from kubetrio.wire.negotiate import CBOR_OFFERS, COLLECTION, OBJECT, WATCH, Offer
from kubetrio.wire.protowire import unwrap

RESOURCES = registry().resources
CONFIGMAPS = RESOURCES["", "v1", "configmaps"]
SCALERS_V1 = RESOURCES["autoscaling", "v1", "horizontalpodautoscalers"]
PROTOBUF = "application/vnd.kubernetes.protobuf"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL_LIST = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
META = ListMeta(resource_version="9", continue_token="next", remaining=3)


def item(name: str, revision: int) -> KeyValue:
    meta = {"name": name, "creationTimestamp": "2023-11-14T22:13:20Z"}
    value = stamp({"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta, "data": {"k": name}})
    return KeyValue(CONFIGMAPS.key("ns", name), value.at(revision), revision, revision)


ITEMS = [item("a", 1), item("b", 2), item("c", 3)]


def encoder(
    accept: str = "",
    offer: Offer = COLLECTION,
    target: str = "/api/v1/configmaps",
    resource: Kind = CONFIGMAPS,
    cache: ByteCache | None = None,
) -> Encoder:
    path, _, query = target.partition("?")
    headers = {b"accept": accept.encode()} if accept else {}
    request = Request("GET", path, query, headers, list(headers.items()))
    request.query = parse_query(query)
    request.info = resolve("GET", path, request.query)
    return encoder_for(request, resource, offer, lambda: 1_700_000_060.0, cache or ByteCache(1000))


def whole(chosen: Encoder, steps: int = 3) -> bytes:
    writer = chosen.list_writer()
    parts = [writer.open(META)]
    parts += [writer.items(ITEMS[at : at + steps]) for at in range(0, len(ITEMS), steps)]
    return b"".join([*parts, writer.close()])


EXPECTED_META = {"resourceVersion": "9", "continue": "next", "remainingItemCount": 3}


# ---------------------------------------------------------------- stored bytes


@pytest.mark.parametrize("accept", ["", "*/*", "application/json"])
def test_json_in_the_stored_version_is_the_identity(accept: str) -> None:
    """One encoder for all requests."""
    assert encoder(accept) is encoders.json_encoder(CONFIGMAPS)


def test_a_get_decodes_nothing() -> None:
    """What is stored goes out with a newline, even if it were not JSON."""
    assert encoder(offer=OBJECT).object(b"<any bytes>") == b"<any bytes>\n"


def test_a_joined_list_is_the_list_item_by_item() -> None:
    """The store joins what the writer would."""
    chosen = encoders.json_encoder(CONFIGMAPS)
    writer = chosen.list_writer()
    body = chosen.separator.join(each.value[chosen.skip :] for each in ITEMS)
    joined = writer.open(META) + writer.lead() + body + writer.close()
    assert joined == whole(chosen, 3) == whole(chosen, 1)


def test_pages_may_be_empty() -> None:
    """A page without matches adds no comma."""
    chosen = encoders.json_encoder(CONFIGMAPS)
    writer = chosen.list_writer()
    parts = [writer.open(META), writer.items([]), writer.items(ITEMS), writer.items([])]
    assert b"".join([*parts, writer.close()]) == whole(chosen)


def test_items_of_a_list_do_not_say_what_they_are() -> None:
    """Neither kind nor apiVersion, as kube-apiserver's typed lists."""
    found = orjson.loads(whole(encoders.json_encoder(CONFIGMAPS)))
    assert found["metadata"] == EXPECTED_META
    assert (found["kind"], found["apiVersion"]) == ("ConfigMapList", "v1")
    assert [list(each) for each in found["items"]] == [["metadata", "data"]] * 3


def test_the_head_of_every_kind_is_skipped() -> None:
    """Exactly kind and apiVersion, for all resources."""
    for resource in RESOURCES.values():
        obj = {"kind": resource.kind, "apiVersion": resource.stored_as.api_version, "metadata": {}}
        value = stamp(obj).at(1)
        assert value.startswith(head(resource))
        rest = value[JsonEncoder(resource).skip :]
        assert orjson.loads(b"{" + rest) == {"metadata": {"resourceVersion": "1"}}


# ---------------------------------------------------------------- other representations


def test_every_representation_lists_the_same() -> None:
    """JSON, pretty JSON, YAML, protobuf and CBOR."""
    plain = orjson.loads(whole(encoder()))
    assert orjson.loads(whole(encoder(target="/api/v1/configmaps?pretty=1"))) == plain
    assert yamlwire.decode(whole(encoder("application/yaml"))).value == plain
    assert cborwire.decode(whole(encoder("application/cbor", CBOR_OFFERS[COLLECTION]))) == plain
    envelope = unwrap(whole(encoder(PROTOBUF)))
    assert (envelope.api_version, envelope.kind) == ("v1", "ConfigMapList")
    found = serializers.protobuf().decode(envelope.raw, "io.k8s.api.core.v1.ConfigMapList")
    assert found == {"metadata": plain["metadata"], "items": plain["items"]}


@pytest.mark.parametrize("accept", [PROTOBUF, "application/yaml", TABLE])
def test_how_a_list_is_read_does_not_show(accept: str) -> None:
    """In one piece or item by item."""
    assert whole(encoder(accept), 1) == whole(encoder(accept), 3)


def test_a_table_has_a_row_an_object() -> None:
    """And the list's metadata."""
    found = orjson.loads(whole(encoder(TABLE)))
    assert (found["kind"], found["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert found["metadata"] == EXPECTED_META
    assert [row["cells"] for row in found["rows"]] == [
        ["a", 1, "60s"],
        ["b", 1, "60s"],
        ["c", 1, "60s"],
    ]
    assert {row["object"]["kind"] for row in found["rows"]} == {"PartialObjectMetadata"}


def test_metadata_only() -> None:
    """A list of what the objects are called, without what they hold."""
    found = orjson.loads(whole(encoder("application/json" + PARTIAL_LIST)))
    assert found["kind"] == "PartialObjectMetadataList"
    assert found["apiVersion"] == "meta.k8s.io/v1"
    assert [each["metadata"]["name"] for each in found["items"]] == ["a", "b", "c"]
    assert all("data" not in each for each in found["items"])


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
@pytest.mark.parametrize("media", ["application/json", "application/yaml", "application/cbor"])
def test_an_empty_list_has_items_and_one_of_metadata_has_none(media: str, version: str) -> None:
    """As Go prints a slice that was made, and one that never was."""
    offer = CBOR_OFFERS[COLLECTION]
    decode = {
        "application/json": orjson.loads,
        "application/yaml": lambda body: yamlwire.decode(body).value,
        "application/cbor": cborwire.decode,
    }[media]
    shape = f";as=PartialObjectMetadataList;g=meta.k8s.io;v={version}"
    for accept, items in ((media, []), (media + shape, None)):
        writer = encoder(accept, offer).list_writer()
        found: Any = decode(writer.open(META) + writer.items([]) + writer.close())
        assert (found["items"], found["metadata"]) == (items, EXPECTED_META)


def test_a_shape_for_lists_is_none_for_objects() -> None:
    """406, and the other way round, once there is something to show."""
    path = "/api/v1/namespaces/ns/configmaps"
    one = encoder("application/json" + PARTIAL_LIST, OBJECT, f"{path}/a")
    with pytest.raises(ApiError) as caught:
        one.object(ITEMS[0].value)
    assert caught.value.code == 406
    several = encoder("application/json" + PARTIAL_LIST.replace("List", ""), COLLECTION, path)
    with pytest.raises(ApiError) as caught:
        several.list_writer()
    assert caught.value.code == 406


def scaler(*metrics: dict[str, Any]) -> bytes:
    """A stored HorizontalPodAutoscaler."""
    ref = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    obj = {
        "kind": "HorizontalPodAutoscaler",
        "apiVersion": "autoscaling/v2",
        "metadata": {"name": "h", "namespace": "ns"},
        "spec": {"scaleTargetRef": ref, "maxReplicas": 3, "metrics": list(metrics)},
        "status": {"currentReplicas": 0, "desiredReplicas": 0, "currentMetrics": None},
    }
    return stamp(obj).at(5)


def metric(type_: str, source: dict[str, Any], **target: Any) -> dict[str, Any]:
    """A metric of version 2."""
    member = type_[0].lower() + type_[1:]
    return {"type": type_, member: {**source, "target": {"type": "x", **target}}}


METRICS = (
    metric("Resource", {"name": "cpu"}, averageUtilization=50),
    metric("Pods", {"metric": {"name": "p"}}, averageValue="10"),
    metric("External", {"metric": {"name": "e"}}, value="1k"),
)


def scalers(accept: str = "", offer: Offer = OBJECT, query: str = "") -> Encoder:
    """Encoders of version 1, which is not the one that is stored."""
    target = f"/apis/autoscaling/v1/namespaces/ns/horizontalpodautoscalers/h{query}"
    return encoder(accept, offer, target, SCALERS_V1)


def test_another_version_is_converted() -> None:
    """Objects of other versions than the stored one are decoded."""
    found = orjson.loads(scalers().object(scaler(*METRICS)))
    assert (found["apiVersion"], found["spec"]["maxReplicas"]) == ("autoscaling/v1", 3)
    assert found["spec"]["targetCPUUtilizationPercentage"] == 50
    assert list(found["metadata"]["annotations"]) == ["autoscaling.alpha.kubernetes.io/metrics"]


def test_metadata_does_not_depend_on_the_version() -> None:
    """What one version notes in annotations is not there."""
    partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    found = orjson.loads(scalers(partial).object(scaler(*METRICS)))
    assert found["metadata"] == {"name": "h", "namespace": "ns", "resourceVersion": "5"}


def test_rows_do_not_depend_on_the_version() -> None:
    """Cells and metadata; a whole object does."""
    row = orjson.loads(scalers(TABLE).object(scaler(*METRICS)))["rows"][0]
    assert row["cells"][2] == "cpu: <unknown>/50%, <unknown>/10 + 1 more..."
    assert "annotations" not in row["object"]["metadata"]
    query, value = "?includeObject=Object", scaler(*METRICS)
    one = scalers(TABLE, OBJECT, query).object(value)
    for found in (one, listed(scalers(TABLE, COLLECTION, query), value)):
        obj = orjson.loads(found)["rows"][0]["object"]
        assert obj["apiVersion"] == "autoscaling/v1"
        assert obj["metadata"]["annotations"]


def listed(chosen: Encoder, value: bytes) -> bytes:
    """A list of one object."""
    writer = chosen.list_writer()
    items = [KeyValue("/h", value, 5, 5)]
    return writer.open(META) + writer.items(items) + writer.close()


def test_encoded_items_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For all clients of a representation, as long as the cache has them."""
    cache = ByteCache(100_000)
    first = whole(encoder(PROTOBUF, cache=cache))

    def never(*_: object) -> Any:
        raise AssertionError("decoded again")

    monkeypatch.setattr(ObjectEncoder, "decoded", never)
    assert whole(encoder(PROTOBUF, cache=cache)) == first


# ---------------------------------------------------------------- events


def test_equal_watches_share_events() -> None:
    """Tables do not: each watch begins with its own columns."""
    for accept in ("", PROTOBUF):
        stream = f"{accept};stream=watch" if accept else ""
        assert encoder(stream, WATCH).identity == encoder(stream, WATCH).identity
    assert encoder(TABLE, WATCH).identity != encoder(TABLE, WATCH).identity
    assert encoder("", WATCH).identity != encoder(f"{PROTOBUF};stream=watch", WATCH).identity


def test_columns_come_with_the_first_event_only() -> None:
    """A client knows them then."""
    chosen = encoder(TABLE, WATCH)
    events = [orjson.loads(chosen.event("ADDED", each.value)) for each in ITEMS[:2]]
    assert events[0]["object"]["columnDefinitions"]
    assert events[1]["object"]["columnDefinitions"] is None
    assert [event["object"]["rows"][0]["cells"][0] for event in events] == ["a", "b"]


def test_events_are_lines() -> None:
    """Each an object with a type."""
    chosen = encoder("", WATCH)
    expected = b'{"type":"ADDED","object":' + ITEMS[0].value + b"}\n"
    assert chosen.event("ADDED", ITEMS[0].value) == expected
    assert orjson.loads(chosen.error({"kind": "Status"})) == {
        "type": "ERROR", "object": {"kind": "Status"},
    }  # fmt: skip


@pytest.mark.parametrize("initial_end", [False, True])
def test_bookmarks_say_where_a_client_is(initial_end: bool) -> None:
    """And, once, that the state is complete; the same in each representation."""
    chosen = encoder("", WATCH)
    obj = bookmark_object(CONFIGMAPS, 7, initial_end=initial_end)
    event = orjson.loads(chosen.bookmark(7, initial_end=initial_end))
    assert event == {"type": "BOOKMARK", "object": obj}
    assert ("annotations" in obj["metadata"]) is initial_end
    assert obj["metadata"]["resourceVersion"] == "7"


def test_bookmarks_have_the_members_go_never_leaves_out() -> None:
    """As kube-apiserver sends them: an empty Deployment has a spec."""
    obj = bookmark_object(RESOURCES["apps", "v1", "deployments"], 7, initial_end=False)
    assert {"spec", "status"} <= set(obj)


@pytest.mark.parametrize(
    ("initial_end", "more"), [(False, {}), (True, {"k8s.io/initial-events-end": "true"})]
)
def test_bookmarks_have_the_annotations_go_always_writes(
    initial_end: bool, more: dict[str, str]
) -> None:
    """Of a DaemonSet: the generation of its template, which metadata alone does not show."""
    daemons = RESOURCES["apps", "v1", "daemonsets"]
    plain = encoder("", WATCH, resource=daemons).bookmark(7, initial_end=initial_end)
    note = {"deprecated.daemonset.template.generation": "0"}
    assert orjson.loads(plain)["object"]["metadata"]["annotations"] == {**note, **more}
    partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    for accept in (partial, TABLE):
        chosen = encoder(accept, WATCH, "/apis/apps/v1/daemonsets?watch=1", daemons)
        found = orjson.loads(chosen.bookmark(7, initial_end=initial_end))["object"]
        meta = found["rows"][0]["object"]["metadata"] if accept == TABLE else found["metadata"]
        assert meta.get("annotations", {}) == more


@pytest.mark.parametrize("accept", ["", TABLE])
def test_bookmarks_are_in_the_version_of_the_request(accept: str) -> None:
    """Whatever is stored."""
    chosen = encoder(accept, WATCH, "/api/v1?includeObject=Object", SCALERS_V1)
    found = orjson.loads(chosen.bookmark(7, initial_end=False))["object"]
    if accept:
        found = found["rows"][0]["object"]
    assert (found["apiVersion"], list(found)) == (
        "autoscaling/v1",
        ["kind", "apiVersion", "metadata", "spec", "status"],
    )
