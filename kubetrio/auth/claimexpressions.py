"""Expressions about claims of tokens, and about the users that they become.

Source: docs "Authenticating" (claim mappings, claim validation rules, user validation rules).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kubetrio.cel.engine import NOT_INSTALLED, available

if TYPE_CHECKING:
    from kubetrio.cel.programs import Inputs, Program

_BOOL = "bool"


class ExpressionError(ValueError):
    """An expression does not compile, or failed; the text is kube-apiserver's."""


class EngineMissing(ValueError):
    """There are expressions and no engine for them; the text says what helps."""


class Expression:
    """An expression that compiles.

    Args:
        source: its text.
        about: ``claims`` or ``user``.
        boolean: whether it has to be true or false.

    Raises:
        ExpressionError: it does not compile.
        EngineMissing: there is no engine.
    """

    def __init__(self, source: str, about: str, *, boolean: bool = False) -> None:
        if not available():
            raise EngineMissing(NOT_INSTALLED)
        from kubetrio.cel.expressions import CLAIMS, USER, CompileError, check
        from kubetrio.cel.programs import Program

        try:
            checked = check(source, CLAIMS if about == "claims" else USER)
        except CompileError as error:
            raise ExpressionError(str(error)) from None
        if boolean and checked.type != _BOOL:
            raise ExpressionError(f"must evaluate to {_BOOL}")
        self.source = source
        self._program: Program = Program(checked)

    def evaluate(self, inputs: Inputs) -> Any:
        """The value of the expression.

        Raises:
            ExpressionError: it failed.
        """
        outcome = self._program.evaluate(inputs)
        if outcome.error:
            raise ExpressionError(f"expression '{self.source}' resulted in error: {outcome.error}")
        return outcome.value

    def selects(self, member: str) -> bool:
        """Whether it asks for a member of ``claims`` by name."""
        return asks_for(self.source, "claims", member)


def asks_for(source: str, name: str, member: str) -> bool:
    """Whether an expression selects a member of a variable: ``name.member``.

    Args:
        source: an expression that compiles.
        name: of the variable.
        member: its member.
    """
    from kubetrio.cel.expressions import parse
    from kubetrio.cel.syntax import kind_of, walk

    for node in walk(parse(source).expr):
        if kind_of(node) == "select_expr":
            operand, found = node.select_expr.operand, node.select_expr.field
        elif kind_of(node) == "call_expr" and node.call_expr.function == "_?._":
            operand, key = node.call_expr.args
            found = key.const_expr.string_value
        else:
            continue
        if found == member and kind_of(operand) == "ident_expr" and operand.ident_expr.name == name:
            return True
    return False


def inputs_of(about: str, value: Mapping[str, Any]) -> Inputs:
    """What expressions look at, for several of them.

    Args:
        about: ``claims`` or ``user``.
        value: JSON; numbers of claims are fractions to Go, whatever they look like.
    """
    from kubetrio.cel.budget import ON_LOOP, Budget
    from kubetrio.cel.programs import Inputs

    return Inputs({about: _fractions(value)}, budget=Budget(call=ON_LOOP))


def _fractions(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _fractions(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_fractions(item) for item in value]
    return float(value) if type(value) is int else value


def texts_of(value: Any) -> tuple[str, ...]:
    """A text or texts, without empty ones; null is none.

    Raises:
        ExpressionError: it is something else.
    """
    if value is None:
        return ()
    texts: Sequence[Any] = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
        raise ExpressionError("expression must return a string or a list of strings")
    return tuple(one for one in texts if one)
