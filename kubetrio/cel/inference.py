"""Types of the parts of an expression, where the engine's checker does not know them.

It takes for ``dyn`` what is in lists of lists or maps of lists, as members of protobuf messages
cannot be such, and the variables of loops with two.  cel-go knows these types, and so an estimate
of cost has to.  Types are texts in the engine's notation, such as ``map<string,list<int>>``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from kubetrio.cel.checking import OPTIONAL, type_text
from kubetrio.cel.syntax import Node, kind_of

DYN = "dyn"
_NUMBERS = ("int", "uint", "double")
_SIMPLE = ("int64", "int"), ("uint64", "uint"), ("double", "double")
_WANTED: Mapping[str, tuple[str, ...]] = {
    **{
        f"{name}_{suffix}": (kind, kind)
        for name in ("add", "subtract", "multiply", "divide", "modulo")
        for suffix, kind in _SIMPLE
    },
    **{f"add_{kind}": (kind, kind) for kind in ("string", "bytes", "list")},
    "in_list": ("", "list"),
    "in_map": ("", "map"),
    "index_list": ("list", ""),
    "index_map": ("map", ""),
    **{f"string_{kind}": (kind,) for kind in ("bool", "bytes", "double", "int", "string", "uint")},
    **{
        f"{name}_{one}_{two}": (one, two)
        for name in ("_<_", "_<=_", "_>_", "_>=_")
        for one, two in (
            *((kind, kind) for kind in ("bool", "bytes", "duration", "string", "timestamp")),
            *((one, two) for one in _NUMBERS for two in _NUMBERS),
        )
    },
}
"""Overloads, and what their arguments are."""
_OF_ONE_TYPE = frozenset({"slice", "distinct", "reverse", "sort", "sortBy"})
"""Functions that make a list of the type of theirs."""
_UNWRAPPED = frozenset({"value", "orValue"})


def head(kind: str) -> str:
    """The name of a type without its parameters."""
    return kind.partition("<")[0]


def parameters(kind: str) -> list[str]:
    """The parameters of a type."""
    inside, depth, parts = kind.partition("<")[2].removesuffix(">"), 0, [""]
    if not inside:
        return []
    for char in inside:
        depth += (char == "<") - (char == ">")
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def _parameter(kind: str, name: str, at: int = 0) -> str:
    """A parameter of a type if it has that name, or ``dyn``."""
    kinds_within = parameters(kind) if head(kind) == name else []
    return kinds_within[at] if at < len(kinds_within) else DYN


def item_of(kind: str) -> str:
    """The type of what is in a list or map."""
    return _parameter(kind, "map", 1) if head(kind) == "map" else _parameter(kind, "list")


class Kinds:
    """The types of an expression's nodes.

    Args:
        checked: a ``CheckedExpr``.
        messages: members of the types of objects.
        variables: types of variables.
    """

    def __init__(
        self,
        checked: Any,
        messages: Mapping[str, Mapping[str, str]],
        variables: Mapping[str, str],
    ) -> None:
        self._known = {
            node: type_text(kind).replace("(", "<").replace(")", ">").replace(", ", ",")
            for node, kind in checked.type_map.items()
        }
        self._messages = messages
        self._variables = variables
        self._locals: defaultdict[str, list[str]] = defaultdict(list)

    def of(self, node: Node) -> str:
        """The type of a node that was looked at."""
        return self._known.get(node.id, DYN)

    def declare(self, name: str, kind: str) -> None:
        """Begin the scope of a variable."""
        self._locals[name].append(kind)

    def forget(self, name: str) -> None:
        """End the scope of a variable."""
        self._locals[name].pop()

    def fitting(self, overloads: Sequence[str], arguments: Sequence[Node]) -> Sequence[str]:
        """The overloads that take arguments of these types."""
        if len(overloads) < 2:
            return overloads
        kinds = [head(self.of(argument)) for argument in arguments]
        candidates = [one for one in overloads if _fits(_WANTED.get(one, ()), kinds)]
        return candidates or overloads

    def look(self, node: Node) -> None:
        """Find the type of a node; those below it were looked at, its variables are in scope."""
        if DYN in self.of(node):
            kind = self._found(node)
            if kind and kind != DYN:
                self._known[node.id] = kind

    def _found(self, node: Node) -> str:
        match kind_of(node):
            case "ident_expr":
                name = node.ident_expr.name
                found = self._locals.get(name)
                return found[-1] if found else self._variables.get(name, "")
            case "select_expr":
                made = node.select_expr
                return self._member(self.of(made.operand), made.field)
            case "list_expr":
                elements = node.list_expr.elements
                return f"list<{self.of(elements[0])}>" if elements else ""
            case "struct_expr" if node.struct_expr.entries and not node.struct_expr.message_name:
                entry = node.struct_expr.entries[0]
                return f"map<{self.of(entry.map_key)},{self.of(entry.value)}>"
            case "comprehension_expr":
                made = node.comprehension_expr
                step = self.of(made.loop_step)
                bound = kind_of(made.iter_range) == "list_expr"
                return self.of(made.result) if bound or head(step) != "list" else step
            case "call_expr":
                return self._call(node.call_expr)
        return ""

    def _member(self, kind: str, field: str) -> str:
        if head(kind) == "map":
            return item_of(kind)
        return self._messages.get(kind, {}).get(field, "")

    def _call(self, made: Any) -> str:
        args = made.args
        match made.function:
            case "_[_]":
                return item_of(self.of(args[0]))
            case "_+_":
                one, two = self.of(args[0]), self.of(args[1])
                return two if DYN in one else one
            case "_?_:_":
                one, two = self.of(args[1]), self.of(args[2])
                return two if DYN in one else one
            case "_?._":
                kind = self.of(args[0])
                inner = self._member(self._unwrapped(kind), args[1].const_expr.string_value)
                return f"{OPTIONAL}<{inner}>" if inner else ""
            case "_[?_]":
                return f"{OPTIONAL}<{item_of(self._unwrapped(self.of(args[0])))}>"
            case name if name in _UNWRAPPED:
                return self._unwrapped(self.of(made.target))
            case "or":
                return self.of(made.target)
            case "optional.of":
                return f"{OPTIONAL}<{self.of(args[0])}>"
            case name if name in _OF_ONE_TYPE:
                return self.of(made.target)
            case "flatten":
                kind = self.of(made.target)
                return item_of(kind) if head(item_of(kind)) == "list" else kind
            case "transformList":
                return f"list<{self.of(args[-1])}>"
            case "transformMap":
                over = self.of(made.target)
                key = "int" if head(over) == "list" else _parameter(over, "map")
                return f"map<{key},{self.of(args[-1])}>"
            case "transformMapEntry":
                return self.of(args[-1])
        return ""

    def _unwrapped(self, kind: str) -> str:
        return parameters(kind)[0] if head(kind) == OPTIONAL and parameters(kind) else kind


def _fits(wanted: Sequence[str], kinds: Sequence[str]) -> bool:
    return all(not want or kind in (want, DYN) for want, kind in zip(wanted, kinds, strict=False))
