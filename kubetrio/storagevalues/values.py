"""Objects between the bytes of this server's store and those that kube-apiserver has in etcd.

| | here | in etcd |
| --- | --- | --- |
| encoding | JSON | protobuf in an envelope for built-in kinds, JSON for others, and a newline |
| order of JSON | that of Go's structs | the same; of custom resources, by name |
| resourceVersion | a hole, filled with the revision | absent: the revision is that of the key |
| version | the kind's stored one | that of kube-apiserver 1.36, which may be older |

Both encodings and every version that the server knows are read.  Encryption comes after this when
a value is written, and before it when one is read.

Source: k8s.io/apiserver/pkg/storage/etcd3/store.go (`PrepareObjectForStorage`), and
pkg/runtime/serializer/protobuf.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

import orjson

from kubetrio.machinery.names import GroupVersion, GroupVersionKind
from kubetrio.resources.objects import MARK, stamp
from kubetrio.schema import builtin
from kubetrio.schema.kind import Kind
from kubetrio.schema.objecttype import BuiltinType
from kubetrio.schema.registry import Registry
from kubetrio.storagevalues import definitions
from kubetrio.storagevalues.refusals import builtin_refusal, custom_refusal
from kubetrio.storagevalues.table import Folder
from kubetrio.store.errors import Undecodable
from kubetrio.store.model import Stamped, Unstampable
from kubetrio.wire import protowire
from kubetrio.wire.gojson import parse_printed
from kubetrio.wire.jsonwire import encode
from kubetrio.wire.protoscan import read_varint
from kubetrio.wire.protowire import ProtobufCodec
from kubetrio.wire.report import Report

Json = dict[str, Any]

OBJECTS: Final = "/registry/"
"""What keys of objects begin with in the store, whatever prefix they have in etcd."""
NODE_PORTS: Final = "/registry/ranges/servicenodeports"
"""Node ports that are taken: an object of a kind that no client sees."""
MASTER_LEASES: Final = "/registry/masterleases/"
"""Folder of objects that say which servers there are; they are Endpoints, as what follows here."""
ENDPOINTS: Final = "/registry/services/endpoints/"
RANGE: Final = "RangeAllocation"
_RANGE_TYPE: Final = "io.k8s.api.core.v1.RangeAllocation"
_METADATA_TYPE: Final = BuiltinType("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
_END: Final = b"\x1a\x00\x22\x00"  # no content encoding, no content type
_METADATA: Final = b',"metadata":{'
_UID: Final = b'"uid":"'
_NESTED: Final = re.compile(rb"[{}\[]")


class MediaType(enum.Enum):
    """How built-in kinds are written (``--storage-media-type``)."""

    PROTOBUF = "application/vnd.kubernetes.protobuf"
    JSON = "application/json"


class _Stored(NamedTuple):
    """What is worked out once for a folder.

    Args:
        folder: what it holds.
        type_name: protobuf type of what etcd has; empty for JSON.
        begin: how values in protobuf begin, up to the length of the message.
        begin_json: how values in JSON begin, up to the metadata.
    """

    folder: Folder
    type_name: str
    begin: bytes
    begin_json: bytes

    @classmethod
    def of(cls, folder: Folder) -> _Stored:
        """Work it out."""
        kind = folder.kind.kind
        name = "" if folder.json else type_name(folder, folder.api_version)
        wrapped = protowire.wrap(folder.api_version, kind, b"")
        head = encode({"kind": kind, "apiVersion": folder.api_version})[:-1] + b","
        return cls(folder, name, wrapped[: -len(_END) - 1], head)

    def unwrapped(self, data: bytes) -> bytes | None:
        """The message in an envelope of the usual shape, None for another."""
        if not data.startswith(self.begin) or not data.endswith(_END):
            return None
        size, at = read_varint(data, len(self.begin))
        return data[at : at + size] if at + size + len(_END) == len(data) else None


class EtcdValues:
    """Converts values.

    Args:
        folders: what folders of built-in kinds hold (`table.folders`).
        registry: kinds, for versions that were stored by others.
        media_type: how built-in kinds are written.
    """

    def __init__(
        self,
        folders: Mapping[str, Folder],
        registry: Callable[[], Registry],
        media_type: MediaType = MediaType.PROTOBUF,
    ) -> None:
        self._folders = folders
        self._registry = registry
        self._media_type = media_type
        self._codec = ProtobufCodec(builtin.message)
        self._made: dict[str, _Stored] = {}

    def _stored(self, key: str) -> _Stored | None:
        """How the folder of a key is stored, None for custom resources."""
        if key.startswith(MASTER_LEASES):
            key = ENDPOINTS
        at = key.find("/", key.find("/", 1) + 1) + 1
        prefix = key[:at]
        if prefix not in self._folders:
            prefix = key[: key.find("/", at) + 1]
        found = self._made.get(prefix)
        if found is None and (folder := self._folders.get(prefix)) is not None:
            found = self._made[prefix] = _Stored.of(folder)
        return found

    # ------------------------------------------------------------------ to etcd

    def to_etcd(self, key: str, value: Stamped) -> bytes:
        """Return what etcd has for a value of the store.

        Args:
            key: key of the store.
            value: the value.

        Raises:
            ValueError: a member does not fit its type.
        """
        if value.hole < 0 or not key.startswith(OBJECTS):
            return value.at(0)  # the server's own, which no client sees
        if key == NODE_PORTS:
            obj = orjson.loads(_without_version(value))
            return protowire.wrap("v1", RANGE, self._codec.encode(obj, _RANGE_TYPE))
        stored = self._stored(key)
        data = _without_version(value)
        if stored is None:
            return encode(_sorted(parse_printed(data))) + b"\n"
        folder = stored.folder
        if folder.json or self._media_type is MediaType.JSON:
            if folder.api_version != folder.kind.api_version:
                data = encode(_in_version(_read(folder, data), folder.api_version))
            return data + b"\n"
        obj = _read(folder, data)
        return protowire.wrap(
            folder.api_version, folder.kind.kind, self._codec.encode(obj, stored.type_name)
        )

    # ------------------------------------------------------------------ from etcd

    def from_etcd(self, key: str, data: bytes) -> Stamped:
        """Return the store's value for what etcd has.

        Args:
            key: key of the store.
            data: what etcd has.

        Raises:
            Undecodable: it is no object of a kind that is known, or is damaged.
        """
        if not key.startswith(OBJECTS):
            return Unstampable(data, b"")
        if key == NODE_PORTS:
            return self._node_ports(data)
        stored = self._stored(key)
        if stored is None:
            try:
                return _with_hole(data)
            except (ValueError, KeyError, TypeError) as error:
                raise Undecodable(custom_refusal(data, error)) from error
        try:
            obj = self._decoded(stored, data)
            return stamp(self._converted(stored.folder, obj))
        except (ValueError, KeyError, TypeError) as error:
            raise Undecodable(builtin_refusal(stored.folder, data, error)) from error

    def _node_ports(self, data: bytes) -> Stamped:
        try:
            raw = protowire.unwrap(data).raw
            obj = {"kind": RANGE, "apiVersion": "v1", **self._codec.decode(raw, _RANGE_TYPE)}
        except ValueError as error:
            raise Undecodable(str(error)) from error
        return stamp({**obj, "metadata": obj.get("metadata") or {}})

    def is_current(self, key: str, data: bytes) -> bool:
        """Return whether a value that was read is in the encoding and version that are written.

        Args:
            key: key of the store.
            data: what etcd has.

        Source: k8s.io/apiserver/pkg/storage/etcd3/store.go (`GuaranteedUpdate`, which compares
        the bytes).
        """
        if not key.startswith(OBJECTS) or key == NODE_PORTS:
            return True
        stored = self._stored(key)
        if stored is None:
            return True  # the versions of its definition are not known here
        if stored.folder.json or self._media_type is MediaType.JSON:
            return data.startswith(stored.begin_json)
        return data.startswith(stored.begin)

    def _decoded(self, stored: _Stored, data: bytes) -> Json:
        """An object in the version that etcd has.

        Raises:
            ValueError: it cannot be read.
        """
        folder = stored.folder
        if not data.startswith(protowire.MAGIC):
            obj = _read(folder, data)
            if not obj.get("kind"):  # the folder says it, as there
                obj = {**obj, "kind": folder.kind.kind}
            return self._checked(folder, obj)
        kind, api_version, name = folder.kind.kind, folder.api_version, stored.type_name
        raw = stored.unwrapped(data)
        if raw is None:
            envelope = protowire.unwrap(data)
            if envelope.kind != kind:
                raise ValueError(f"{envelope.api_version} {envelope.kind} is stored elsewhere")
            raw, api_version = envelope.raw, envelope.api_version
            name = type_name(folder, api_version)
        return {"kind": kind, "apiVersion": api_version, **self._codec.decode(raw, name)}

    def _checked(self, folder: Folder, obj: Json) -> Json:
        """An object in JSON whose members fit the types of its version, if that is known.

        Raises:
            ValueError: one does not.
        """
        kind = self._kind(folder, str(obj.get("apiVersion")))
        return obj if kind is None else kind.type.decode(obj, Report())

    def _kind(self, folder: Folder, api_version: str) -> Kind | None:
        """The kind of a folder in a version, None where it is not served."""
        kind = folder.kind
        if api_version == kind.api_version:
            return kind
        version = GroupVersion.parse(api_version)
        return self._registry().resources.get((version.group, version.version, kind.resource))

    def _converted(self, folder: Folder, obj: Json) -> Json:
        """An object in the version that the store has, with what that of etcd has by default.

        kube-apiserver sets defaults when it reads, so what it has stored lacks those that came with
        a later release, and those that follow from what it has set itself after them.

        Raises:
            ValueError: it is of another kind, or of a version that is not known.
        """
        kind = folder.kind
        if obj.get("kind") != kind.kind:
            raise ValueError("an object of another kind")
        api_version = str(obj.get("apiVersion"))
        if api_version == kind.api_version:
            kind.rules.default(obj)
            return obj
        if api_version == definitions.V1BETA1:
            obj = definitions.to_v1(obj)
            kind.rules.default(obj)
            return obj
        other = self._kind(folder, api_version)
        if other is not None:
            other.rules.default(obj)
            return {**other.to_stored(obj), "apiVersion": kind.api_version}
        # A version that is not served, whose members are those of the stored one.
        if alike(type_name(folder, api_version), kind.schema_name):
            kind.rules.default(obj)
            return {**obj, "apiVersion": kind.api_version}
        raise ValueError(f"{api_version} {kind.kind} cannot be converted")


def type_name(folder: Folder, api_version: str) -> str:
    """Return the protobuf type of what a folder holds, in a version of its group.

    Raises:
        ValueError: there is none.
    """
    version, kind = GroupVersion.parse(api_version), folder.kind
    name = builtin.type_name_of(GroupVersionKind(*version, kind.kind))
    if not name and version.group == kind.group:
        # OpenAPI knows the versions that are served; protobuf knows others, too.
        package, _, kind_name = kind.schema_name.rpartition(".")
        name = f"{package.rpartition('.')[0]}.{version.version}.{kind_name}"
        if _rows(builtin.message_name(name)) is None:
            name = ""
    if not name:
        raise ValueError(f"{api_version} {kind.kind} is not known")
    return name


def _rows(message: str) -> list[list[Any]] | None:
    try:
        return builtin.message(message)
    except KeyError:
        return None


@cache
def alike(one: str, other: str) -> bool:
    """Return whether two types have the same members, down to the last.

    Args:
        one: name of a type.
        other: the other name; types of their packages that have one name are compared, too.
    """
    names = [builtin.message_name(name) for name in (one, other)]
    packages = [name.rpartition(".")[0] for name in names]
    waiting, seen = [(names[0], names[1])], set()
    while waiting:
        pair = waiting.pop()
        if pair in seen:
            continue
        seen.add(pair)
        first, second = (_rows(name) for name in pair)
        if first is None or second is None or len(first) != len(second):
            return False
        for row, twin in zip(sorted(first), sorted(second), strict=True):
            if [*row[:2], *row[3:]] != [*twin[:2], *twin[3:]]:
                return False
            if row[2] == twin[2]:
                continue
            types = [row[2], twin[2]]
            if types[0].replace(packages[0], packages[1]) != types[1]:
                return False
            inner = [each.removeprefix("map<string,").removesuffix(">") for each in types]
            waiting.append((inner[0], inner[1]))
    return True


def _read(folder: Folder, data: bytes) -> Json:
    obj = parse_printed(data) if folder.kind.type.free_form else orjson.loads(data)
    if not isinstance(obj, dict):
        raise ValueError("not an object")
    return obj


def _in_version(obj: Json, api_version: str) -> Json:
    if api_version == definitions.V1BETA1:
        return definitions.to_v1beta1(obj)
    return {**obj, "apiVersion": api_version}


def _without_version(value: Stamped) -> bytes:
    """JSON without the member that has the hole."""
    before, after = value
    before = before[: -len(MARK)]
    if after.startswith(b'",'):
        return before + after[2:]
    return before[:-1] + after[1:] if before.endswith(b",") else before + after[1:]


def _with_hole(data: bytes) -> Stamped:
    """JSON of an object with a hole for its resourceVersion, which it does not have.

    Raises:
        ValueError: it is no object.
    """
    if data.startswith(b'{"kind":"'):
        # In Go's order the member comes after the uid, with texts alone before it.
        begin = data.find(_METADATA) + len(_METADATA)
        at = data.find(_UID, begin)
        if begin >= len(_METADATA) and at >= 0 and not _NESTED.search(data, begin, at):
            end = data.index(b'"', at + len(_UID)) + 1
            if not data.startswith(b"," + MARK, end):
                return Stamped(data[:end] + b"," + MARK, b'"' + data[end:].rstrip())
    obj = parse_printed(data)
    if not isinstance(obj, dict) or not isinstance(obj.get("metadata"), dict):
        raise ValueError("not an object with metadata")
    _METADATA_TYPE.decode(obj["metadata"], Report())  # what is wrong in it is refused
    obj.setdefault("apiVersion", "")  # its kind says that it cannot be converted
    return stamp(obj)


def _sorted(value: Any) -> Any:
    """A JSON value with the members of objects in the order of their names."""
    if type(value) is dict:
        return {name: _sorted(value[name]) for name in sorted(value)}
    if type(value) is list:
        return [_sorted(item) for item in value]
    return value
