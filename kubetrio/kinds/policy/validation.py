"""Disruption budgets.

Source: "Specifying a Disruption Budget for your Application" in the Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.kinds.common.checks import (
    NOT_NEGATIVE,
    Causes,
    Json,
    Validation,
    go_struct,
    member,
    one_of,
    row,
    table,
)
from kubetrio.kinds.common.formats import at_most_hundred_percent, positive_or_percent
from kubetrio.kinds.common.selectors import label_selector
from kubetrio.kinds.common.shared_checks import conditions
from kubetrio.machinery.fielderrors import invalid

_SHOWN = go_struct(
    MinAvailable=("minAvailable", None),
    Selector=("selector", None),
    MaxUnavailable=("maxUnavailable", None),
    UnhealthyPodEvictionPolicy=("unhealthyPodEvictionPolicy", None),
)
_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def _not_both(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        detail = "minAvailable and maxUnavailable cannot be both set"
        out.append(invalid(path, _SHOWN(spec), detail))


def _budget(value: Any, path: str, out: Causes) -> None:
    positive_or_percent(value, path, out)
    at_most_hundred_percent(value, path, out)


_SPEC = table(
    _not_both,
    row("minAvailable", _budget),
    row("maxUnavailable", _budget),
    row("unhealthyPodEvictionPolicy", one_of("AlwaysAllow", "IfHealthyBudget")),
    row("selector", label_selector),
)


def _status(new: Json, _: Json, out: Causes) -> None:
    status = member(new, "status")
    conditions(status.get("conditions") or (), "status.conditions", out)
    for name in _COUNTS:
        number = status.get(name) or 0
        if number < 0:
            out.append(invalid(f"status.{name}", number, NOT_NEGATIVE))


PODDISRUPTIONBUDGETS = Validation(
    create=table(row("spec", _SPEC)),
    subresources={"status": _status},
)
