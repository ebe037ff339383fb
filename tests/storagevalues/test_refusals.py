"""Why values of etcd are no objects; the texts are those of kube-apiserver 1.36.2."""

from __future__ import annotations

import orjson
import pytest

from kubetrio.kinds.builtin import registry
from kubetrio.storagevalues.refusals import builtin_refusal, custom_refusal
from kubetrio.storagevalues.table import folders
from kubetrio.storagevalues.values import EtcdValues
from kubetrio.store.errors import Undecodable
from kubetrio.wire import protowire

VALUES = EtcdValues(folders(registry().resources.values()), registry)
KEY = "/registry/configmaps/default/c"
WIDGET = "/registry/example.org/widgets/default/w"
SCHEME = 'in scheme "pkg/api/legacyscheme/scheme.go:30"'
UNMARSHAL = "json: cannot unmarshal"
META = {"name": "c", "namespace": "default"}


def text(key: str, data: bytes) -> str:
    with pytest.raises(Undecodable) as caught:
        VALUES.from_etcd(key, data)
    return str(caught.value)


def said(api_version: str, kind: str, **more: object) -> bytes:
    return orjson.dumps({"kind": kind, "apiVersion": api_version, "metadata": META, **more})


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (said("v9", "ConfigMap"), f'no kind "ConfigMap" is registered for version "v9" {SCHEME}'),
        (said("v1", "Gadget"), f'no kind "Gadget" is registered for version "v1" {SCHEME}'),
        (
            said("example.org/v1", "Gadget"),
            f'no kind "Gadget" is registered for version "example.org/v1" {SCHEME}',
        ),
        (said("v1", "Secret"), "converting (v1.Secret) to (core.ConfigMap): unknown conversion"),
        (
            protowire.wrap("v9", "ConfigMap", b""),
            f'no kind "ConfigMap" is registered for version "v9" {SCHEME}',
        ),
        (
            protowire.wrap("v1", "Secret", b""),
            "converting (v1.Secret) to (core.ConfigMap): unknown conversion",
        ),
        (protowire.wrap("v1", "ConfigMap", b"\x0a\xff"), "unexpected EOF"),
        (protowire.wrap("v1", "ConfigMap", b"garbage garbage"), "proto: illegal wireType 7"),
        (b"k8s\0\x0a\xffgarbage", "unexpected EOF"),
        (b"k8s\0", "empty body"),
        (b"garbage", "illegal base64 data at input byte 4"),
        (b"[]", "illegal base64 data at input byte 0"),
        (
            b'{"kind":"ConfigMap","apiVersion":',
            "couldn't get version/kind; json parse error: unexpected end of JSON input",
        ),
        (
            said("v1", "ConfigMap", data=5),
            f"{UNMARSHAL} number into Go struct field ConfigMap.data of type map[string]string",
        ),
        (
            said("v1", "ConfigMap", data={"a": 5}),
            f"{UNMARSHAL} number into Go struct field ConfigMap.data of type string",
        ),
    ],
)
def test_built_in_kinds(data: bytes, expected: str) -> None:
    """Unknown versions and kinds, other kinds, damaged bytes, members of another type."""
    assert text(KEY, data) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (
            b'{"apiVersion":"example.org/v1","metadata":{}}',
            'Object \'Kind\' is missing in \'{"apiVersion":"example.org/v1","metadata":{}}\'',
        ),
        (
            protowire.wrap("example.org/v9", "Widget", b""),
            "invalid character 'k' looking for beginning of value",
        ),
        (b"garbage", "invalid character 'g' looking for beginning of value"),
        (b'{"kind":"Widget","apiVersion":', "unexpected end of JSON input"),
        (b"", "unexpected end of JSON input"),
        (b"[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (b"null", "Object 'Kind' is missing in 'null'"),
        (b"{}", "Object 'Kind' is missing in '{}'"),
    ],
)
def test_custom_resources(data: bytes, expected: str) -> None:
    """Values that are no objects; which versions there are is not known here."""
    assert text(WIDGET, data) == expected


def test_metadata_of_custom_resources_are_looked_at() -> None:
    """What reads labels relies on their type."""
    labels = said("example.org/v1", "Widget").replace(b'"name"', b'"labels":5,"name"')
    assert "labels" in text(WIDGET, labels)
    assert "metadata" in text(WIDGET, b'{"kind":"Widget","apiVersion":"example.org/v1"}')


def test_without_a_version_a_custom_resource_has_an_empty_one() -> None:
    """Its kind says what cannot be converted to what."""
    stamped = VALUES.from_etcd(WIDGET, b'{"kind":"Widget","metadata":{"name":"w"}}')
    assert orjson.loads(stamped.at(7))["apiVersion"] == ""


def test_what_this_server_met_is_said_where_all_is_in_order_there() -> None:
    """Versions that kube-apiserver converts and this server does not, for example."""
    folder = folders(registry().resources.values())["/registry/configmaps/"]
    assert builtin_refusal(folder, said("v1", "ConfigMap"), ValueError("why")) == "why"
    assert custom_refusal(said("example.org/v1", "Widget"), ValueError("why")) == "why"
