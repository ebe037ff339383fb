"""Why a value of etcd is no object, in the words of kube-apiserver's decoders.

A value is looked at again when it could not be read, so that what can be read costs nothing more.

Source: k8s.io/apimachinery/pkg/runtime/serializer (protobuf, json, versioning, recognizer),
pkg/apis/meta/v1/unstructured (UnstructuredJSONScheme);
k8s.io/apiserver/pkg/server/storage/storage_codec.go.
"""

from __future__ import annotations

import string
from typing import Final

from kubetrio.gotext.text import quote
from kubetrio.machinery.names import GroupVersion, GroupVersionKind
from kubetrio.schema.structural_scheme import scheme_of
from kubetrio.storagevalues.table import Folder
from kubetrio.wire import gojson, protowire
from kubetrio.wire.goscan import GoJsonError
from kubetrio.wire.jsonwire import find_kind, with_defaults

_BASE64: Final = frozenset((string.ascii_letters + string.digits + "+/").encode())
_QUANTUM: Final = 4  # characters of base64 that are read at a time


def builtin_refusal(folder: Folder, data: bytes, error: Exception) -> str:
    """Return why a value is no object of a built-in kind.

    Args:
        folder: what its folder holds.
        data: what etcd has.
        error: what this server met.
    """
    try:
        gvk = _said(folder, data)
    except ValueError as refused:
        return str(refused)
    kind = folder.kind
    scheme = scheme_of(kind.group)
    if not scheme.knows(gvk):
        return (
            f"no kind {quote(gvk.kind)} is registered for version {quote(gvk.api_version)} "
            f'in scheme "{scheme.location()}"'
        )
    if (gvk.group, gvk.kind) != (kind.group, kind.kind):
        versioned = scheme.go_names(gvk)[0]
        internal = scheme.go_names(GroupVersionKind(*kind.group_version, kind.kind))[1]
        return f"converting ({versioned}) to ({internal}): unknown conversion"
    if data.startswith(protowire.MAGIC):
        try:
            # A message whose outermost fields are in order is damaged further inside.
            protowire.unwrap(protowire.MAGIC + protowire.unwrap(data).raw)
        except ValueError as refused:
            return str(refused)
    return str(error)


def _said(folder: Folder, data: bytes) -> GroupVersionKind:
    """Return what a value says it is.

    Raises:
        ValueError: it says nothing.
    """
    if data == protowire.MAGIC:
        raise ValueError("empty body")
    if data.startswith(protowire.MAGIC):
        envelope = protowire.unwrap(data)
        return GroupVersionKind(*GroupVersion.parse(envelope.api_version), envelope.kind)
    if not data.lstrip().startswith(b"{"):
        raise ValueError(_no_base64(data))
    try:
        parsed = gojson.parse(data)
    except GoJsonError as error:
        raise ValueError(f"couldn't get version/kind; json parse error: {error}") from None
    kind = folder.kind
    return with_defaults(find_kind(parsed), GroupVersionKind(*kind.group_version, kind.kind))


def _no_base64(data: bytes) -> str:
    """What the last decoder says that is tried: it takes anything for base64.

    Source: k8s.io/apimachinery/pkg/runtime/helper.go (`NewBase64Serializer`); encoding/base64.
    """
    place = 0  # of a character in its quantum
    for at, byte in enumerate(data):
        if byte in b"\r\n":
            continue
        if byte not in _BASE64:
            return f"illegal base64 data at input byte {at}"
        place = (place + 1) % _QUANTUM
    return f"illegal base64 data at input byte {len(data) - place}"


def custom_refusal(data: bytes, error: Exception) -> str:
    """Return why a value is no custom resource.

    Args:
        data: what etcd has.
        error: what this server met.
    """
    try:
        obj = gojson.parse(data).value
    except GoJsonError as refused:
        return str(refused)
    if obj is not None and type(obj) is not dict:
        word = gojson.type_word(obj)
        return f"json: cannot unmarshal {word} into Go value of type map[string]interface {{}}"
    if not (obj or {}).get("kind"):
        return f"Object 'Kind' is missing in '{data.decode('utf-8', 'replace')}'"
    return str(error)
