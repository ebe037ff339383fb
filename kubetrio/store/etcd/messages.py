"""Classes of etcd's messages, made at run time of the facts in `fields`.

Everything is proto2, because presence of a zero is significant inside of a ``oneof``: a comparison
with revision 0 is written.  Members that are not set are left out, as proto3 has it.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from kubetrio.store.etcd.fields import MESSAGES

FILE: Final = "kubetrio/etcd.proto"


@cache
def _pool() -> Any:
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool

    file = FileDescriptorProto(name=FILE, syntax="proto2")
    for name, rows in MESSAGES.items():
        described = file.message_type.add(name=_identifier(name))
        for number, field, kind, repeated in rows:
            label = "LABEL_REPEATED" if repeated else "LABEL_OPTIONAL"
            added = described.field.add(
                name=field, number=number, label=FieldDescriptorProto.Label.Value(label)
            )
            if kind in MESSAGES:
                kind, added.type_name = "message", f".{_identifier(kind)}"
            added.type = FieldDescriptorProto.Type.Value(f"TYPE_{kind.upper()}")
    pool = DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return pool


def _identifier(message: str) -> str:
    return message.replace(".", "_")


@cache
def message_class(name: str) -> Any:
    """Return the class of a message, ``etcdserverpb.RangeRequest``.

    Raises:
        KeyError: no such message.
    """
    from google.protobuf.message_factory import GetMessageClass

    return GetMessageClass(_pool().FindMessageTypeByName(_identifier(name)))
