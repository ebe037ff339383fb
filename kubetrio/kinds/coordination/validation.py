"""Leases.

Source: "Leases" in the Kubernetes documentation; KEP-4355 (coordinated leader election).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.kinds.common.checks import (
    Causes,
    Validation,
    minimum,
    not_negative,
    row,
    table,
)
from kubetrio.machinery.fielderrors import forbidden, invalid, not_supported
from kubetrio.machinery.names_validation import qualified_name

_STRATEGY = "OldestEmulationVersion"


def _strategy(value: str, path: str, out: Causes) -> None:
    # kube-apiserver repeats the member's name in the path
    where = f"{path}.strategy"
    if "/" in value:
        out.extend(invalid(where, value, text) for text in qualified_name(value))
    elif value != _STRATEGY:
        out.append(not_supported(where, value, [_STRATEGY]))


def _preferred(spec: Mapping[str, Any], path: str, out: Causes) -> None:
    if spec.get("preferredHolder") and not spec.get("strategy"):
        detail = "may only be specified if `strategy` is defined"
        out.append(forbidden(f"{path}.preferredHolder", detail))


_SPEC = table(
    row("leaseDurationSeconds", minimum(1, "must be greater than 0")),
    row("leaseTransitions", not_negative),
    row("strategy", _strategy),
    _preferred,
)

LEASES = Validation(create=table(row("spec", _SPEC)))
