"""What extends the API: admissionregistration, apiextensions and apiregistration, all v1."""

from __future__ import annotations

from kubetrio.resources.defaults.rules import Call, Default, Json, Rules, each, within

_HTTPS = 443
_SERVICE = within("service", Default("port", _HTTPS))
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
    within("clientConfig", _SERVICE),
    each("rules", _SCOPE),
)
_MATCH = (*_SELECTORS, each("resourceRules", _SCOPE), each("excludeResourceRules", _SCOPE))
_POLICY: Rules = (
    within("spec", Default("failurePolicy", "Fail"), within("matchConstraints", *_MATCH)),
)
_BINDING: Rules = (within("spec.matchResources", *_MATCH),)


def default_names(names: Json) -> None:
    """Singular and list names follow from the kind."""
    kind = names.get("kind") or ""
    if not names.get("singular"):
        names["singular"] = kind.lower()
    if kind and not names.get("listKind"):
        names["listKind"] = f"{kind}List"
    if not names["singular"]:
        del names["singular"]


_REGISTRATION = "io.k8s.api.admissionregistration.v1."
TABLES: dict[str, Rules] = {
    f"{_REGISTRATION}ValidatingWebhookConfiguration": (each("webhooks", *_WEBHOOK),),
    f"{_REGISTRATION}MutatingWebhookConfiguration": (
        each("webhooks", *_WEBHOOK, Default("reinvocationPolicy", "Never")),
    ),
    f"{_REGISTRATION}ValidatingAdmissionPolicy": _POLICY,
    f"{_REGISTRATION}MutatingAdmissionPolicy": _POLICY,
    f"{_REGISTRATION}ValidatingAdmissionPolicyBinding": _BINDING,
    f"{_REGISTRATION}MutatingAdmissionPolicyBinding": _BINDING,
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition": (
        within(
            "spec",
            Default("conversion", {"strategy": "None"}),
            within("names", Call(default_names)),
            within("conversion.webhook.clientConfig", _SERVICE),
        ),
    ),
    "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService": (within("spec", _SERVICE),),
}
