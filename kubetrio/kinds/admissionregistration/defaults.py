"""Defaults of admissionregistration.k8s.io."""

from __future__ import annotations

from kubetrio.kinds.common.defaulting import (
    WEBHOOK_SERVICE,
    Default,
    Rules,
    each,
    within,
)

_SCOPE = Default("scope", "*")


_SELECTORS = (
    Default("matchPolicy", "Equivalent"),
    Default("namespaceSelector", {}),
    Default("objectSelector", {}),
)


_WEBHOOK: Rules = (
    *_SELECTORS,
    Default("failurePolicy", "Fail"),
    Default("timeoutSeconds", 10),
    within("clientConfig", WEBHOOK_SERVICE),
    each("rules", _SCOPE),
)


_MATCH = (*_SELECTORS, each("resourceRules", _SCOPE), each("excludeResourceRules", _SCOPE))


_POLICY: Rules = (
    within("spec", Default("failurePolicy", "Fail"), within("matchConstraints", *_MATCH)),
)


_BINDING: Rules = (within("spec.matchResources", *_MATCH),)


VALIDATINGWEBHOOKCONFIGURATIONS: Rules = (each("webhooks", *_WEBHOOK),)
MUTATINGWEBHOOKCONFIGURATIONS: Rules = (
    each("webhooks", *_WEBHOOK, Default("reinvocationPolicy", "Never")),
)
VALIDATINGADMISSIONPOLICIES: Rules = _POLICY
MUTATINGADMISSIONPOLICIES: Rules = _POLICY
VALIDATINGADMISSIONPOLICYBINDINGS: Rules = _BINDING
MUTATINGADMISSIONPOLICYBINDINGS: Rules = _BINDING
