"""Expressions as trees: the protobuf messages that the engine writes and reads them as.

Source: ``cel/expr/syntax.proto`` and ``cel/expr/checked.proto`` of the CEL specification.
Constants are taken along as bytes: nothing here looks into most of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "cel.expr"
Node = Any  # a message cel.expr.Expr

# Message to its fields: number, name, type, and "*" for a list or "map" for a map from integers.
_SCALARS = {"int64": 3, "uint64": 4, "int32": 5, "bool": 8, "string": 9, "bytes": 12, "double": 1}
_MESSAGES: dict[str, list[tuple[Any, ...]]] = {
    "Empty": [],
    "Constant": [
        (1, "null_value", "int32"),
        (2, "bool_value", "bool"),
        (3, "int64_value", "int64"),
        (4, "uint64_value", "uint64"),
        (5, "double_value", "double"),
        (6, "string_value", "string"),
        (7, "bytes_value", "bytes"),
    ],
    "Ident": [(1, "name", "string")],
    "Select": [(1, "operand", "Expr"), (2, "field", "string"), (3, "test_only", "bool")],
    "Call": [(1, "target", "Expr"), (2, "function", "string"), (3, "args", "Expr", "*")],
    "CreateList": [(1, "elements", "Expr", "*"), (2, "optional_indices", "int32", "*")],
    "Entry": [
        (1, "id", "int64"),
        (2, "field_key", "string"),
        (3, "map_key", "Expr"),
        (4, "value", "Expr"),
        (5, "optional_entry", "bool"),
    ],
    "CreateStruct": [(1, "message_name", "string"), (2, "entries", "Entry", "*")],
    "Comprehension": [
        (1, "iter_var", "string"),
        (2, "iter_range", "Expr"),
        (3, "accu_var", "string"),
        (4, "accu_init", "Expr"),
        (5, "loop_condition", "Expr"),
        (6, "loop_step", "Expr"),
        (7, "result", "Expr"),
        (8, "iter_var2", "string"),
    ],
    "Expr": [
        (2, "id", "int64"),
        (3, "const_expr", "Constant"),
        (4, "ident_expr", "Ident"),
        (5, "select_expr", "Select"),
        (6, "call_expr", "Call"),
        (7, "list_expr", "CreateList"),
        (8, "struct_expr", "CreateStruct"),
        (9, "comprehension_expr", "Comprehension"),
    ],
    "SourceInfo": [
        (2, "location", "string"),
        (3, "line_offsets", "int32", "*"),
        (4, "positions", "int32", "map"),
    ],
    "ParsedExpr": [(2, "expr", "Expr"), (3, "source_info", "SourceInfo")],
    "ListType": [(1, "elem_type", "Type")],
    "MapType": [(1, "key_type", "Type"), (2, "value_type", "Type")],
    "AbstractType": [(1, "name", "string"), (2, "parameter_types", "Type", "*")],
    "Type": [
        (1, "dyn", "Empty"),
        (2, "null", "int32"),
        (3, "primitive", "int32"),
        (4, "wrapper", "int32"),
        (5, "well_known", "int32"),
        (6, "list_type", "ListType"),
        (7, "map_type", "MapType"),
        (9, "message_type", "string"),
        (10, "type_param", "string"),
        (11, "type", "Type"),
        (12, "error", "Empty"),
        (14, "abstract_type", "AbstractType"),
    ],
    "Reference": [(1, "name", "string"), (3, "overload_id", "string", "*")],
    "CheckedExpr": [
        (2, "reference_map", "Reference", "map"),
        (3, "type_map", "Type", "map"),
        (4, "expr", "Expr"),
        (5, "source_info", "SourceInfo"),
    ],
}
_ONE_OF = {"Expr": "expr_kind", "Constant": "constant_kind", "Type": "type_kind"}
_NOT_IN_ONE_OF = frozenset({"id"})


def _field(message: Any, row: tuple[Any, ...]) -> None:
    number, name, kind, *label = row
    field = message.field.add(name=name, number=number, label=3 if label else 1)
    if label == ["map"]:
        entry = message.nested_type.add(name=f"{name.title().replace('_', '')}Entry")
        entry.options.map_entry = True
        _field(entry, (1, "key", "int64"))
        _field(entry, (2, "value", kind))
        field.type, field.type_name = 11, f".{PACKAGE}.{message.name}.{entry.name}"
    elif kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type, field.type_name = 11, f".{PACKAGE}.{kind}"
    if message.name in _ONE_OF and name not in _NOT_IN_ONE_OF:
        field.oneof_index = 0


@cache
def _classes() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(
        name="kubetrio/cel/syntax.proto", package=PACKAGE, syntax="proto3"
    )
    for name, rows in _MESSAGES.items():
        message = file.message_type.add(name=name)
        if name in _ONE_OF:
            message.oneof_decl.add(name=_ONE_OF[name])
        for row in rows:
            _field(message, row)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))
        for name in _MESSAGES
    }


def read(serialized: bytes) -> Any:
    """A ``ParsedExpr`` or ``CheckedExpr``, as the engine serialized it."""
    wrapper = any_pb2.Any.FromString(serialized)
    return _classes()[wrapper.type_url.rpartition(".")[2]].FromString(wrapper.value)


def parsed(expression: Node) -> bytes:
    """An expression in the form in which the engine takes it, not type checked."""
    message = _classes()["ParsedExpr"](expr=expression)
    message.source_info.location = "<input>"
    for number, node in enumerate(walk(message.expr), 1):
        node.id = number
    wrapper = any_pb2.Any(
        type_url=f"type.googleapis.com/{PACKAGE}.ParsedExpr",
        value=message.SerializeToString(),
    )
    return wrapper.SerializeToString()


def kind_of(node: Node) -> str:
    """Which of the forms a node has, such as ``call_expr``; empty for none."""
    return node.WhichOneof("expr_kind") or ""


def children(node: Node) -> Iterator[Node]:
    """The nodes right below a node."""
    match kind_of(node):
        case "select_expr":
            yield node.select_expr.operand
        case "call_expr":
            if node.call_expr.HasField("target"):
                yield node.call_expr.target
            yield from node.call_expr.args
        case "list_expr":
            yield from node.list_expr.elements
        case "struct_expr":
            for entry in node.struct_expr.entries:
                if entry.HasField("map_key"):
                    yield entry.map_key
                yield entry.value
        case "comprehension_expr":
            loop = node.comprehension_expr
            yield from (loop.iter_range, loop.accu_init, loop.loop_condition)
            yield from (loop.loop_step, loop.result)


def walk(node: Node) -> Iterator[Node]:
    """A node and everything below it, parents first."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        # Most nodes are of these kinds, and expressions are walked over and over.
        match current.WhichOneof("expr_kind"):
            case "ident_expr" | "const_expr":
                continue
            case "call_expr":
                expr = current.call_expr
                if expr.HasField("target"):
                    pending.append(expr.target)
                pending.extend(expr.args)
            case "select_expr":
                pending.append(current.select_expr.operand)
            case _:
                pending.extend(children(current))


def names(node: Node, bound: frozenset[str] = frozenset()) -> Iterator[Node]:
    """The names in a tree that no loop around them declares.

    Args:
        node: the tree.
        bound: names that are declared around it.
    """
    kind = kind_of(node)
    if kind == "ident_expr":
        if node.ident_expr.name not in bound:
            yield node
    elif kind == "comprehension_expr":
        loop = node.comprehension_expr
        yield from names(loop.iter_range, bound)
        yield from names(loop.accu_init, bound)
        inside = bound | {loop.iter_var, loop.iter_var2, loop.accu_var}
        for part in (loop.loop_condition, loop.loop_step, loop.result):
            yield from names(part, inside)
    else:
        for child in children(node):
            yield from names(child, bound)


def path_of(node: Node) -> str:
    """The dotted name a node spells, such as ``object.spec``; empty if it is none."""
    names: list[str] = []
    while kind_of(node) == "select_expr" and not node.select_expr.test_only:
        names.append(node.select_expr.field)
        node = node.select_expr.operand
    if kind_of(node) != "ident_expr":
        return ""
    return ".".join((node.ident_expr.name, *reversed(names)))


# --- making nodes ---


def ident(name: str) -> Node:
    """A name."""
    node = _classes()["Expr"]()
    node.ident_expr.name = name
    return node


def text(value: str) -> Node:
    """A string constant."""
    node = _classes()["Expr"]()
    node.const_expr.string_value = value
    return node


def truth(value: bool) -> Node:
    """A boolean constant."""
    node = _classes()["Expr"]()
    node.const_expr.bool_value = value
    return node


def call(function: str, *args: Node, target: Node | None = None) -> Node:
    """A call of a function, or of a method on a target."""
    node = _classes()["Expr"]()
    node.call_expr.function = function
    if target is not None:
        node.call_expr.target.CopyFrom(target)
    for arg in args:
        node.call_expr.args.add().CopyFrom(arg)
    return node


def listed(*items: Node) -> Node:
    """A list."""
    node = _classes()["Expr"]()
    node.list_expr.SetInParent()
    for item in items:
        node.list_expr.elements.add().CopyFrom(item)
    return node


def number(value: int) -> Node:
    """An integer constant."""
    node = _classes()["Expr"]()
    node.const_expr.int64_value = value
    return node


def loop(
    over: Node, variables: tuple[str, ...], accumulator: str, parts: tuple[Node, Node, Node, Node]
) -> Node:
    """A loop with one or two variables.

    Args:
        over: a map or list.
        variables: names of key and value, or index and item; or of the item alone.
        accumulator: name of what is carried from turn to turn.
        parts: what that is at first, whether to go on, what it is next, what comes out.
    """
    node = _classes()["Expr"]()
    expr = node.comprehension_expr
    expr.iter_range.CopyFrom(over)
    expr.iter_var, expr.iter_var2 = (*variables, "")[:2]
    expr.accu_var = accumulator
    for name, part in zip(
        ("accu_init", "loop_condition", "loop_step", "result"), parts, strict=True
    ):
        getattr(expr, name).CopyFrom(part)
    return node


def bind(name: str, value: Node, body: Node) -> Node:
    """A body that may use a value by name; the value is evaluated when first asked for.

    The form is that of the macro ``cel.bind``: a loop over nothing.
    """
    node = _classes()["Expr"]()
    loop = node.comprehension_expr
    loop.iter_var = "#unused"
    loop.iter_range.list_expr.SetInParent()
    loop.accu_var = name
    loop.accu_init.CopyFrom(value)
    loop.loop_condition.CopyFrom(truth(False))
    loop.loop_step.CopyFrom(ident(name))
    loop.result.CopyFrom(body)
    return node
