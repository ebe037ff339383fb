"""Formats that several printers share: ages, labels, selectors, shortened lists.

Objects are read leniently: a bookmark of a watch is an object with a resourceVersion and nothing
else, and prints as the zero value of its type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from kubetrio.kinds.common.ages import Age, Passed
from kubetrio.schema.printing import Json

NONE = "<none>"
UNSET = "<unset>"
UNKNOWN = "<unknown>"
INVALID = "<invalid>"

MINUTE, HOUR, DAY = 60, 3600, 86400
YEAR = 365 * DAY
# Go's zero time in seconds since the epoch: 0001-01-01T00:00:00Z
ZERO_TIME = -62135596800.0


def field(obj: Any, *path: str) -> Any:
    """The value at a path of member names, or None."""
    for name in path:
        if not isinstance(obj, Mapping):
            return None
        obj = obj.get(name)
    return obj


def text(obj: Any, *path: str) -> str:
    """The string at a path, or an empty one."""
    value = field(obj, *path)
    return value if isinstance(value, str) else ""


def number(obj: Any, *path: str) -> int:
    """The integer at a path, or 0."""
    value = field(obj, *path)
    return value if isinstance(value, int) else 0


def items(obj: Any, *path: str) -> Sequence[Any]:
    """The list at a path, or an empty one."""
    value = field(obj, *path)
    return value if isinstance(value, list) else ()


def name(obj: Json) -> str:
    """Name of an object."""
    return text(obj, "metadata", "name")


def deleting(obj: Json) -> bool:
    """Whether deletion of an object has begun."""
    return bool(field(obj, "metadata", "deletionTimestamp"))


def _unit_pair(total: int, unit: int, small: int, letters: str) -> str:
    """A length in a unit and, unless it is zero, the rest in a smaller one."""
    count, rest = divmod(total, unit)
    rest //= small
    return f"{count}{letters[0]}{rest}{letters[1]}" if rest else f"{count}{letters[0]}"


STEPS = ((10 * MINUTE, 1), (8 * HOUR, MINUTE), (8 * DAY, HOUR), (8 * YEAR, DAY))
"""Up to which length the text of one changes with which."""


def duration(seconds: float) -> str:
    """A length of time for people: two units at most, the precision falling with the length.

    Args:
        seconds: length in seconds; fractions are cut, and up to a second in the future is now.
    """
    text = _length(int(seconds))
    return Age(text, seconds.since) if type(seconds) is Passed else text


def _length(whole: int) -> str:
    if whole < -1:
        return INVALID
    if whole < 2 * MINUTE:
        return f"{max(whole, 0)}s"
    if whole < 10 * MINUTE:
        return _unit_pair(whole, MINUTE, 1, "ms")
    if whole < 3 * HOUR:
        return f"{whole // MINUTE}m"
    if whole < 8 * HOUR:
        return _unit_pair(whole, HOUR, MINUTE, "hm")
    if whole < 2 * DAY:
        return f"{whole // HOUR}h"
    if whole < 8 * DAY:
        return _unit_pair(whole, DAY, HOUR, "dh")
    if whole < 2 * YEAR:
        return f"{whole // DAY}d"
    if whole < 8 * YEAR:
        return _unit_pair(whole, YEAR, DAY, "yd")
    return f"{whole // YEAR}y"


def changes_after(seconds: float) -> float:
    """How long `duration` keeps its text for a length that grows, in seconds.

    Args:
        seconds: the length; one that is not over yet is taken for one that changes at once.
    """
    if seconds < 0:
        return 0.0
    for below, step in STEPS:
        if seconds < below:
            return step - seconds % step
    return YEAR - seconds % YEAR


def epoch(timestamp: Any) -> float | None:
    """Seconds since the epoch of a stored RFC 3339 text; None if absent or Go's zero time."""
    if not isinstance(timestamp, str):
        return None
    try:
        seconds = datetime.fromisoformat(timestamp).timestamp()
    except ValueError:
        return None
    return None if seconds == ZERO_TIME else seconds


def since(timestamp: Any, now: float) -> str:
    """Time passed since a stored timestamp.

    Args:
        timestamp: RFC 3339 text, or None.
        now: seconds since the epoch.
    """
    then = epoch(timestamp)
    return UNKNOWN if then is None else duration(now - then)


def age(obj: Json, now: float) -> str:
    """Age of an object."""
    return since(field(obj, "metadata", "creationTimestamp"), now)


def labels(pairs: Any) -> str:
    """A map of labels as ``a=b,c=d``, or ``<none>``; Go sorts these texts, not the keys."""
    if not isinstance(pairs, Mapping) or not pairs:
        return NONE
    return ",".join(sorted(f"{key}={value}" for key, value in pairs.items()))


def _requirement(expression: Json) -> str | None:
    """One ``matchExpressions`` entry as text; None if it is invalid."""
    key, values = text(expression, "key"), sorted(items(expression, "values"))
    match text(expression, "operator"):
        case "In" if values:
            return f"{key} in ({','.join(values)})"
        case "NotIn" if values:
            return f"{key} notin ({','.join(values)})"
        case "Exists" if not values:
            return key
        case "DoesNotExist" if not values:
            return f"!{key}"
    return None


def selector(label_selector: Any) -> str | None:
    """A ``LabelSelector`` in the syntax of query parameters, sorted by key; None if invalid.

    Both no selector (nothing matches) and an empty one (everything does) are empty texts.
    """
    requirements = [(key, f"{key}={value}") for key, value in
             (field(label_selector, "matchLabels") or {}).items()]  # fmt: skip
    for expression in items(label_selector, "matchExpressions"):
        requirement = _requirement(expression)
        if requirement is None:
            return None
        requirements.append((text(expression, "key"), requirement))
    requirements.sort(key=lambda pair: pair[0])
    return ",".join(requirement for _, requirement in requirements)


def selector_cell(label_selector: Any) -> str:
    """A ``LabelSelector`` as a cell: ``<none>`` if empty, ``<error>`` if invalid."""
    printed = selector(label_selector)
    return "<error>" if printed is None else printed or NONE


def containers(pod_spec: Any) -> list[Any]:
    """The cells ``Containers`` and ``Images`` of a pod specification."""
    specs = items(pod_spec, "containers")
    return [
        ",".join(text(container, "name") for container in specs),
        ",".join(text(container, "image") for container in specs),
    ]


def shortened(words: Iterable[str], limit: int = 3) -> str:
    """The first few of a list and how many are left out; ``<unset>`` if there is nothing."""
    shown = list(words)
    if len(shown) > limit:
        return f"{','.join(shown[:limit])} + {len(shown) - limit} more..."
    return ",".join(shown) or UNSET


def quantity(value: Any) -> str:
    """A resource quantity as stored, which is canonical; an absent one is zero."""
    return "0" if value is None else str(value)


def optional(value: Any, default: str = UNSET) -> str:
    """An optional string, or what stands for its absence; an empty string is present."""
    return default if value is None else str(value)


def condition(obj: Json, kind: str) -> Json | None:
    """The first condition of a type in ``status.conditions``, or None."""
    for entry in items(obj, "status", "conditions"):
        if text(entry, "type") == kind:
            entry_of_type: Json = entry
            return entry_of_type
    return None


def load_balancer(obj: Json) -> str:
    """Addresses of a load balancer, sorted, each once: an IP, or else a host name."""
    addresses = {
        text(ingress, "ip") or text(ingress, "hostname")
        for ingress in items(obj, "status", "loadBalancer", "ingress")
    }
    return ",".join(sorted(addresses - {""}))


def pod_spec_of(obj: Json) -> Any:
    """The pod spec of a workload's template."""
    return field(obj, "spec", "template", "spec")


def replicas_of(obj: Json, now: float) -> list[Any]:
    """Name, Desired, Current, Ready, Age, Containers, Images."""
    status = obj.get("status")
    return [
        name(obj),
        number(obj, "spec", "replicas"),
        number(status, "replicas"),
        number(status, "readyReplicas"),
        age(obj, now),
        *containers(pod_spec_of(obj)),
    ]


def go_selector(selector: Json) -> str:
    """A ``LabelSelector`` as Go prints the structure, which is what a column or an event shows."""
    labels = field(selector, "matchLabels") or {}
    pairs = "".join(f"{key}: {labels[key]}," for key in sorted(labels))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{text(each, 'key')},Operator:{text(each, 'operator')},"
        f"Values:[{' '.join(items(each, 'values'))}],}},"
        for each in items(selector, "matchExpressions")
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
