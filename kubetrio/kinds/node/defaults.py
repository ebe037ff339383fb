"""Defaults of node.k8s.io."""

from __future__ import annotations

from kubetrio.kinds.common.defaulting import Amounts, Rules, within

TABLES: dict[str, Rules] = {
    "io.k8s.api.node.v1.RuntimeClass": (within("overhead", Amounts("podFixed")),),
}
