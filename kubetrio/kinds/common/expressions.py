"""The compiler of CEL expressions in built-in kinds.

Source: docs "Validating Admission Policy", "Mutating Admission Policy", "Dynamic Admission Control"
(match conditions), "Dynamic Resource Allocation" (selectors).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from kubetrio.cel.engine import NOT_INSTALLED, available
from kubetrio.cel.expressions import (
    DEVICE,
    OBJECT_TYPE,
    PATCH_TYPE,
    CompileError,
    Scope,
    admission_scope,
    check,
    result_error,
)
from kubetrio.kinds.common.shared_checks import Expression

_BOOL, _STRING = ("bool",), ("string",)
_RESULTS = {
    "matchCondition": _BOOL,
    "validation": _BOOL,
    "message": _STRING,
    "auditAnnotation": ("string", "null_type"),
    "variable": (),
    "jsonPatch": (f"list({PATCH_TYPE})",),
    "applyConfiguration": (OBJECT_TYPE,),
}
"""Types that expressions may have, by purpose; none for any."""

_PATCHES = frozenset({"jsonPatch", "applyConfiguration"})
_REMEMBERED = 256  # scopes with variables, each some kilobytes


@lru_cache(maxsize=_REMEMBERED)
def _scope(
    variables: tuple[tuple[str, str], ...],
    *,
    params: bool,
    authorizer: bool,
    patches: bool,
    composed: bool,
) -> Scope:
    """What an expression sees; variables that do not compile are told of where they are."""
    if not variables:
        return admission_scope(
            params=params, authorizer=authorizer, composed=composed, patches=patches
        )
    scope = _scope(
        variables[:-1], params=params, authorizer=authorizer, patches=patches, composed=composed
    )
    name, source = variables[-1]
    try:
        return scope.having(name, check(source, scope))
    except CompileError:
        return scope


def compile_expression(expression: Expression) -> Sequence[str]:
    """What is wrong with an expression; a `Compile`.

    Args:
        expression: the expression.
    """
    if not available():
        # What is stored was compiled by a server that could; else nothing would ever change again.
        return () if expression.stored else (NOT_INSTALLED,)
    if expression.purpose == "device":
        return _device(expression.text)
    scope = _scope(
        expression.variables,
        params=expression.params,
        authorizer=expression.authorizer,
        patches=expression.purpose in _PATCHES,
        composed=expression.purpose != "matchCondition",
    )
    try:
        checked = check(expression.text, scope)
    except CompileError as error:
        return (str(error),)
    wrong = result_error(checked.type, _RESULTS[expression.purpose])
    return (wrong,) if wrong else ()


def _device(text: str) -> Sequence[str]:
    try:
        checked = check(text, DEVICE)
    except CompileError as error:
        return (str(error),)
    if checked.type not in ("bool", "dyn"):
        return (f"must evaluate to bool or the unknown type, not {checked.type}",)
    return ()
