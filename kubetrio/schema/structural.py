"""Decoders of built-in types: a JSON object to what kube-apiserver would print for it.

A type is compiled once into nested closures; nested types are compiled when first met.  The
closures know nothing of paths or reports: whatever is out of the ordinary (an unknown field, a
wrong type, a text that is not canonical) makes them give up with ``ValueError``, and the object is
walked again with care (``structural_strict``), which either raises Go's error or gives an object
that the closures take.  So a request without mistakes pays for one pass.

The result is what Go's round trip gives: known fields only, in the order of the Go struct, keys of
maps sorted, empty ``omitempty`` members left out, other members always there (``status: {}``,
``rules: null``), times and quantities canonical.  Decoding a result again changes nothing.
``RawExtension``, ``FieldsV1`` and ``JSON`` are taken as they are, not copied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import orjson

from kubetrio.machinery.jsonvalues import is_deeper
from kubetrio.schema import empties
from kubetrio.schema import structural_values as values
from kubetrio.schema.stored import free_form
from kubetrio.schema.structural_restore import Restore
from kubetrio.schema.structural_shapes import (
    SCHEMA_PROPS,
    ZEROS,
    Field,
    Shape,
    ShapeKind,
    struct,
)
from kubetrio.schema.structural_strict import Walk
from kubetrio.wire.gojson import GoJsonError
from kubetrio.wire.goscan import Pairs
from kubetrio.wire.report import Report

__all__ = ["MAX_DEPTH", "Decoder", "Report", "compile_type"]

Json = dict[str, Any]
Convert = Callable[[Any], Any]
Zero = Callable[[], Any]

_NOTHING_REPEATED: Mapping[int, Pairs] = {}
_TEXT_ONLY = {str}
_NULLS_TOO = {str, type(None)}


MAX_DEPTH = 180
"""Nesting of an object; lists of objects must stay within what YAML is printed to."""
TOO_DEEP = "exceeded max depth"


@dataclass(frozen=True, slots=True)
class Decoder:
    """The decoder of one type.

    Args:
        type_name: full name of the type.
        shape: what it looks like.
        convert: the compiled closure; it gives up on what is lost in printing, as `Report` has it.
        dropping: the one that drops it.
    """

    type_name: str
    shape: Shape
    convert: Convert
    dropping: Convert

    def decode(
        self, raw: Any, report: Report, repeated: Mapping[int, Pairs] = _NOTHING_REPEATED
    ) -> Json:
        """Decode one value; null is an empty object.

        Args:
            raw: a JSON value; it is not changed.
            report: receives messages about unknown and duplicate fields.
            repeated: members of objects with repeated keys, as in ``gojson.Parsed``.

        Returns:
            A new object, except for embedded raw values.

        Raises:
            GoJsonError: the value does not fit the type, in Go's words; or it is nested deeper
                than this process can follow.
        """
        if raw is None:
            raw = {}
        try:
            if not repeated and type(raw) is dict:
                try:
                    done: Json = self.convert(raw)
                except ValueError:
                    pass  # something to report
                else:
                    return self._printable(done)
            done = self._dropped(raw, repeated, report)
        except RecursionError:
            raise GoJsonError(TOO_DEEP) from None
        return self._printable(done)

    def decode_changed(self, raw: Json, known: Json) -> Json | None:
        """Decode an object that shares members with one of its type.

        Args:
            raw: the object; it is not changed.
            known: an object as it was stored, whose members need no decoding; members of `raw`
                that are those of it, the same values in memory, are copied.

        Returns:
            A new object, or None where it is for `decode`: there is something to report, or the
            text of numbers matters.
        """
        if free_form(self.type_name):
            return None
        fields = struct(self.type_name).fields
        shared: Json = {}
        changed: Json = {}
        for name, value in raw.items():
            same = type(value) is dict and known.get(name) is value and name in fields
            (shared if same else changed)[name] = value
        try:
            done: Json = self.convert(changed)
            done.update(orjson.loads(orjson.dumps(shared)))
        except (ValueError, TypeError, RecursionError):
            return None  # something to report, or no JSON to orjson
        return {name: done[name] for name in fields if name in done}

    def _dropped(self, raw: Any, repeated: Mapping[int, Pairs], report: Report) -> Json:
        """Convert a value of which there is something to report."""
        if not repeated and type(raw) is dict:
            try:
                done: Json = self.dropping(raw)
            except ValueError:
                pass  # something that is wrong
            else:
                report.empties = empties.found_in(struct(self.type_name), raw)
                return done
        done = self.dropping(Walk(repeated, report.strict).clean(self.shape, raw))
        report.empties = empties.found_in(struct(self.type_name), raw)
        return done

    def restore(self, merged: Json, report: Report) -> Json:
        """Decode what a strategic merge patch made, by the rules of ``structural_restore``.

        Args:
            merged: the document; it is not changed.
            report: receives messages about unknown fields, and empty members.

        Returns:
            A new object, except for embedded raw values.

        Raises:
            GoJsonError: the document does not fit the type, in Go's words; or it is nested deeper
                than this process can follow.
        """
        try:
            try:
                if free_form(self.type_name):  # numbers are printed anew
                    raise ValueError
                done: Json = self.convert(merged)
            except ValueError:  # something to report
                done = self.dropping(Restore(report.strict).clean(self.shape, merged))
                report.empties = empties.found_in(struct(self.type_name), merged)
        except RecursionError:
            raise GoJsonError(TOO_DEEP) from None
        return self._printable(done)

    def _printable(self, done: Json) -> Json:
        """The object, if every representation of it can be printed."""
        if free_form(self.type_name) and is_deeper(done, MAX_DEPTH):
            raise GoJsonError(TOO_DEEP)
        return done


@cache
def compile_type(type_name: str) -> Decoder:
    """The decoder of a built-in type.

    Args:
        type_name: full name such as ``io.k8s.api.core.v1.Pod``.

    Raises:
        KeyError: no such type.
    """
    _, package, name = type_name.rsplit(".", 2)
    target = struct(type_name)
    _ = target.fields  # an unknown type is told here, not at the first request
    shape = Shape(ShapeKind.STRUCT, f"{package}.{name}", struct=target)
    return Decoder(type_name, shape, _struct_decoder(type_name), _struct_decoder(type_name, True))


_REMEMBERED_PLANS = 64  # of one type

# What becomes of a value that is given and empty.
_DROP, _KEEP, _TELL = range(3)

# A step of a plan: name, expected Python type (None: any), conversion (None: as it is), what
# becomes of an empty value, and what stands for an absent or null value (None: nothing).
_Step = tuple[str, type | None, Convert | None, int, Zero | None]


@cache
def _struct_decoder(type_name: str, dropping: bool = False) -> Convert:
    target = struct(type_name)
    # Most types have many members and most objects few, in one of a few orders.
    plans: dict[tuple[str, ...], tuple[_Step, ...]] = {}
    plan: tuple[_Step, ...] = ()

    def prepare(raw: Json) -> tuple[_Step, ...]:
        nonlocal plan
        plan = plan or tuple(_step(member, dropping) for member in target.fields.values())
        if not raw.keys() <= target.fields.keys():
            raise ValueError("unknown field")
        steps = tuple(step for step in plan if step[0] in raw or step[4] is not None)
        if len(plans) < _REMEMBERED_PLANS:
            plans[tuple(raw)] = steps
        return steps

    def decode(raw: Json) -> Json:
        out: Json = {}
        get = raw.get
        steps = plans.get(tuple(raw))
        if steps is None:
            steps = prepare(raw)
        for name, expected, convert, keep, absent in steps:
            value = get(name)
            if value is None:
                if absent is not None:
                    out[name] = absent()
                continue
            if expected is not None and type(value) is not expected:
                raise ValueError(name)
            if convert is not None:
                value = convert(value)
            if value or keep == _KEEP:
                out[name] = value
            elif keep:
                raise ValueError("empty")
        return out

    return decode


def _step(member: Field, dropping: bool) -> _Step:
    expected, convert = _converter(member.shape, dropping)
    kind = member.shape.kind
    # A pointer to the zero time prints as null, which reads as no time at all.
    keep = _DROP if dropping or kind not in empties.NILABLE else _TELL
    if not member.omit or member.told or (member.pointer and kind not in _TIMES):
        keep = _KEEP
    absent: Zero | None = None
    if not member.omit:
        absent = _nothing if member.nilable else _zero(member.shape)
    return member.name, expected, convert, keep, absent


_TIMES = frozenset({ShapeKind.TIME, ShapeKind.MICRO_TIME})


def _nothing() -> None:
    return None


def _zero(shape: Shape) -> Zero:
    """What Go prints for the zero value."""
    kind = shape.kind
    if kind is ShapeKind.STRUCT and shape.struct is not None:
        return partial(_struct_decoder(shape.struct.type_name), {})
    constant = _ZEROS.get(kind)
    return lambda: constant


_ZEROS: Mapping[ShapeKind, Any] = {**ZEROS, ShapeKind.SCHEMA_OR_BOOL: False}


def _int32(value: int) -> int:
    if -0x8000_0000 <= value < 0x8000_0000:
        return value
    raise ValueError(value)


def _int64(value: int) -> int:
    if -0x8000_0000_0000_0000 <= value < 0x8000_0000_0000_0000:
        return value
    raise ValueError(value)


_CONVERTERS: Mapping[ShapeKind, tuple[type | None, Convert | None]] = {
    ShapeKind.STRING: (str, None),
    ShapeKind.BOOL: (bool, None),
    ShapeKind.INT32: (int, _int32),
    ShapeKind.INT64: (int, _int64),
    ShapeKind.DOUBLE: (None, values.double),
    ShapeKind.BYTES: (str, values.base64_text),
    ShapeKind.TIME: (str, values.time),
    ShapeKind.MICRO_TIME: (str, values.micro_time),
    ShapeKind.QUANTITY: (None, values.canonical_quantity),
    ShapeKind.INT_OR_STRING: (None, values.int_or_string),
    ShapeKind.RAW: (None, values.raw),
    ShapeKind.FIELDS: (None, None),
}


def _converter(shape: Shape, dropping: bool) -> tuple[type | None, Convert | None]:
    """The Python type to insist on, and the conversion of a value of that type."""
    kind = shape.kind
    if kind is ShapeKind.STRUCT and shape.struct is not None:
        return dict, _struct_decoder(shape.struct.type_name, dropping)
    if kind is ShapeKind.LIST and shape.element is not None:
        return list, _list_converter(shape.element, dropping)
    if kind is ShapeKind.MAP and shape.element is not None:
        return dict, _map_converter(shape.element, dropping)
    if kind is ShapeKind.QUANTITY and not dropping:
        return None, values.quantity_if_canonical
    if kind in _CONVERTERS:
        return _CONVERTERS[kind]
    return None, _schema_converter(kind, dropping)


def _element_converter(shape: Shape, dropping: bool) -> Convert:
    expected, convert = _converter(shape, dropping)
    zero = _zero(shape)

    def element(value: Any) -> Any:
        if value is None:
            return zero()
        if expected is not None and type(value) is not expected:
            raise ValueError("wrong type")
        return value if convert is None else convert(value)

    return element


def _list_converter(shape: Shape, dropping: bool) -> Convert:
    if shape.kind is ShapeKind.STRING:
        return _texts
    element = _element_converter(shape, dropping)
    if shape.kind is ShapeKind.STRUCT and shape.struct is not None:
        decode = _struct_decoder(shape.struct.type_name, dropping)
        return lambda items: [
            decode(item) if type(item) is dict else element(item) for item in items
        ]
    return lambda items: [element(item) for item in items]


def _texts(items: list[Any]) -> list[Any]:
    kinds = set(map(type, items))
    if kinds <= _TEXT_ONLY:
        return items.copy()
    if kinds <= _NULLS_TOO:
        return [item or "" for item in items]
    raise ValueError("not a string")


def _map_converter(shape: Shape, dropping: bool) -> Convert:
    if shape.kind is ShapeKind.STRING:
        return _text_map
    element = _element_converter(shape, dropping)
    return lambda items: {key: element(items[key]) for key in sorted(items)}


def _text_map(items: Json) -> Json:
    kinds = set(map(type, items.values()))
    if kinds <= _TEXT_ONLY:
        return dict(sorted(items.items())) if len(items) > 1 else items.copy()
    if kinds <= _NULLS_TOO:
        return {key: items[key] or "" for key in sorted(items)}
    raise ValueError("not a string")


def _schema_converter(kind: ShapeKind, dropping: bool) -> Convert:
    """One of the "schema or something else" types of CustomResourceDefinitions."""
    decode = _struct_decoder(SCHEMA_PROPS, dropping)
    props = Shape(ShapeKind.STRUCT, "", struct=struct(SCHEMA_PROPS))
    schemas = _element_converter(props, dropping)

    def convert(value: Any) -> Any:
        given = type(value)
        if given is dict:
            return decode(value)
        if kind is ShapeKind.SCHEMA_OR_BOOL and given is bool:
            return value
        if given is list and value and kind is not ShapeKind.SCHEMA_OR_BOOL:
            if kind is ShapeKind.SCHEMA_OR_STRINGS:
                return _texts(value)
            return [schemas(item) for item in value]
        raise ValueError("neither a schema nor what else may stand here")

    return convert
