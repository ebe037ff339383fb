"""Names of members that are no identifiers, as expressions write them: ``a__dot__b`` for ``a.b``.

Source: docs "Common Expression Language in Kubernetes" (escaping); KEP-2876.
"""

from __future__ import annotations

import re

from kubetrio.cel.syntax import Node, call, kind_of, walk

NO_OVERLOAD = "kubernetes_noOverload"
"""A function that fails as a call does that no function takes."""

_IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = frozenset(
    {"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function"}
    | {"if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while"}
)
_ESCAPES = (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__"))
_BACK = {escape[2:-2]: text for text, escape in _ESCAPES}
_escaped_part = re.compile(r"__[^_]+__")
_INDEXING = frozenset({"_[_]", "_[?_]", "_?._"})


def escaped(name: str) -> str:
    """The name of a member in expressions, empty when it has none."""
    if name in _RESERVED:
        return f"__{name}__"
    if "__" not in name and _IDENTIFIER.fullmatch(name):
        return name
    for text, replacement in _ESCAPES:
        name = name.replace(text, replacement)
    return name if _IDENTIFIER.fullmatch(name) else ""


def is_reserved(name: str) -> bool:
    """Whether a name is a word of the language.

    A member that is called so has two names in rules: ``namespace`` and ``__namespace__``.
    """
    return name in _RESERVED


def without_escape(name: str) -> str:
    """The word of the language that a name stands for; itself where it is none such."""
    whole = name[2:-2]
    return whole if whole in _RESERVED and name == f"__{whole}__" else name


def unescaped(name: str) -> str:
    """The member that a name in an expression means; itself where that is no escape."""
    if "__" not in name:
        return name
    parts = _escaped_part.findall(name)
    whole = name[2:-2]
    if parts == [name] and whole in _RESERVED:
        return whole
    if any(part[2:-2] not in _BACK for part in parts):
        return name
    return _escaped_part.sub(lambda found: _BACK[found[0][2:-2]], name)


def without_membership(tree: Node, name: str) -> None:
    """Have ``x in NAME`` and the size of it fail: claims are a map that only tells of one member.

    Args:
        tree: an expression; changed.
        name: of the variable.
    """
    for node in walk(tree):
        expr = node.call_expr
        if kind_of(node) != "call_expr" or expr.function not in ("@in", "size"):
            continue
        looked_at = expr.args[-1] if expr.args else expr.target
        if looked_at.ident_expr.name == name:
            node.CopyFrom(call(NO_OVERLOAD))


def unescape_members(tree: Node) -> None:
    """Have an expression ask for members by the names they have.

    Args:
        tree: the expression; changed.
    """
    for node in walk(tree):
        kind = kind_of(node)
        if kind == "select_expr":
            node.select_expr.field = unescaped(node.select_expr.field)
        elif kind == "call_expr" and node.call_expr.function in _INDEXING:
            key = node.call_expr.args[-1]
            if kind_of(key) == "const_expr" and key.const_expr.string_value:
                key.const_expr.string_value = unescaped(key.const_expr.string_value)
