"""Defaults of apiregistration.k8s.io."""

from __future__ import annotations

from kubetrio.kinds.common.defaulting import (
    WEBHOOK_SERVICE,
    Rules,
    within,
)

TABLES: dict[str, Rules] = {
    "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService": (
        within("spec", WEBHOOK_SERVICE),
    ),
}
