"""What is written although absent, and what is left out although present."""

from typing import Any

import pytest

from kubetrio.schema import builtin
from kubetrio.wire.protowire import ProtobufCodec

CODEC = ProtobufCodec(builtin.message)
CORE = "io.k8s.api.core.v1."
EMPTY_META = "0a10" + "0a00" + "1200" + "1a00" + "2200" + "2a00" + "3200" + "3800" + "4200"


def test_values_are_written_though_absent() -> None:
    """Zeros of Go values are on the wire, ascending, nested ones too."""
    assert CODEC.encode({}, f"{CORE}ConfigMap").hex() == EMPTY_META
    assert CODEC.encode({"metadata": {}}, f"{CORE}Secret").hex() == EMPTY_META + "1a00"


def test_pointers_count_by_presence() -> None:
    """A pointer to zero is there, a null or missing one is not."""
    name = f"{CORE}SecurityContext"
    assert CODEC.encode({"runAsUser": 0, "privileged": False}, name) == b"\x10\x00\x20\x00"
    assert CODEC.encode({"runAsUser": None}, name) == b""
    assert CODEC.decode(b"\x10\x00\x20\x00", name) == {"privileged": False, "runAsUser": 0}


def test_empty_pointer_struct() -> None:
    """An empty object behind a pointer is kept."""
    name = f"{CORE}Volume"
    volume = {"name": "v", "emptyDir": {}}
    assert CODEC.decode(CODEC.encode(volume, name), name) == volume


def test_maps_in_order_of_keys() -> None:
    """Keys ascend as Go sorts them: a prefix before what it begins."""
    labels = {"b": "", "app/x": "1", "app": "2", "": "3"}
    raw = CODEC.encode({"metadata": {"labels": labels}}, f"{CORE}ConfigMap")
    places = [raw.index(b"\x0a" + bytes((len(key),)) + key.encode() + b"\x12") for key in
              sorted(labels)]  # fmt: skip
    assert places == sorted(places)


def test_negative_int32() -> None:
    """Negative numbers of 32 bits take ten bytes."""
    raw = CODEC.encode({"priority": -1}, f"{CORE}PodSpec")
    assert b"\xc8\x01" + b"\xff" * 9 + b"\x01" in raw


def test_numbers_are_not_packed() -> None:
    """Each number of a list has its own tag; packed lists are read, too."""
    name = f"{CORE}PodSecurityContext"
    groups = {"supplementalGroups": [1, 2]}
    assert CODEC.encode(groups, name) == b"\x20\x01\x20\x02"
    assert CODEC.decode(b"\x22\x02\x01\x02", name) == groups


@pytest.mark.parametrize(
    ("type_name", "obj"),
    [
        ("io.k8s.api.rbac.v1.Role", {"metadata": {}, "rules": None}),
        (f"{CORE}ResourceQuota", {"metadata": {}, "spec": {}, "status": {}}),
        (f"{CORE}ContainerStateTerminated", {"exitCode": 0, "startedAt": None, "finishedAt": None}),
        (f"{CORE}ServicePort", {"port": 0, "targetPort": 0}),
        (f"{CORE}Container", {"name": "", "resources": {}}),
        ("io.k8s.api.certificates.v1.CertificateSigningRequestSpec",
         {"request": None, "signerName": ""}),
    ],
)  # fmt: skip
def test_printed_though_absent(type_name: str, obj: dict[str, Any]) -> None:
    """An empty message prints what Go does not leave out, in the order of the struct."""
    assert list(CODEC.decode(b"", type_name).items()) == list(obj.items())


def test_empty_is_left_out() -> None:
    """Empty lists, maps, bytes and zeros with omitempty are not printed."""
    name = "io.k8s.api.admissionregistration.v1.WebhookClientConfig"
    assert CODEC.decode(b"\x12\x00", name) == {}
    assert CODEC.decode(CODEC.encode({}, f"{CORE}ConfigMap"), f"{CORE}ConfigMap") == {
        "metadata": {}
    }


def test_order_of_members() -> None:
    """Members come in the order of the Go struct, not of field numbers."""
    secret = {"metadata": {}, "immutable": True, "data": {"a": "eA=="}, "type": "Opaque"}
    name = f"{CORE}Secret"
    assert list(CODEC.decode(CODEC.encode(secret, name), name)) == list(secret)


def test_null_items() -> None:
    """A null in a list or map is a zero value."""
    name = f"{CORE}PodSpec"
    raw = CODEC.encode({"containers": [None], "hostAliases": [{"hostnames": [None]}]}, name)
    back = CODEC.decode(raw, name)
    assert back["containers"] == [{"name": "", "resources": {}}]
    assert back["hostAliases"] == [{"ip": "", "hostnames": [""]}]
    data = CODEC.encode({"data": {"k": None}}, f"{CORE}ConfigMap")
    assert CODEC.decode(data, f"{CORE}ConfigMap")["data"] == {"k": ""}


@pytest.mark.parametrize(
    "obj",
    [
        {"metadata": []},
        {"metadata": "x"},
        {"metadata": {"labels": {"a": 1}}},
        {"metadata": {"labels": ["a"]}},
        {"metadata": {"finalizers": "abc"}},
        {"metadata": {"generation": "1"}},
        {"metadata": {"generation": 2**63}},
        {"metadata": {"name": 1}},
        {"metadata": {"creationTimestamp": "yesterday"}},
        {"metadata": {"managedFields": {}}},
        {"binaryData": {"a": "*"}},
        {"binaryData": {"a": 1}},
        {"data": {1: "x"}},
        {"metadata": {"name": "\ud800"}},
    ],
)
def test_misfits(obj: dict[str, Any]) -> None:
    """A value that does not fit its type is a ValueError."""
    with pytest.raises(ValueError):
        CODEC.encode(obj, f"{CORE}ConfigMap")


def test_unknown_members_and_fields() -> None:
    """What a type does not have is skipped both ways."""
    name = f"{CORE}ConfigMap"
    raw = CODEC.encode({"kind": "ConfigMap", "nope": 1}, name)
    assert raw == CODEC.encode({}, name)
    assert CODEC.decode(raw + b"\xfa\x07\x01x", name) == {"metadata": {}}


def test_deep_schema() -> None:
    """A schema deeper than messages may nest is refused, however deep."""
    schema: dict[str, Any] = {}
    for _ in range(20_000):
        schema = {"not": schema}
    name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    with pytest.raises(ValueError):
        CODEC.encode(schema, name)
