"""Defaults of node.k8s.io."""

from __future__ import annotations

from kubetrio.kinds.common.defaulting import Amounts, Rules, within

RUNTIMECLASSES: Rules = (within("overhead", Amounts("podFixed")),)
