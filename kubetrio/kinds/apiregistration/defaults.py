"""Defaults of apiregistration.k8s.io."""

from __future__ import annotations

from kubetrio.kinds.common.defaulting import (
    WEBHOOK_SERVICE,
    Rules,
    within,
)

APISERVICES: Rules = (within("spec", WEBHOOK_SERVICE),)
