"""Runtime classes.

Source: "Runtime Class" and "Pod Overhead" in the Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.machinery.names_validation import dns1123_label
from kubetrio.resources.validation.library import (
    Causes,
    KindRules,
    Tables,
    immutable,
    matches,
    row,
    table,
)
from kubetrio.resources.validation.quantities import container_resource_name, requirements
from kubetrio.resources.validation.scheduling import tolerations
from kubetrio.resources.validation.selectors import label_map


def _overhead(value: Mapping[str, Any], path: str, out: Causes) -> None:
    # the amounts are checked as limits, which shows in the paths
    limits = {"limits": value.get("podFixed") or {}}
    requirements(limits, path, out, name_check=container_resource_name)


_CREATE = table(
    row("handler", matches(dns1123_label), missing=""),
    row("overhead", _overhead),
    row(
        "scheduling",
        table(row("nodeSelector", label_map), row("tolerations", tolerations)),
    ),
)

TABLES: Tables = {
    ("node.k8s.io", "runtimeclasses"): KindRules(
        create=_CREATE, update=immutable("handler"), revalidate=False
    ),
}
