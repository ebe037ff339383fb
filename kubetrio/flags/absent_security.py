"""Absent flags of security: authentication, authorization, admission, audit, encryption.

Each asks for a check, a record or a protection.  A server that started without it would be taken
for one that has it, so all but a few end the command.
"""

from __future__ import annotations

from kubetrio.flags.absence import Absent, Ignored, Refused

PRESENT_PLUGINS = (
    "NamespaceLifecycle",
    "LimitRanger",
    "TaintNodesByCondition",
    "PodSecurity",
    "Priority",
    "DefaultTolerationSeconds",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "PodTopologyLabels",
    "NodeDeclaredFeatureValidator",
    "PodResizeValidator",
    "MutatingAdmissionPolicy",
    "ValidatingAdmissionPolicy",
    "ResourceQuota",
)
"""Admission plugins that are always on; a test compares them with the chain."""

ABSENT_PLUGINS = (
    "AlwaysAdmit",
    "NamespaceAutoProvision",
    "NamespaceExists",
    "LimitPodHardAntiAffinityTopology",
    "ServiceAccount",
    "NodeRestriction",
    "AlwaysPullImages",
    "ImagePolicyWebhook",
    "PodNodeSelector",
    "PodTolerationRestriction",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "PodGroupProtection",
    "OwnerReferencesPermissionEnforcement",
    "CertificateApproval",
    "CertificateSigning",
    "ClusterTrustBundleAttest",
    "DenyServiceExternalIPs",
    "PodGroupWorkloadExists",
    "JobValidation",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionWebhook",
    "AlwaysDeny",
)
"""Admission plugins of kube-apiserver that are not here; to switch them off asks for nothing."""

OTHER_WAYS = "give users client certificates or --token-auth-file, and leave the flag out"
OWN_KEY = "leave the flag out, and find the keys as sa.key and sa.pub in --cert-dir"

AUTHENTICATION: tuple[Absent, ...] = (
    *(
        Refused(name, "OpenID Connect tokens are not accepted", OTHER_WAYS)
        for name in (
            "oidc-ca-file",
            "oidc-client-id",
            "oidc-groups-claim",
            "oidc-groups-prefix",
            "oidc-issuer-url",
            "oidc-required-claim",
            "oidc-signing-algs",
            "oidc-username-claim",
            "oidc-username-prefix",
        )
    ),
    *(
        Refused(name, "users that a front proxy names in headers are not believed", OTHER_WAYS)
        for name in (
            "requestheader-allowed-names",
            "requestheader-client-ca-file",
            "requestheader-extra-headers-prefix",
            "requestheader-group-headers",
            "requestheader-uid-headers",
            "requestheader-username-headers",
        )
    ),
    *(
        Refused(name, "no webhook is asked about tokens", OTHER_WAYS)
        for name in (
            "authentication-token-webhook-cache-ttl",
            "authentication-token-webhook-config-file",
            "authentication-token-webhook-version",
        )
    ),
    Refused("authentication-config", "no file configures authentication", OTHER_WAYS),
    Refused(
        "enable-bootstrap-token-auth",
        "bootstrap tokens are not accepted",
        OTHER_WAYS,
        fine=("false",),
        switch=True,
    ),
    Refused(
        "service-account-extend-token-expiration",
        "tokens of pods that expire in an hour are always extended",
        fine=("true",),
        switch=True,
    ),
    Refused("service-account-jwks-uri", "the address of the key set is always that of the issuer"),
    Refused(
        "service-account-key-file",
        "the key set that verifies tokens of service accounts has the server's own key alone",
        OWN_KEY,
    ),
    Ignored(
        "service-account-lookup",
        "tokens of service accounts are not accepted, those of deleted ones neither",
        switch=True,
    ),
    Refused(
        "service-account-max-token-expiration",
        "the life of tokens has no bound of yours",
        fine=("", "0", "0s"),
    ),
    Refused("service-account-signing-endpoint", "nothing else signs tokens", OWN_KEY),
    Refused("service-account-signing-key-file", "tokens are signed by the server's key", OWN_KEY),
)

WHO_MAY = (
    "only members of system:masters may do everything, and roles and their bindings are stored "
    "without effect"
)
# Whatever mode is asked for, no value is what the server does.  It grants less than Node, RBAC and
# AlwaysAllow would, and still more than they do where an administrator has taken the bootstrap
# roles away, since what those open to everybody is fixed.  To start would say that roles decide.
AUTHORIZATION = (
    Refused("authorization-mode", WHO_MAY, fine=()),
    Refused("authorization-config", WHO_MAY),
    Refused("authorization-policy-file", WHO_MAY),
    *(
        Refused(name, "no webhook is asked who may do what")
        for name in (
            "authorization-webhook-cache-authorized-ttl",
            "authorization-webhook-cache-unauthorized-ttl",
            "authorization-webhook-config-file",
            "authorization-webhook-version",
        )
    ),
)

ADMISSION = (
    Refused(
        "enable-admission-plugins",
        "admission plugins that are not there",
        "leave them out",
        among=PRESENT_PLUGINS,
    ),
    Refused(
        "disable-admission-plugins",
        "admission plugins that cannot be switched off, or that nobody knows",
        "leave them out",
        among=ABSENT_PLUGINS,
    ),
    Refused(
        "admission-control",
        "the plugins that are there and their order are fixed",
        "leave the flag out; --enable-admission-plugins may name plugins that are there",
    ),
    Refused("admission-control-config-file", "no file configures admission plugins"),
    *(
        Refused(name, "pods tolerate failing nodes for 300 seconds", fine=("", "300"))
        for name in (
            "default-not-ready-toleration-seconds",
            "default-unreachable-toleration-seconds",
        )
    ),
)

PROTECTION = (
    Refused(
        "encryption-provider-config",
        "objects are not encrypted in the data directory",
        "encrypt the file system of --data-dir, and leave the flag out",
    ),
    Refused(
        "encryption-provider-config-automatic-reload",
        "objects are not encrypted in the data directory",
        fine=("false",),
        switch=True,
    ),
    Refused(
        "max-connection-bytes-per-sec", "the speed of connections is not bounded", fine=("", "0")
    ),
    Refused(
        "egress-selector-config-file",
        "connections to nodes, pods and services go there directly",
    ),
)

ROWS: tuple[Absent, ...] = (
    *AUTHENTICATION,
    *AUTHORIZATION,
    *ADMISSION,
    *PROTECTION,
)
