"""What an expression can cost at most, estimated from its tree, its types and the sizes of values.

A loop costs as often what its body does as its range can have items; how many these are is known
where the range is a part of ``self`` (by its path from there), a constant, or made of such.

Where the estimate of kube-apiserver is not what one would expect, this one is the same, as it is an
interface: definitions that one of them accepts, the other must.  See `Path`.

Source: github.com/google/cel-go/checker/cost.go (``coster``);
k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/compilation.go (``sizeEstimator``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from kubetrio.cel.callcosts import LIST, MAP, STRUCT, Argument, Call, call_cost
from kubetrio.cel.checking import OPTIONAL
from kubetrio.cel.inference import DYN, Kinds, head, parameters
from kubetrio.cel.loops import ACCUMULATORS, INPUT, Loop, LoopMaker
from kubetrio.cel.macros import SORT_BY, SORTED_BY, is_loop
from kubetrio.cel.ranges import EMPTY, NOTHING, ONE, UNKNOWN, Range, fixed
from kubetrio.cel.sizes import Sized
from kubetrio.cel.syntax import Node, kind_of

_SCALARS = frozenset({"bool", "int", "uint", "double", "timestamp", "duration"})
_NO_MEMBERS = frozenset(
    {*_SCALARS, "string", "bytes", "null_type", DYN, "any", "list", "type", OPTIONAL}
)
"""Types whose members cost nothing to select, where they have some at all."""


class Path:
    """A path to a part of a variable: a slice of Go, over an array that other paths share.

    kube-apiserver appends to such slices without copying them.  Two paths that begin alike may then
    share what comes after, and the one that is made last is what both are.  A loop within another
    can so have the size of a list that it does not go over.

    Args:
        cells: the array.
        length: how much of it is this path.
    """

    __slots__ = ("_cells", "_length")

    def __init__(self, cells: list[str], length: int) -> None:
        self._cells, self._length = cells, length

    def names(self) -> list[str]:
        """The parts, from the variable on."""
        return self._cells[: self._length]

    def then(self, name: str) -> Path:
        """A path that is longer by a part."""
        cells, length = self._cells, self._length
        if length == len(cells):
            cells = cells + [""] * length
        cells[length] = name
        return Path(cells, length + 1)


def _then(path: Path | None, name: str) -> Path:
    return Path([name], 1) if path is None else path.then(name)


class _Entry(NamedTuple):
    """The sizes of what is in a list or map that an expression makes."""

    is_list: bool
    key: Range
    value: Range

    def union(self, other: _Entry | None) -> _Entry | None:
        if other is None:
            return None
        return _Entry(self.is_list, self.key.union(other.key), self.value.union(other.value))


class _Local(NamedTuple):
    """A variable of a loop."""

    path: Path | None
    size: Range | None
    entry: _Entry | None = None


class Estimator:
    """Estimates one expression.

    Args:
        checked: a ``CheckedExpr``.
        kinds: its types.
        root: the size of ``self``.
    """

    def __init__(self, checked: Any, kinds: Kinds, root: Sized) -> None:
        self._kinds = kinds
        self._overloads = {
            node: tuple(reference.overload_id)
            for node, reference in checked.reference_map.items()
            if reference.overload_id
        }
        self._root = root
        self._paths: dict[int, Path | None] = {}
        self._sizes: dict[int, Range] = {}
        self._entries: dict[int, _Entry] = {}
        self._locals: defaultdict[str, list[_Local]] = defaultdict(list)
        self._loops = LoopMaker(self._overloads, self._sizes)

    def cost(self, node: Node) -> Range:
        """What a node costs with all below it."""
        cost = self._cost(node)
        self._kinds.look(node)
        return cost

    def _cost(self, node: Node) -> Range:
        match kind_of(node):
            case "ident_expr":
                name = node.ident_expr.name
                local = self._local(name)
                self._paths[node.id] = Path([name], 1) if local is None else local.path
                return ONE
            case "select_expr":
                return self._select(node)
            case "call_expr":
                if node.call_expr.function == SORT_BY and is_loop(node):
                    return self._sort_by(node)
                if is_loop(node):
                    return self._loop(node, self._loops.expanded(node))
                return self._call(node)
            case "list_expr":
                return self._list(node)
            case "struct_expr" if node.struct_expr.message_name:
                return self._sum([entry.value for entry in node.struct_expr.entries], STRUCT)
            case "struct_expr":
                return self._map(node)
            case "comprehension_expr":
                expr = node.comprehension_expr
                two = expr.iter_var2
                loop = Loop(
                    expr.iter_range,
                    (expr.iter_var, two) if two else (expr.iter_var,),
                    expr.accu_var,
                    expr.accu_init,
                    expr.loop_condition,
                    expr.loop_step,
                    expr.result,
                )
                return self._bind(node, loop) if loop.binds else self._loop(node, loop)
        return NOTHING

    # --- what is known of a node ---

    def _local(self, name: str) -> _Local | None:
        size = self._locals.get(name)
        return size[-1] if size else None

    def _path(self, node: Node) -> Path | None:
        if kind_of(node) == "ident_expr":
            local = self._local(node.ident_expr.name)
            if local is not None:
                return local.path
        return self._paths.get(node.id)

    def _at(self, path: Sequence[str]) -> Range | None:
        """The size of a part of ``self``."""
        if not path:
            return None
        sized = self._root.at(path[1:])
        return None if sized is None else Range(0, sized.most)

    def _size(self, node: Node) -> Range | None:
        """The size of the value of a node."""
        found = self._sizes.get(node.id)
        if found is not None:
            return found
        found = _constant_size(node)
        if found is not None:
            return found
        path = self._path(node)
        found = None if path is None else self._at(path.names())
        if found is not None:
            self._sizes[node.id] = found
            return found
        if _is_scalar(self._kinds.of(node)):
            return ONE
        local = self._local(node.ident_expr.name) if kind_of(node) == "ident_expr" else None
        return None if local is None else local.size

    def _known(self, node: Node) -> Range:
        size = self._size(node)
        return UNKNOWN if size is None else size

    def _entry(self, node: Node) -> _Entry | None:
        """The sizes of what is in the value of a node."""
        found = self._entries.get(node.id)
        if found is not None:
            return found
        local = self._local(node.ident_expr.name) if kind_of(node) == "ident_expr" else None
        return None if local is None else local.entry

    def _set(self, node: Node, size: Range | None, entry: _Entry | None = None) -> None:
        if size is not None:
            self._sizes[node.id] = size
        if entry is not None:
            self._entries[node.id] = entry

    # --- nodes ---

    def _sum(self, nodes: Sequence[Node], base: int) -> Range:
        total = fixed(base)
        for node in nodes:
            total = total.plus(self.cost(node))
        return total

    def _select(self, node: Node) -> Range:
        select = node.select_expr
        cost = self.cost(select.operand)
        if select.test_only:
            return cost
        kind = head(self._kinds.of(select.operand))
        if kind == "map" or kind not in _NO_MEMBERS:
            cost = cost.plus(ONE)
        self._paths[node.id] = _then(self._path(select.operand), select.field)
        return cost

    def _list(self, node: Node) -> Range:
        cost, item = fixed(LIST), EMPTY if node.list_expr.elements else NOTHING
        for inner in node.list_expr.elements:
            cost = cost.plus(self.cost(inner))
            item = item.union(self._known(inner))
        self._set(node, None, _Entry(True, ONE, item))
        return cost

    def _map(self, node: Node) -> Range:
        entries = node.struct_expr.entries
        cost, key = fixed(MAP), EMPTY if entries else NOTHING
        value = key
        for entry in entries:
            cost = cost.plus(self.cost(entry.map_key)).plus(self.cost(entry.value))
            key = key.union(self._known(entry.map_key))
            value = value.union(self._known(entry.value))
        self._set(node, None, _Entry(False, key, value))
        return cost

    # --- calls ---

    def _argument(self, node: Node, *, items: bool = False) -> Argument:
        path, item = self._path(node), None
        if items and path is not None:
            names = path.names()
            if names[0] not in ACCUMULATORS:
                item = self._at([*names, "@items"])
        constant = node.const_expr
        is_int = constant.WhichOneof("constant_kind") == "int64_value"
        size = self._size(node)
        return Argument(self._kinds.of(node), size, item, constant.int64_value if is_int else None)

    def _call(self, node: Node) -> Range:
        made = node.call_expr
        if made.function == "dyn":
            cost = ONE.plus(self.cost(made.args[0]))
            self._set(node, self._size(made.args[0]), self._entry(made.args[0]))
            return cost
        arguments, costs = [], []
        for arg in made.args:
            costs.append(self.cost(arg))
            arguments.append(self._argument(arg))
        overloads = self._overloads.get(node.id)
        if not overloads:
            return NOTHING
        cost, target = NOTHING, None
        if made.HasField("target"):
            cost = self.cost(made.target)
            target = self._argument(made.target, items=True)
        dearest, result = EMPTY, None
        for overload in self._kinds.fitting(overloads, made.args):
            call = Call(made.function, overload, target, arguments)
            found, size = self._called(node, call, costs)
            dearest = dearest.union(found)
            if size is not None:
                result = size if result is None else result.union(size)
            if overload in _INDEXES and arguments:
                entry = self._entry(made.args[0])
                result = None if entry is None else entry.value
                self._paths[node.id] = _then(self._path(made.args[0]), _INDEXES[overload])
            if result is None:
                result = self._size(node)
        self._set(node, result)
        return cost.plus(dearest)

    def _called(self, node: Node, call: Call, costs: Sequence[Range]) -> tuple[Range, Range | None]:
        args = node.call_expr.args
        match call.overload:
            case "logical_or" | "logical_and":
                return Range(costs[0].least, costs[0].plus(costs[1]).most), None
            case "conditional":
                one, two = self._entry(args[1]), self._entry(args[2])
                self._set(node, None, None if one is None else one.union(two))
                size = call.arguments[1].known.union(call.arguments[2].known)
                return costs[0].plus(costs[1].union(costs[2])), size
            case "add_string" | "add_bytes" | "add_list" if len(args) == 2:
                one, two = self._entry(args[1]), self._entry(args[0])
                self._set(node, None, None if two is None else two.union(one))
        cost, made = call_cost(call)
        for one_cost in costs:
            cost = cost.plus(one_cost)
        return cost, made

    # --- loops ---

    def _bind(self, node: Node, loop: Loop) -> Range:
        cost = self.cost(loop.over).plus(self.cost(loop.first))
        self._push_value(loop.accumulator, loop.first)
        cost = cost.plus(self.cost(loop.result))
        self._pop(loop.accumulator)
        self._set(node, self._size(loop.result), self._entry(loop.result))
        return cost

    def _push(self, name: str, local: _Local, kind: str) -> None:
        self._locals[name].append(local)
        self._kinds.declare(name, kind)

    def _pop(self, name: str) -> None:
        self._locals[name].pop()
        self._kinds.forget(name)

    def _push_value(self, name: str, value: Node) -> None:
        local = _Local(self._path(value), self._size(value), self._entry(value))
        self._push(name, local, self._kinds.of(value))

    def _push_variables(self, loop: Loop) -> None:
        entry, path = self._entry(loop.over), self._path(loop.over)
        kind = self._kinds.of(loop.over)
        inside = parameters(kind)
        is_list = head(kind) == "list" if entry is None else entry.is_list
        key = None if entry is None else entry.key
        value = None if entry is None else entry.value
        first, last = (inside[0], inside[-1]) if inside else (DYN, DYN)
        rows = [("@items", value, last)] if is_list else [("@keys", key, first)]
        if len(loop.variables) == 2 and is_list:
            rows = [("@indices", key, "int"), *rows]
        elif len(loop.variables) == 2:
            rows.append(("@values", value, last))
        for variable, (name, size, what) in zip(loop.variables, rows, strict=True):
            self._push(variable, _Local(_then(path, name), size), what)

    def _loop(self, node: Node, loop: Loop) -> Range:
        cost = self.cost(loop.over).plus(self.cost(loop.first))
        self._push_value(loop.accumulator, loop.first)
        self._push_variables(loop)
        turn = self.cost(loop.condition)
        turn = self.cost(loop.step).plus(turn)
        for variable in loop.variables:
            self._pop(variable)
        cost = cost.plus(self.cost(loop.result))
        self._pop(loop.accumulator)
        count = self._known(loop.over)
        cost = cost.plus(count.times(turn))
        match kind_of(loop.first):
            case "const_expr":
                self._set(node, self._size(loop.first))
            case "list_expr" | "struct_expr":
                self._set(node, count, self._entry(loop.step))
        return cost

    def _sort_by(self, node: Node) -> Range:
        """``list.sortBy(e, key)``, which is a loop within a binding."""
        expr = node.call_expr
        keys, keyed = self._loops.keys_of(node)
        cost = fixed(LIST).plus(self.cost(expr.target))
        self._push_value(INPUT, expr.target)
        cost = cost.plus(ONE).plus(self._loop(keys, keyed))
        self._pop(INPUT)
        of_keys = Argument(f"list<{self._kinds.of(expr.args[1])}>", self._size(keys))
        call = Call(SORTED_BY, "", None, [self._argument(expr.target), of_keys])
        found, size = call_cost(call)
        self._set(node, size)
        return cost.plus(found)


_INDEXES = {"index_list": "@items", "index_map": "@values"}


def _constant_size(node: Node) -> Range | None:
    match kind_of(node):
        case "const_expr":
            constant = node.const_expr
            match constant.WhichOneof("constant_kind"):
                case "string_value":
                    return fixed(len(constant.string_value))
                case "bytes_value":
                    return fixed(len(constant.bytes_value))
            return ONE
        case "list_expr":
            return fixed(len(node.list_expr.elements))
        case "struct_expr" if not node.struct_expr.message_name:
            return fixed(len(node.struct_expr.entries))
    return None


def _is_scalar(kind: str) -> bool:
    """Whether all values of a type are of one size."""
    while head(kind) == OPTIONAL:
        kind = parameters(kind)[0]
    return kind in _SCALARS


def estimated(checked: Any, kinds: Kinds, root: Sized) -> Range:
    """What an expression costs.

    Args:
        checked: its ``CheckedExpr``.
        kinds: its types.
        root: the size of ``self``.
    """
    return Estimator(checked, kinds, root).cost(checked.expr)
