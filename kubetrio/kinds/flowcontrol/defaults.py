"""Defaults of flowcontrol.apiserver.k8s.io."""

from __future__ import annotations

from kubetrio.kinds.common.defaulting import Default, Rules, within

FLOWSCHEMAS: Rules = (within("spec", Default("matchingPrecedence", 1000)),)
PRIORITYLEVELCONFIGURATIONS: Rules = (
    within(
        "spec.limited",
        Default("nominalConcurrencyShares", 30),
        Default("lendablePercent", 0),
        within(
            "limitResponse.queuing",
            Default("queues", 64),
            Default("handSize", 8),
            Default("queueLengthLimit", 50),
        ),
    ),
    within("spec.exempt", Default("nominalConcurrencyShares", 0), Default("lendablePercent", 0)),
)
