"""The admission plugins of the server: one table, in the order in which they are asked.

Source: the order of kube-apiserver's plugins, and which are on by default (docs "Admission Control
in Kubernetes").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NamedTuple, cast

from kubetrio.admission.chain import Chain, Plugin
from kubetrio.admission.configuration import (
    ConfigurationError,
    Uninitialized,
    read,
)
from kubetrio.admission.lookup import Lookup
from kubetrio.admission.measures import Measures
from kubetrio.admission.objectcache import ObjectCache
from kubetrio.admission.plugin import Base
from kubetrio.auth.rbac.authorizer import Rbac
from kubetrio.config import Admission
from kubetrio.observe.logs import Log
from kubetrio.plugins.certificaterights import (
    CertificateApproval,
    CertificateSigning,
    ClusterTrustBundleAttest,
)
from kubetrio.plugins.certificatesubjects import CertificateSubjectRestriction
from kubetrio.plugins.choice import chosen
from kubetrio.plugins.classes import DefaultIngressClass, DefaultStorageClass
from kubetrio.plugins.context import PluginContext, PluginDependencies
from kubetrio.plugins.escalation import EscalationCheck
from kubetrio.plugins.lifecycle import NamespaceLifecycle
from kubetrio.plugins.limitranger import LimitRanger
from kubetrio.plugins.namespaces import Namespaces
from kubetrio.plugins.noderesources import NodeDeclaredFeatureValidator, PodResizeValidator
from kubetrio.plugins.podsecurity.configuration import configured as pod_security
from kubetrio.plugins.podsecurity.plugin import PodSecurity
from kubetrio.plugins.policies.dependencies import BINDINGS, PolicyDependencies
from kubetrio.plugins.policies.plugins import MutatingAdmissionPolicy, ValidatingAdmissionPolicy
from kubetrio.plugins.policies.rights import ParameterRights
from kubetrio.plugins.priorities import Priority
from kubetrio.plugins.protection import StorageObjectInUseProtection
from kubetrio.plugins.resizing import PersistentVolumeClaimResize
from kubetrio.plugins.resourcequotas import ResourceQuota
from kubetrio.plugins.runtimeclasses import RuntimeClass
from kubetrio.plugins.serviceaccounts import ServiceAccount
from kubetrio.plugins.tolerations import DefaultTolerationSeconds, TaintNodesByCondition
from kubetrio.plugins.topology import PodTopologyLabels
from kubetrio.plugins.webhooks.credentials import Credentials, CredentialsError, credentials_in
from kubetrio.plugins.webhooks.hooks import MUTATING, VALIDATING
from kubetrio.plugins.webhooks.plugins import (
    MutatingAdmissionWebhook,
    ValidatingAdmissionWebhook,
    WebhookDependencies,
)
from kubetrio.quota.limits import configured as limited_resources

log = Log("kubetrio.admission")


Make = Callable[[PluginContext], Plugin]


class Row(NamedTuple):
    """One plugin.

    Args:
        name: what flags call it.
        make: makes it, or the path of the module and function that do, which are loaded when it is
            on; None for one of a feature that cannot be switched on here, so that it would do
            nothing, as in a kube-apiserver without that feature.
        looks_up: plural names of the collections that it looks objects up in.
        on: whether it is on by default.
        idle: of one without `make`, the method that it would have, for the log.
    """

    name: str
    make: str | Make | None
    looks_up: tuple[str, ...] = ()
    on: bool = True
    idle: str = ""


def _pod_security(context: PluginContext) -> Plugin:
    configuration = pod_security(context.configurations.of("PodSecurity"))
    context.namespaces.defaults = configuration.defaults
    return PodSecurity(context.namespaces.policy, context.objects, configuration)


def _resource_quota(context: PluginContext) -> Plugin:
    limits = limited_resources(context.configurations.of("ResourceQuota"))
    return ResourceQuota(context.lookup, context.server.quotas, limits)


def _default_tolerations(context: PluginContext) -> Plugin:
    config = context.server.config
    return DefaultTolerationSeconds(config.not_ready_toleration_s, config.unreachable_toleration_s)


def _mutating_webhook(context: PluginContext) -> Plugin:
    return MutatingAdmissionWebhook(context.webhooks, _credentials(context, "Mutating"))


def _validating_webhook(context: PluginContext) -> Plugin:
    return ValidatingAdmissionWebhook(context.webhooks, _credentials(context, "Validating"))


def _credentials(context: PluginContext, which: str) -> Credentials:
    try:
        return credentials_in(context.configurations.of(f"{which}AdmissionWebhook"))
    except CredentialsError as error:
        raise ConfigurationError(str(error)) from error


PLUGINS: tuple[Row, ...] = (
    Row("AlwaysAdmit", "kubetrio.plugins.always.always_admit", on=False),
    Row("NamespaceAutoProvision", "kubetrio.plugins.existence.auto_provision", on=False),
    Row("NamespaceLifecycle", lambda context: NamespaceLifecycle(context.namespaces.phase)),
    Row("NamespaceExists", "kubetrio.plugins.existence.namespace_exists", on=False),
    Row("LimitPodHardAntiAffinityTopology", "kubetrio.plugins.spreading.anti_affinity", on=False),
    Row("LimitRanger", lambda context: LimitRanger(context.lookup), ("limitranges",)),
    Row("ServiceAccount", lambda context: ServiceAccount(context.objects, context.server.env)),
    Row("NodeRestriction", "kubetrio.plugins.noderestriction.node_restriction", on=False),
    Row("TaintNodesByCondition", lambda _: TaintNodesByCondition()),
    Row("AlwaysPullImages", "kubetrio.plugins.pulling.always_pull", on=False),
    Row("ImagePolicyWebhook", "kubetrio.plugins.imagepolicy.image_policy", on=False),
    Row("PodSecurity", _pod_security),
    Row("PodNodeSelector", "kubetrio.plugins.nodeselectors.node_selector", on=False),
    Row("Priority", lambda context: Priority(context.lookup), ("priorityclasses",)),
    Row("DefaultTolerationSeconds", _default_tolerations),
    Row("PodTolerationRestriction", "kubetrio.plugins.tolerationlists.toleration_lists", on=False),
    Row("EventRateLimit", "kubetrio.plugins.eventlimits.event_limits", on=False),
    Row("ExtendedResourceToleration", "kubetrio.plugins.spreading.extended_resources", on=False),
    Row(
        "DefaultStorageClass",
        lambda context: DefaultStorageClass(context.lookup),
        ("storageclasses",),
    ),
    Row("StorageObjectInUseProtection", lambda _: StorageObjectInUseProtection()),
    Row("PodGroupProtection", None, idle="mutate"),  # GenericWorkload
    Row("OwnerReferencesPermissionEnforcement", "kubetrio.plugins.owners.owners", on=False),
    Row(
        "PersistentVolumeClaimResize",
        lambda context: PersistentVolumeClaimResize(context.lookup),
        ("storageclasses",),
    ),
    Row("RuntimeClass", lambda context: RuntimeClass(context.lookup), ("runtimeclasses",)),
    Row("CertificateApproval", lambda context: CertificateApproval(context.server.authorize)),
    Row("CertificateSigning", lambda context: CertificateSigning(context.server.authorize)),
    Row(
        "ClusterTrustBundleAttest",
        lambda context: ClusterTrustBundleAttest(context.server.authorize),
    ),
    Row("CertificateSubjectRestriction", lambda _: CertificateSubjectRestriction()),
    Row(
        "DefaultIngressClass",
        lambda context: DefaultIngressClass(context.lookup),
        ("ingressclasses",),
    ),
    Row("DenyServiceExternalIPs", "kubetrio.plugins.externalips.external_ips", on=False),
    Row("PodTopologyLabels", lambda context: PodTopologyLabels(context.lookup)),
    Row("PodGroupWorkloadExists", None, idle="validate"),  # GenericWorkload
    Row(
        "NodeDeclaredFeatureValidator",
        lambda context: NodeDeclaredFeatureValidator(context.lookup),
    ),
    Row("JobValidation", None, idle="validate"),  # WorkloadWithJob
    Row("PodResizeValidator", lambda context: PodResizeValidator(context.lookup)),
    Row(
        "MutatingAdmissionPolicy",
        lambda context: MutatingAdmissionPolicy(context.policies),
        tuple(BINDINGS),
    ),
    Row("MutatingAdmissionWebhook", _mutating_webhook, (MUTATING,)),
    Row(
        "ValidatingAdmissionPolicy",
        lambda context: ValidatingAdmissionPolicy(context.policies),
        tuple(BINDINGS.values()),
    ),
    Row("ValidatingAdmissionWebhook", _validating_webhook, (VALIDATING,)),
    Row("ResourceQuota", _resource_quota, ("resourcequotas",)),
    Row("AlwaysDeny", "kubetrio.plugins.always.always_deny", on=False),
)
DEPRECATED = (
    "Flag --admission-control has been deprecated, Use --enable-admission-plugins or "
    "--disable-admission-plugins instead. Will be removed in a future version."
)
LAST = "ResourceQuota"
"""Before it those of embedders are asked: it charges for what the others let through."""


def enabled(config: Admission, more: Sequence[Plugin] = ()) -> tuple[str, ...]:
    """The names of the plugins that are on, in the order in which they are asked.

    Args:
        config: the flags of admission.
        more: plugins of an embedder: those are on unless they are switched off by name.

    Raises:
        ConfigurationError: the flags make no sense.
    """
    known = [row.name for row in PLUGINS]
    added = [plugin.name for plugin in more]
    at = known.index(LAST)
    known[at:at] = [name for name in added if name not in known]
    default = {row.name for row in PLUGINS if row.on} | set(added)
    return chosen(config, known, default)


def admission(server: PluginDependencies, rbac: Rbac, more: Sequence[Plugin] = ()) -> Chain:
    """The chain of a server.

    Args:
        server: what it gives its plugins.
        rbac: knows what users may grant.
        more: plugins of an embedder; one that has the name of a row takes its place, others are
            asked before quotas are charged.

    Raises:
        ConfigurationError: flags or files of admission make no sense.
    """
    names = enabled(server.config, more)
    if server.config.only_plugins:
        log.warning(DEPRECATED)
    try:
        configurations = read(server.config.plugin_config_file, names)
    except ConfigurationError as error:
        raise ConfigurationError(f"failed to read plugin config: {error}") from error
    rows = {row.name: row for row in PLUGINS}
    lookup = Lookup(
        server.informers, tuple(sorted({name for row in PLUGINS for name in row.looks_up}))
    )
    objects = ObjectCache(server.informers.dispatcher)
    measures = Measures()
    context = PluginContext(
        server=server,
        lookup=lookup,
        objects=objects,
        namespaces=Namespaces(server.informers),
        policies=PolicyDependencies(
            lookup=lookup,
            cache=objects,
            authorize=server.authorize,
            registry=server.registry,
            thread=server.env.run_bodies,
        ),
        webhooks=WebhookDependencies(
            lookup=lookup,
            objects=objects,
            authorize=server.authorize,
            registry=server.registry,
            measures=measures,
            client_config=server.client_config,
        ),
        configurations=configurations,
    )
    named = {plugin.name: plugin for plugin in more}
    plugins = [named.get(name) or _made(rows[name], context) for name in names]
    there = [plugin for plugin in plugins if plugin is not None]
    _tell(
        [
            (name, rows[name].idle if plugin is None else plugin)
            for name, plugin in zip(names, plugins, strict=True)
        ]
    )
    # No plugins, and so never switched off: storages of kube-apiserver do this.
    first = ParameterRights(lookup, server.authorize, server.registry)
    return Chain([first, *there, EscalationCheck(rbac, server.authorize)], measures)


def _made(row: Row, context: PluginContext) -> Plugin | None:
    if row.make is None:
        return None
    make = row.make
    if isinstance(make, str):
        module, _, name = make.rpartition(".")
        make = cast("Make", getattr(import_module(module), name))
    try:
        return make(context)
    except Uninitialized as error:
        raise ConfigurationError(
            f'failed to initialize admission plugin "{row.name}": {error}'
        ) from error
    except ConfigurationError as error:
        raise ConfigurationError(
            f'couldn\'t init admission plugin "{row.name}": {error}'
        ) from error


def _tell(plugins: Sequence[tuple[str, Plugin | str]]) -> None:
    """Log which plugins there are, in the words of kube-apiserver, for who wants to know (-v=1)."""
    for word, phase in (("mutating", "mutate"), ("validating", "validate")):
        names = [name for name, plugin in plugins if _has(plugin, phase)]
        if names:
            told = (
                f"Loaded {len(names)} {word} admission controller(s) successfully "
                f"in the following order: {','.join(names)}."
            )
            log.verbose(1, told)


def _has(plugin: Plugin | str, phase: str) -> bool:
    """Whether a plugin has a method of its own; of one that is not there, whether it is named."""
    idle = getattr(Base, phase)
    return plugin == phase or getattr(type(plugin), phase, idle) is not idle
