"""Bodies that are small to send and large to read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MEDIA = {
    "json": "application/json",
    "yaml": "application/yaml",
    "protobuf": "application/vnd.kubernetes.protobuf",
    "cbor": "application/cbor",
}
DEEP = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A body that repeats something as often as it has room.

    Args:
        codec: key of `MEDIA`.
        what: what repeats.
        front, unit, back: its bytes; `%(head)b` in the front is the start of an object.
        nested: how often the front and the back are repeated around the units.
    """

    codec: str
    what: str
    front: bytes
    unit: bytes
    back: bytes = b""
    nested: int = 1

    def fill(self, api_version: str, kind: str, size: int) -> bytes:
        """A body of an object, of at most so many bytes.

        Args:
            api_version: of the object.
            kind: of the object.
            size: in bytes.
        """
        version, name = api_version.encode(), kind.encode()
        heads = {
            "json": b'{"apiVersion":"%b","kind":"%b",' % (version, name),
            "yaml": b"apiVersion: %b\nkind: %b\n" % (version, name),
            "protobuf": b"k8s\0" + _field(1, _field(1, version) + _field(2, name)),
            "cbor": b"\xd9\xd9\xf7\xbf"
            + _text(b"apiVersion")
            + _text(version)
            + _text(b"kind")
            + _text(name),
        }
        front = self.front.replace(b"%(head)b", heads[self.codec]) * self.nested
        back = self.back * self.nested
        return front + self.unit * ((size - len(front) - len(back)) // len(self.unit)) + back


def _field(number: int, data: bytes) -> bytes:
    """A field of protobuf with less than 128 bytes."""
    return bytes([number << 3 | 2, len(data)]) + data


def _text(data: bytes) -> bytes:
    """A text of CBOR with less than 24 bytes, or with up to 255."""
    return (bytes([0x60 + len(data)]) if len(data) < 24 else bytes([0x78, len(data)])) + data


SHAPES = (
    Shape(codec="yaml", what="keys", front=b"%(head)b", unit=b"a: 1\n"),
    Shape(codec="yaml", what="nested keys", front=b"{a: ", unit=b"? b , ", back=b"}", nested=DEEP),
    Shape(codec="yaml", what="numbers", front=b"[1", unit=b",1", back=b"]"),
    Shape(codec="yaml", what="floats", front=b"[1.5", unit=b",1.5", back=b"]"),
    Shape(codec="yaml", what="aliases", front=b"[&a 1", unit=b",*a", back=b"]"),
    Shape(codec="yaml", what="lists", front=b"[", unit=b"[],", back=b"]"),
    Shape(codec="json", what="keys", front=b"%(head)b", unit=b'"a":1,', back=b'"b":1}'),
    Shape(
        codec="json", what="keys of data", front=b'%(head)b"data":{', unit=b'"a":"",',
        back=b'"b":""}}',
    ),
    Shape(codec="json", what="numbers", front=b'%(head)b"x":[1', unit=b",1", back=b"]}"),
    Shape(codec="json", what="floats", front=b'%(head)b"x":[1.5', unit=b",1.5", back=b"]}"),
    Shape(codec="json", what="objects", front=b'%(head)b"x":[{}', unit=b",{}", back=b"]}"),
    Shape(codec="protobuf", what="fields of the envelope", front=b"%(head)b", unit=b"\x1a\0"),
    Shape(codec="protobuf", what="objects", front=b"%(head)b", unit=b"\x12\x02\x0a\0"),
    Shape(
        codec="cbor", what="numbers", front=b"%(head)b\x64data\x9f", unit=b"\1",
        back=b"\xff\xff",
    ),
    Shape(
        codec="cbor", what="keys", front=b"%(head)b\x64data\xbf", unit=b"\x41a\1", back=b"\xff\xff"
    ),
)  # fmt: skip


def bodies(api_version: str, kind: str, sizes: tuple[int, ...]) -> Iterator[tuple[str, bytes]]:
    """Media types and bodies of every shape in every size.

    Args:
        api_version: of the objects that they say they are.
        kind: of the objects.
        sizes: in bytes.
    """
    for size in sizes:
        for shape in SHAPES:
            yield MEDIA[shape.codec], shape.fill(api_version, kind, size)
