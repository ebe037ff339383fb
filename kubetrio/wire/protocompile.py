"""Plans: what to do with each member of a type, worked out once.

A plan fills a message of the runtime from a JSON object and reads it back.  Filling walks over the
members the object has; what Go writes although it is absent comes first, as one template of bytes.
Reading walks over the fields the message has, then adds what Go prints although it is absent, and
puts the members into the order of the Go struct.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubetrio.machinery.sorting import sorted_in_steps
from kubetrio.wire.descriptors import ZEROS, Descriptors, Field
from kubetrio.wire.protovalues import (
    JSON_SCHEMA,
    PLAIN,
    SCHEMA_UNIONS,
    Value,
    checked_list,
    from_base64,
    named_list,
    number,
    text,
    texts,
    to_base64,
    varint,
)

Json = dict[str, Any]
Fill = Callable[[Any, Any], None]
Read = Callable[[Any], Any]


class Plan:
    """How one message type is written and read; complete once its compiler says so.

    Args:
        message: name of the message.
    """

    __slots__ = (
        "absent",
        "fields",
        "fill",
        "handlers",
        "members",
        "message",
        "order",
        "read",
        "scalars",
        "template",
    )

    def __init__(self, message: str) -> None:
        self.message = message
        self.template = b""
        self.fill: Fill
        self.read: Read
        self.fields: dict[int, Plan | Value | None] = {}
        """Field number to what a nested message of it is; None for scalars."""
        self.scalars: dict[str, str] = {}
        """JSON member to field, for those that are simply assigned."""
        self.members: dict[str, Fill] = {}
        """JSON member to what sets it on the message, for the others."""
        self.handlers: dict[int, tuple[str, Read | None, bool]] = {}
        """Field number to member (empty: all its members are ours), conversion, whether kept if
        empty."""
        self.absent: list[tuple[str, Any, Callable[[], Any] | None]] = []
        """Members printed although not on the wire: name, constant or what makes the value."""
        self.order: list[str] = []
        """Members in the order of the Go struct."""


Kind = Plan | Value


class Compiler:
    """Plans of all messages, made when asked for.

    Args:
        descriptors: the facts.
    """

    def __init__(self, descriptors: Descriptors) -> None:
        self._descriptors = descriptors
        self._kinds: dict[str, Kind] = {}
        self._templates: dict[str, bytes] = {}
        self._defined: set[str] = set()

    def plan(self, message: str) -> Kind:
        """The finished plan of a message.

        Raises:
            KeyError: no such message.
        """
        known = self._kinds.get(message)
        if known is not None:
            return known
        plans: list[Plan] = []
        for name in self._descriptors.closure(message):
            if name not in self._kinds:
                kind = self._kinds[name] = self._declare(name)
                if isinstance(kind, Plan):
                    plans.append(kind)
        for plan in plans:
            plan.template = self._template(plan.message)
        for plan in plans:
            self._define(plan)
        return self._kinds[message]

    def _declare(self, message: str) -> Kind:
        if message in PLAIN:
            return PLAIN[message]
        if message in SCHEMA_UNIONS:
            return SCHEMA_UNIONS[message](self._schema_plan())
        item_type = self._descriptors.slice_type(message)
        return named_list(item_type) if item_type else Plan(message)

    def _schema_plan(self) -> Plan:
        # Unions are only found inside of JSON schemas, so this one is declared already.
        plan = self._kinds[JSON_SCHEMA]
        if not isinstance(plan, Plan):
            raise TypeError(plan)
        return plan

    def _template(self, message: str) -> bytes:
        """Bytes of a struct that has nothing but zeros.  Values never nest without end in Go."""
        known = self._templates.get(message)
        if known is not None:
            return known
        kind = self._kinds[message]
        if isinstance(kind, Value):
            return kind.template
        parts = []
        for field in sorted(self._descriptors.fields(message), key=lambda field: field.number):
            if not field.value:
                continue
            if field.type == "double":
                parts.append(varint(field.number << 3 | 1) + bytes(8))
            elif field.type == "string":
                parts.append(varint(field.number << 3 | 2) + b"\x00")
            elif field.scalar:
                parts.append(varint(field.number << 3) + b"\x00")
            elif not self._descriptors.slice_type(field.type):
                inner = self._template(field.type)
                parts.append(varint(field.number << 3 | 2) + varint(len(inner)) + inner)
        template = self._templates[message] = b"".join(parts)
        return template

    def _define(self, plan: Plan) -> None:
        if plan.message in self._defined:
            return
        self._defined.add(plan.message)
        fields = self._descriptors.fields(plan.message)
        for field in fields:
            kind = None if field.scalar else self._kinds[field.type]
            plan.fields[field.number] = kind
            if not field.json:
                if not isinstance(kind, Plan):
                    raise TypeError(f"{plan.message}.{field.name} cannot be inlined")
                self._define(kind)
                _inline(plan, field, kind)
            else:
                _add(plan, field, kind)
                if not field.omitzero:
                    self._note_absent(plan, field, kind)
        numbers = [field.number for field in fields]
        omitzero = next((field.json for field in fields if field.omitzero), "")
        in_order = numbers == sorted(numbers) and not plan.absent and not omitzero
        plan.fill = _filler(plan)
        plan.read = _reader(plan, in_order=in_order, omitzero=omitzero)

    def _note_absent(self, plan: Plan, field: Field, kind: Kind | None) -> None:
        if field.value and kind is not None:
            if self._descriptors.slice_type(field.type):
                plan.absent.append((field.json, None, None))
            else:
                # The order of definition does not matter: this is called when objects are read.
                message_class = self._descriptors.message_class
                plan.absent.append(
                    (field.json, None, lambda: kind.read(message_class(field.type)()))
                )
        elif not field.omitempty:
            pointer = field.repeated or field.map or not field.value
            plan.absent.append((field.json, None if pointer else ZEROS[field.type], None))


def _filler(plan: Plan) -> Fill:
    scalars, members = plan.scalars, plan.members

    def fill(message: Any, value: Any) -> None:
        for key, member in value.items():
            name = scalars.get(key)
            if name is not None:
                if member is not None:
                    setattr(message, name, member)
            elif member is not None:
                setter = members.get(key)
                if setter is not None:
                    setter(message, member)

    return fill


def _reader(plan: Plan, *, in_order: bool, omitzero: str) -> Read:
    handlers, absent, order = plan.handlers, plan.absent, plan.order

    def read(message: Any) -> Json:
        out: Json = {}
        for descriptor, value in message.ListFields():
            key, convert, keep_empty = handlers[descriptor.number]
            if keep_empty or value:
                if convert is None:
                    out[key] = value if type(value) is not bytes else text(value)
                elif key:
                    out[key] = convert(value)
                else:
                    out.update(convert(value))
        if in_order:
            return out
        if omitzero and out.get(omitzero, "") is None:
            del out[omitzero]
        for key, constant, make in absent:
            if key not in out:
                out[key] = constant if make is None else make()
        return {key: out[key] for key in order if key in out} if len(out) > 1 else out

    return read


def _inline(plan: Plan, field: Field, inner: Plan) -> None:
    """Members of an inlined struct become those of its parent."""
    name = field.name

    def assigned(inner_name: str) -> Fill:
        return lambda message, value: setattr(getattr(message, name), inner_name, value)

    def handed_on(setter: Fill) -> Fill:
        return lambda message, value: setter(getattr(message, name), value)

    for key, inner_name in inner.scalars.items():
        plan.members[key] = assigned(inner_name)
    for key, setter in inner.members.items():
        plan.members[key] = handed_on(setter)
    plan.handlers[field.number] = ("", inner.read, True)
    plan.absent.extend(inner.absent)
    plan.order.extend(inner.order)


def _add(plan: Plan, field: Field, kind: Kind | None) -> None:
    plan.order.append(field.json)
    convert: Read | None
    if field.map:
        plan.members[field.json] = _map_setter(field, kind)
        convert = _map_reader(field, kind)
    elif field.repeated:
        plan.members[field.json] = _list_setter(field, kind)
        convert = _list_reader(field, kind)
    elif kind is not None:
        plan.members[field.json] = _message_setter(field, kind)
        convert = _message_reader(kind)
    elif field.type == "bytes":
        plan.members[field.json] = _bytes_setter(field.name)
        convert = to_base64
    else:
        plan.scalars[field.json] = field.name
        convert = number if field.type == "double" else None
    pointer = not field.value and field.type != "bytes"
    keep_empty = pointer or not field.omitempty or kind is not None
    plan.handlers[field.number] = (field.json, convert, keep_empty)


def _message_setter(field: Field, kind: Kind) -> Fill:
    name = field.name
    if field.value and kind.template:
        # The parent's template has this one inside.
        return lambda message, value: kind.fill(getattr(message, name), value)

    def set_message(message: Any, value: Any) -> None:
        inner = getattr(message, name)
        if kind.template:
            inner.MergeFromString(kind.template)
        else:
            inner.SetInParent()
        kind.fill(inner, value)

    return set_message


def _message_reader(kind: Kind) -> Read:
    def read(message: Any) -> Any:
        # Looked up late: a plan that contains itself is not complete when this is made.
        return kind.read(message)

    return kind.read if isinstance(kind, Value) else read


def _bytes_setter(name: str) -> Fill:
    return lambda message, value: setattr(message, name, from_base64(value))


def _list_setter(field: Field, kind: Kind | None) -> Fill:
    name, zero = field.name, ZEROS.get(field.type)

    def extend(message: Any, value: Any) -> None:
        if None in checked_list(value):
            value = [zero if item is None else item for item in value]
        getattr(message, name).extend(value)

    if kind is None:
        return extend

    def add_all(message: Any, value: Any) -> None:
        add, template, fill = getattr(message, name).add, kind.template, kind.fill
        for item in checked_list(value):
            added = add()
            if template:
                added.MergeFromString(template)
            if item is not None:
                fill(added, item)

    return add_all


def _list_reader(field: Field, kind: Kind | None) -> Read:
    if kind is not None:
        return lambda items: [kind.read(item) for item in items]
    if field.type == "string":
        return texts
    return list


def _map_setter(field: Field, kind: Kind | None) -> Fill:
    name = field.name
    is_bytes, zero = field.type == "bytes", ZEROS.get(field.type)

    def put_scalars(message: Any, value: Any) -> None:
        add = getattr(message, name).add
        for key in sorted_in_steps(value):
            entry, item = add(), value[key]
            entry.key = key
            if not is_bytes:
                entry.value = zero if item is None else item
            elif item is not None:
                entry.value = from_base64(item)

    if kind is None:
        return put_scalars

    def put_messages(message: Any, value: Any) -> None:
        add, template, fill = getattr(message, name).add, kind.template, kind.fill
        for key in sorted_in_steps(value):
            entry, item = add(), value[key]
            entry.key = key
            inner = entry.value
            inner.SetInParent()
            if template:
                inner.MergeFromString(template)
            if item is not None:
                fill(inner, item)

    return put_messages


def _map_reader(field: Field, kind: Kind | None) -> Read:
    convert: Read | None = None
    if kind is not None:
        convert = _message_reader(kind)
    elif field.type == "bytes":
        convert = to_base64
    elif field.type == "double":
        convert = number

    def read(entries: Any) -> Json:
        out: Json = {}
        for entry in entries:
            key, value = entry.key, entry.value
            if type(key) is not str:
                key = text(key)
            if convert is not None:
                value = convert(value)
            elif type(value) is bytes:
                value = text(value)
            out[key] = value
        return out

    return read
