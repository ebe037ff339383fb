"""Affinity to nodes that a profile adds to all its pods: what is understood of it.

Source: docs "Assigning Pods to Nodes" (node affinity per scheduling profile);
k8s.io/component-helpers/scheduling/corev1/nodeaffinity.
"""

from __future__ import annotations

from typing import Any

from kubetrio.controllers.podcontrol.nodeselector import PREFERRED, REQUIRED
from kubetrio.controllers.scheduler.reading import Members
from kubetrio.machinery.fielderrors import Named, invalid, not_supported
from kubetrio.machinery.names_validation import label_value, qualified_name

Object = dict[str, Any]

_SET, _PRESENCE, _ORDER = ("In", "NotIn"), ("Exists", "DoesNotExist"), ("Gt", "Lt")
_COUNTS = {
    **dict.fromkeys(_SET, "for 'in', 'notin' operators, values set can't be empty"),
    **dict.fromkeys(_PRESENCE, "values set must be empty for exists and does not exist"),
    **dict.fromkeys(_ORDER, "for 'Gt', 'Lt' operators, exactly one value is required"),
}
_NO_INTEGER = "for 'Gt', 'Lt' operators, the value must be an integer"


def added_affinity(affinity: Members) -> Object | None:
    """Read it; what makes no sense is noted.

    Args:
        affinity: a NodeAffinity, or nothing.

    Raises:
        ConfigurationError: it has members of other types or names.
    """
    if not affinity.there:
        return None
    added: Object = {}
    required = affinity.member(REQUIRED)
    if required.there:
        # The path of a term is told in full, that of a preference is not: kube-scheduler's.
        terms = [_term(one, one.path) for one in required.each("nodeSelectorTerms")]
        required.end()
        added[REQUIRED] = {"nodeSelectorTerms": terms}
    rows = []
    for one in affinity.each(PREFERRED):
        weight, preference = one.whole("weight", 0), one.member("preference")
        term = _term(preference, one.path if weight else "")
        one.end()
        rows.append({"weight": weight, "preference": term})
    affinity.end()
    return {**added, PREFERRED: rows} if rows else added


def _term(term: Members, path: str) -> Object:
    """Read a term.

    Args:
        term: the term.
        path: under which problems are told; empty for none of them.
    """
    parsed_term: Object = {}
    for name in ("matchExpressions", "matchFields"):
        for number, one in enumerate(term.each(name)):
            row: Object = {
                "key": one.text("key"), "operator": one.text("operator"),
                "values": one.texts("values"),
            }  # fmt: skip
            one.end()
            if path:
                check = _check_expression if name == "matchExpressions" else _check_field
                check(row, f"{path}.{name}[{number}]", one)
            parsed_term.setdefault(name, []).append(row)
    term.end()
    return parsed_term


def _check_expression(row: Object, path: str, members: Members) -> None:
    key, operator, values = row["key"], row["operator"], row["values"]
    if operator not in _COUNTS:
        members.say(not_supported(f"{path}.operator", Named(operator), sorted(_COUNTS)))
        return
    for text in qualified_name(key):
        members.say(invalid(f"{path}.key", key, text))
    good = bool(values) if operator in _SET else len(values) == (operator in _ORDER)
    if not good:
        members.say(invalid(f"{path}.values", values or None, _COUNTS[operator]))
    for number, value in enumerate(values):
        where = f"{path}.values[{number}]"
        if operator in _ORDER and not _integer(value):
            members.say(invalid(where, value, _NO_INTEGER))
        for text in label_value(value):
            members.say(invalid(where, value, text))


def _integer(text: str) -> bool:
    try:
        return -(1 << 63) <= int(text) < 1 << 63
    except ValueError:
        return False


def _check_field(row: Object, path: str, members: Members) -> None:
    operator, values = row["operator"], row["values"]
    if operator not in _SET:
        members.say(not_supported(f"{path}.operator", Named(operator), _SET))
    elif len(values) != 1:
        members.say(invalid(f"{path}.values", values or None, "must have one element"))
