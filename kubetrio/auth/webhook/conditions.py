"""Match conditions: expressions that say which questions a webhook is asked.

Source: docs "Authorization" (match conditions of AuthorizationConfiguration); KEP-3221.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kubetrio.cel.budget import ON_LOOP, Budget
from kubetrio.cel.expressions import REVIEW, CompileError, check, result_error
from kubetrio.cel.programs import Inputs, Program
from kubetrio.gotext.text import aggregate

Object = dict[str, Any]


class BadCondition(ValueError):
    """An expression cannot be used; the text is kube-apiserver's."""


class Matched(NamedTuple):
    """Whether all conditions hold.

    Args:
        matches: whether they do.
        error: why that cannot be told; empty when it can.
    """

    matches: bool
    error: str = ""


def compiled(source: str) -> Program:
    """An expression that runs.

    Raises:
        BadCondition: it does not compile, or gives no boolean.
        Missing: there is no engine (extra ``cel``).
    """
    try:
        checked = check(source, REVIEW)
    except CompileError as error:
        raise BadCondition(str(error)) from error
    if wrong := result_error(checked.type, ("bool",)):
        raise BadCondition(wrong)
    return Program(checked)


class Conditions:
    """The conditions of a webhook.

    Args:
        programs: expressions.
    """

    def __init__(self, programs: Sequence[Program]) -> None:
        self._programs = tuple(programs)

    def match(self, spec: Mapping[str, Any]) -> Matched:
        """Whether all hold: one that is false decides, else an error does.

        Args:
            spec: of the review that would be sent.
        """
        inputs = Inputs({"request": _whole(spec)}, budget=Budget(call=ON_LOOP))
        errors = []
        for program in self._programs:
            outcome = program.evaluate(inputs)
            if outcome.error:
                errors.append(
                    f"cel evaluation error: expression '{program.source}' resulted in error: "
                    f"{outcome.error}"
                )
            elif outcome.value is not True:
                return Matched(False)
        return Matched(not errors, aggregate(errors))


_RESOURCE = ("namespace", "verb", "group", "version", "resource", "subresource", "name")


def _whole(spec: Mapping[str, Any]) -> Object:
    """A spec with all its texts, also empty ones, so that expressions can ask for them."""
    request: Object = {
        "user": spec.get("user", ""),
        "groups": spec.get("groups", []),
        "uid": spec.get("uid", ""),
        "extra": spec.get("extra", {}),
    }
    if "resourceAttributes" in spec:
        about = spec["resourceAttributes"]
        request["resourceAttributes"] = {**dict.fromkeys(_RESOURCE, ""), **about}
    if "nonResourceAttributes" in spec:
        about = spec["nonResourceAttributes"]
        request["nonResourceAttributes"] = {"path": "", "verb": "", **about}
    return request
