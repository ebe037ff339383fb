"""The type of a kind's objects: how they are decoded, restored, merged and stored.

A built-in type is known by its name in ``schemas/types``; a custom one comes from the schema of its
CustomResourceDefinition, or is any JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol

from kubetrio.machinery.typeschema import DEDUCED, TypeSchema
from kubetrio.schema import annotated, patchmeta, stored, structural
from kubetrio.schema.empties import known_in
from kubetrio.schema.structural_shapes import struct
from kubetrio.wire.goscan import Pairs
from kubetrio.wire.report import Empties, Report

Json = dict[str, Any]
_NOTHING_REPEATED: Mapping[int, Pairs] = {}


class ObjectType(Protocol):
    """What is asked of the type of objects."""

    @property
    def name(self) -> str:
        """Full name in ``schemas/types``, and so in protobuf; empty for custom types."""

    @property
    def zero(self) -> Json:
        """What is printed of an object with nothing set; not to be changed."""

    @property
    def merge(self) -> TypeSchema:
        """How objects of it are merged."""

    @property
    def held(self) -> annotated.AnnotatedField | None:
        """An annotation that is a member of the internal object."""

    @property
    def free_form(self) -> bool:
        """Whether objects may hold JSON of any shape, or numbers with fractions."""

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """Its OpenAPI v3 schema where that is not in ``schemas/types``; None for any JSON too."""

    def decode(
        self, raw: Any, report: Report, repeated: Mapping[int, Pairs] = _NOTHING_REPEATED
    ) -> Json:
        """A JSON value as an object; see `structural.Decoder.decode`.

        Raises:
            GoJsonError: the value does not fit the type.
        """

    def decode_changed(self, raw: Json, known: Json) -> Json | None:
        """Decode an object that shares members with a stored one.

        Args:
            raw: the object.
            known: the stored one.

        Returns:
            The object, or None where it is for `decode`.

        Raises:
            ValueError: an annotation is no number, in Go's words.
        """

    def restore(self, merged: Json, report: Report) -> Json:
        """A merged document as an object; see `structural.Decoder.restore`.

        Raises:
            GoJsonError: the document does not fit the type.
        """

    def drop_unknown(self, obj: Json) -> None:
        """Do to an object of `restore` what storing it does and decoding would have done."""

    def known(self, empties: Empties) -> Empties | None:
        """Those of the empty members given, in any version, that it has."""

    def read_annotations(self, obj: Json) -> Json:
        """An object after its annotations were read and printed again.

        Raises:
            ValueError: an annotation is no number, in Go's words.
        """

    def store(self, obj: Json) -> None:
        """Do to an object what storing it does, in place."""


class BuiltinType:
    """A type of ``schemas/types``; its parts are made when they are asked for.

    Args:
        name: full name, such as ``io.k8s.api.core.v1.Pod``.
        as_json: whether its objects are stored as JSON, which keeps what protobuf does not.
    """

    def __init__(self, name: str, *, as_json: bool = False) -> None:
        self.name = name
        self.schema: Mapping[str, Any] | None = None
        self._as_json = as_json

    @cached_property
    def zero(self) -> Json:
        """See `ObjectType`."""
        return patchmeta.empty_object(self.name)

    @cached_property
    def merge(self) -> TypeSchema:
        """See `ObjectType`."""
        return patchmeta.for_type(self.name)

    @cached_property
    def held(self) -> annotated.AnnotatedField | None:
        """See `ObjectType`."""
        return annotated.annotated_field(self.name)

    @cached_property
    def free_form(self) -> bool:
        """See `ObjectType`."""
        return stored.free_form(self.name)

    @cached_property
    def _decoder(self) -> structural.Decoder:
        return structural.compile_type(self.name)

    @cached_property
    def _stored(self) -> stored.Change:
        return stored.as_stored(self.name)

    def decode(
        self, raw: Any, report: Report, repeated: Mapping[int, Pairs] = _NOTHING_REPEATED
    ) -> Json:
        """See `ObjectType`."""
        return self._decoder.decode(raw, report, repeated)

    def decode_changed(self, raw: Json, known: Json) -> Json | None:
        """See `ObjectType`."""
        decoded = self._decoder.decode_changed(raw, known)
        return None if decoded is None else self.read_annotations(decoded)

    def restore(self, merged: Json, report: Report) -> Json:
        """See `ObjectType`."""
        return self._decoder.restore(merged, report)

    def drop_unknown(self, obj: Json) -> None:
        """See `ObjectType`: there is nothing unknown in it."""

    def known(self, empties: Empties) -> Empties | None:
        """See `ObjectType`."""
        return known_in(struct(self.name), empties)

    def read_annotations(self, obj: Json) -> Json:
        """See `ObjectType`."""
        return annotated.read_annotations(self.name, obj)

    def store(self, obj: Json) -> None:
        """See `ObjectType`."""
        if not self._as_json:
            self._stored(obj)


class OpenType:
    """Any JSON object with metadata, as custom resources are.

    Args:
        schema: OpenAPI v3, without references; it says how objects are merged, and must not change.
            Without one, that follows from what the values themselves look like.
    """

    name = ""
    free_form = True
    held = None

    def __init__(self, schema: Json | None = None) -> None:
        self.schema: Mapping[str, Any] | None = schema
        self.zero: Json = {}

    @cached_property
    def merge(self) -> TypeSchema:
        """See `ObjectType`."""
        return DEDUCED if self.schema is None else patchmeta.for_custom(dict(self.schema))

    def decode(
        self, raw: Any, report: Report, repeated: Mapping[int, Pairs] = _NOTHING_REPEATED
    ) -> Json:
        """See `ObjectType`; metadata are those of every object, the rest stays as it is."""
        del repeated
        whole: Json = dict(raw or {})
        if "metadata" in whole:
            inner = Report()
            whole["metadata"] = _METADATA.decode(whole["metadata"], inner) or {}
            report.strict += [text.replace('"', '"metadata.', 1) for text in inner.strict]
        return whole

    def decode_changed(self, raw: Json, known: Json) -> None:
        """See `ObjectType`: numbers keep their text, which takes a parser."""
        del raw, known

    def restore(self, merged: Json, report: Report) -> Json:
        """See `ObjectType`."""
        return self.decode(merged, report)

    def drop_unknown(self, obj: Json) -> None:
        """See `ObjectType`: all of it stays."""

    def known(self, empties: Empties) -> None:
        """See `ObjectType`: empty members are in the object."""
        del empties

    def read_annotations(self, obj: Json) -> Json:
        """See `ObjectType`."""
        return obj

    def store(self, obj: Json) -> None:
        """See `ObjectType`."""


_METADATA = BuiltinType("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", as_json=True)
