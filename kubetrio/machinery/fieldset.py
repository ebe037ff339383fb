"""Sets of fields: who owns what, as a set algebra over paths.

A set is held as it is written in ``fieldsV1``: nested dicts keyed by steps (``fieldpath``).  A node
says two things about its own path: whether the path is in the set, and which paths below it are.

========================  ===========  =====================
node                      path in set  something below in set
========================  ===========  =====================
``{}``                    yes          no
``{".": {}, "f:a": {}}``  yes          yes
``{"f:a": {}}``           no           yes
========================  ===========  =====================

That is a normal form: ``{".": {}}`` alone is written ``{}``, and a path of which neither is true
has no node.  The root is different: its path is never in the set, and ``{}`` is the empty set.
Nodes are never changed once they are in a set, so that sets share them.

Sources: the API reference of ``FieldsV1``; KEP-555.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from kubetrio.machinery import fieldpath
from kubetrio.machinery.fieldpath import Path
from kubetrio.machinery.remember import remembered
from kubetrio.machinery.sorting import KEYS_AT_ONCE, sorted_in_steps

Node = dict[str, "Node"]

SELF = "."
LEAF: Node = {}
"""A node whose path is in the set, and nothing below it.  It must never be changed."""

# A set of this size (bytes of JSON) is parsed again rather than kept: caches are bounded.
_CACHED_TEXT_LIMIT = 4096


class FieldSet:
    """An immutable set of paths.

    Args:
        root: nodes below the root, in normal form; the set takes it over.

    Attributes:
        fits: a type that the set is known to be in terms of, see `ownership.reconcile`.
    """

    __slots__ = ("_text", "fits", "root")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, root: Node) -> None:
        self.root = root
        self.fits: object = None
        self._text = b""  # JSON in canonical form, where it will be written often

    @classmethod
    def of(cls, *paths: Path) -> FieldSet:
        """The set of these paths; the path of the root is not a member of any set."""
        root: Node = {}
        for path in paths:
            tree: Node = LEAF
            for step in reversed(path):
                tree = {step: tree}
            root = _union(root, tree)
        return cls(root)

    @classmethod
    def from_fields_v1(cls, fields: Any) -> FieldSet:
        """Parse a ``fieldsV1`` member; equal texts give the same set.

        Args:
            fields: parsed JSON; null is the empty set.

        Raises:
            ValueError: it is not made of objects, a step is malformed, or it is nested deeper than
                ``MAX_DEPTH``.
        """
        if fields is None or fields == {}:
            return EMPTY
        try:
            text = orjson.dumps(fields)
        except TypeError:  # numbers that orjson does not print, or nested deeper than it goes
            return cls(_parse_root(fields))
        if len(text) > _CACHED_TEXT_LIMIT:
            return cls(_parse_root(fields))
        return _parsed(bytes(memoryview(text)))

    def to_fields_v1(self) -> dict[str, Any]:
        """The ``fieldsV1`` member: a new dict, with members in canonical order."""
        if self._text:
            fields: dict[str, Any] = orjson.loads(self._text)
            return fields
        return _write(self.root)

    def kept(self) -> FieldSet:
        """This set, prepared to be written often."""
        # In as many bytes as it has: what orjson 3.13 prints takes four kilobytes at least.
        self._text = bytes(memoryview(orjson.dumps(_write(self.root))))
        return self

    def __bool__(self) -> bool:
        return bool(self.root)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldSet) and self.root == other.root

    def __repr__(self) -> str:
        return f"FieldSet({', '.join(map(fieldpath.path_text, self))})"

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Path]:
        """All paths: those of a node before those below it, both in canonical order."""
        return _paths(self.root, ())

    def __contains__(self, path: Path) -> bool:
        node: Node = self.root
        for step in path[:-1]:
            child = node.get(step)
            if child is None:
                return False
            node = child
        last = node.get(path[-1]) if path else None
        return last is not None and is_member(last)

    def below(self, step: str) -> FieldSet:
        """The members under one step, as paths from there."""
        node = self.root.get(step)
        if not node:
            return EMPTY
        return FieldSet(without_self(node))

    def union(self, other: FieldSet) -> FieldSet:
        """Paths in either."""
        if not other.root or self.root is other.root:
            return self
        if not self.root:
            return other
        root = _union(self.root, other.root)
        return self if root is self.root else FieldSet(root)

    def intersection(self, other: FieldSet) -> FieldSet:
        """Paths in both."""
        if self.root is other.root:
            return self
        return FieldSet(_intersection(self.root, other.root))

    def difference(self, other: FieldSet) -> FieldSet:
        """Paths of this set that are not in the other; what is below them stays."""
        if not other.root or not self.root:
            return self
        root = _difference(self.root, other.root)
        return self if root is self.root else FieldSet(root)

    def recursive_difference(self, other: FieldSet) -> FieldSet:
        """Paths of this set that are neither in the other nor below one of its paths."""
        if not other.root or not self.root:
            return self
        root = _recursive_difference(self.root, other.root)
        return self if root is self.root else FieldSet(root)

    def leaves(self) -> FieldSet:
        """Paths of this set that have none of its paths below them."""
        return FieldSet(_leaves(self.root))


def is_member(node: Node) -> bool:
    """Whether the path of a node is in the set."""
    return not node or SELF in node


def make_node(member: bool, below: Node) -> Node | None:
    """A node in normal form, or None when there is nothing to say.

    Args:
        member: whether its path is in the set.
        below: nodes below it, without the one that says so; it is taken over.
    """
    if not below:
        return LEAF if member else None
    return {SELF: LEAF, **below} if member else below


def _normal(node: Node) -> Node | None:
    """A computed inner node in normal form: here ``{}`` means that nothing is left."""
    if not node:
        return None
    if len(node) == 1 and SELF in node:
        return LEAF
    return node


def _union(left: Node, right: Node) -> Node:
    """With nothing new the left node itself, so that unchanged parts stay shared."""
    out: Node | None = None
    for step, theirs in right.items():
        ours = left.get(step)
        both: Node
        if ours is None:
            both = theirs
        elif ours is theirs:
            continue
        elif not ours:
            both = ours if not theirs else _with_self(theirs)
        elif not theirs:
            both = _with_self(ours)
        else:
            both = _union(ours, theirs)
        if both is not ours:
            if out is None:
                out = dict(left)
            out[step] = both
    return left if out is None else out


def without_self(node: Node) -> Node:
    """What a node says of the paths below it."""
    return {step: child for step, child in node.items() if step != SELF}


def _with_self(node: Node) -> Node:
    """A node that has something below it, with its path in the set."""
    return node if SELF in node else {SELF: LEAF, **node}


def _intersection(left: Node, right: Node) -> Node:
    out: Node = {}
    for step, ours in left.items():
        theirs = right.get(step)
        if theirs is None:
            continue
        if ours is theirs:
            out[step] = ours
        elif ours and theirs:
            both = _normal(_intersection(ours, theirs))
            if both is not None:
                out[step] = both
        elif is_member(ours) and is_member(theirs):
            out[step] = LEAF
    return out


def _difference(left: Node, right: Node) -> Node:
    """Without a difference the left node itself, so that unchanged parts stay shared."""
    out: Node | None = None
    for step in left.keys() & right.keys():
        ours, theirs = left[step], right[step]
        rest: Node | None
        if not ours:
            rest = None if is_member(theirs) else ours
        elif not theirs:
            rest = without_self(ours) if SELF in ours else ours
        else:
            rest = _normal(_difference(ours, theirs))
        if rest is not ours:
            out = _replaced(left if out is None else out, out is None, step, rest)
    return left if out is None else out


def _recursive_difference(left: Node, right: Node) -> Node:
    out: Node | None = None
    for step in left.keys() & right.keys():
        ours, theirs = left[step], right[step]
        rest: Node | None
        if is_member(theirs):
            rest = None
        elif not ours:
            continue
        else:
            rest = _normal(_recursive_difference(ours, theirs))
        if rest is not ours:
            out = _replaced(left if out is None else out, out is None, step, rest)
    return left if out is None else out


def _replaced(node: Node, copy: bool, step: str, child: Node | None) -> Node:
    out = dict(node) if copy else node
    if child is None:
        del out[step]
    else:
        out[step] = child
    return out


def _leaves(node: Node) -> Node:
    return {
        step: LEAF if not child else _leaves(child) for step, child in node.items() if step != SELF
    }


def _paths(node: Node, prefix: Path) -> Iterator[Path]:
    steps = fieldpath.in_order(step for step in node if step != SELF)
    for step in steps:
        if is_member(node[step]):
            yield (*prefix, step)
    for step in steps:
        if node[step]:
            yield from _paths(node[step], (*prefix, step))


def _write(node: Node) -> dict[str, Any]:
    written: dict[str, Any] = {}
    if len(node) < 2:
        for step, child in node.items():
            written[step] = _write(child) if child else {}
        return written
    steps = sorted(node) if len(node) <= KEYS_AT_ONCE else sorted_in_steps(node)
    if steps[-1][0] != "f":
        steps = fieldpath.in_order(step for step in steps if step != SELF)
        if SELF in node:
            steps.insert(0, SELF)
    for step in steps:
        child = node[step]
        written[step] = _write(child) if child else {}
    return written


@remembered(512, 8192)
def _parsed(text: bytes) -> FieldSet:
    return FieldSet(_parse_root(orjson.loads(text))).kept()


def _parse_root(fields: Any) -> Node:
    member, below = _parse(fields, MAX_DEPTH)
    del member  # the path of the root is in no set
    return below


MAX_DEPTH = 150
"""Steps of a path that are read; the object must be printable in every representation."""


def _parse(fields: Any, depth: int) -> tuple[bool, Node]:
    if not isinstance(fields, dict):
        raise ValueError("fieldsV1 is not made of objects")
    if not depth:
        raise ValueError("fieldsV1 is nested too deep")
    member = not fields
    below: Node = {}
    for text, inner in fields.items():
        if text == SELF:
            member = True
            continue
        try:
            step = fieldpath.parse(text)
        except fieldpath.UnknownStep:
            continue
        node = make_node(*_parse(inner, depth - 1))
        if node is None:
            continue
        twin = below.get(step)
        below[step] = node if twin is None else _union({step: twin}, {step: node})[step]
    return member, below


EMPTY: FieldSet = FieldSet({})
"""The set without a path."""
