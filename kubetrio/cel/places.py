"""One environment for all the rules of a schema.

Every place with rules has its own ``self``.  An environment of the engine takes milliseconds to
make, so one serves a whole schema: the variables of each place have names of their own, as long as
``self`` and ``oldSelf``, and stand in for those while an expression is checked.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kubetrio.cel.checking import OPTIONAL, type_text
from kubetrio.cel.costs import estimated
from kubetrio.cel.engine import engine
from kubetrio.cel.expressions import Checked, checked_as, checked_tree, new_environment, parse
from kubetrio.cel.inference import Kinds
from kubetrio.cel.macros import loop_variables, may_loop
from kubetrio.cel.messages import Descriptors
from kubetrio.cel.ranges import Range
from kubetrio.cel.sizes import Sized
from kubetrio.cel.syntax import names


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a schema.

    Args:
        kind: type of ``self`` there, in the engine's notation.
        optional_old: whether ``oldSelf`` may be an optional there.
    """

    kind: str
    optional_old: bool = False


@dataclass(frozen=True, slots=True)
class Estimated:
    """An expression that compiles, and its cost.

    Args:
        type: its type, in cel-go's notation.
        uses: ``oldSelf``, if it asks for it.
        cost: what it can cost.
    """

    type: str
    uses: frozenset[str]
    cost: Range


@dataclass(frozen=True, slots=True)
class _Source:
    """An expression that was parsed.

    Args:
        syntax: its ``ParsedExpr``.
        variant: its text with the names that the variables have here.
        env: where it can be checked.
        uses: ``oldSelf``, if it asks for it.
    """

    syntax: Any
    variant: str
    env: Any
    uses: frozenset[str]


TOGETHER = 64
"""Places that have one environment when few of them are asked about: it takes milliseconds."""


class Compiling:
    """Compiles the rules of a schema.

    Args:
        messages: types of objects.
        places: where there are rules.
        together: how many places have one environment; it is made for the first of them that is
            asked about, and takes the longer the more they are.
    """

    def __init__(
        self,
        messages: Mapping[str, Mapping[str, str]],
        places: Sequence[Place],
        together: int = sys.maxsize,
    ) -> None:
        self._pool, self._messages, self._places = Descriptors(messages), messages, places
        self._together = together
        self._environments: dict[tuple[int, tuple[str, ...]], Any] = {}

    def _environment(self, at: int, loops: tuple[str, ...]) -> Any:
        """The environment for a place.

        Args:
            at: the number of the place.
            loops: what the loops of an expression declare: mostly nothing.
        """
        first = at - at % self._together
        env = self._environments.get((first, loops))
        if env is None:
            cel = engine()
            found = dict.fromkeys(loops, cel.Type.DYN)
            optionals: dict[str, str] = {}
            for number in range(first, min(first + self._together, len(self._places))):
                place = self._places[number]
                found[_self(number)] = kind = cel.Type(place.kind)
                found[_old_self(number, optional=False)] = kind
                if place.optional_old:
                    optionals[_old_self(number, optional=True)] = f"{OPTIONAL}<{place.kind}>"
            env = new_environment(self._pool, found, optionals, patches=False)
            self._environments[first, loops] = env
        return env

    def check(self, source: str, at: int, *, optional_old: bool) -> Checked:
        """Compile an expression; what it uses tells of ``oldSelf``.

        Args:
            source: its text.
            at: the number of its place.
            optional_old: whether ``oldSelf`` is an optional.

        Raises:
            CompileError: it does not compile.
        """
        found = self._found(source, at, optional_old=optional_old)
        checked = checked_as(found.env, source, found.variant, found.syntax, reserved=True)
        return replace(checked, uses=found.uses)

    def estimate(self, source: str, at: int, size: Sized, *, optional_old: bool) -> Estimated:
        """Check an expression and estimate its cost.

        Args:
            source: its text.
            at: the number of its place.
            size: of ``self``.
            optional_old: whether ``oldSelf`` is an optional.

        Raises:
            CompileError: it does not compile.
        """
        found = self._found(source, at, optional_old=optional_old)
        _, checked = checked_tree(found.env, source, found.variant, found.syntax)
        kind = type_text(checked.type_map[checked.expr.id])
        own = self._places[at].kind
        kinds = Kinds(checked, self._messages, {_self(at): own, _old_self(at, optional=False): own})
        return Estimated(kind, found.uses, estimated(checked, kinds, size))

    def _found(self, source: str, at: int, *, optional_old: bool) -> _Source:
        syntax = parse(source)
        positions = syntax.source_info.positions
        instead = {"self": _self(at), "oldSelf": _old_self(at, optional=optional_old)}
        letters, uses_old = list(source), False
        for node in names(syntax.expr):
            name = node.ident_expr.name
            if name in instead:
                begin = positions[node.id]
                letters[begin : begin + len(name)] = instead[name]
                uses_old = uses_old or name == "oldSelf"
        variant = "".join(letters)
        loops = set(loop_variables(syntax.expr)) if may_loop(source) else ()
        env = self._environment(at, tuple(sorted(loops)))
        return _Source(syntax, variant, env, frozenset({"oldSelf"}) if uses_old else frozenset())


def _digits(number: int, width: int) -> str:
    """A number to the base 36, of a fixed width."""
    out = ""
    for _ in range(width):
        number, digit = divmod(number, 36)
        out = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + out
    return out


def _self(at: int) -> str:
    return f"S{_digits(at, 3)}"


def _old_self(at: int, *, optional: bool) -> str:
    return f"{'P' if optional else 'O'}{_digits(at, 6)}"
