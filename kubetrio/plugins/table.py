"""The admission plugins of the server: one table, in the order in which they are asked.

Source: the order of kube-apiserver's plugins, and which are on by default (docs "Admission Control
in Kubernetes").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, cast

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
from kubetrio.plugins.namespaces import Namespaces, Provide
from kubetrio.plugins.noderesources import NodeDeclaredFeatureValidator, PodResizeValidator
from kubetrio.plugins.podsecurity.configuration import configured as pod_security
from kubetrio.plugins.podsecurity.plugin import PodSecurity
from kubetrio.plugins.podsecurity.policy import UNLABELLED
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
POD_SECURITY = "PodSecurity"


Make = Callable[[PluginContext], Plugin]
Load = Callable[[bytes | None], object]


class PluginRow(NamedTuple):
    """One plugin.

    Args:
        name: what flags call it.
        make: makes it, or the path of the module and function that do, which are loaded when it is
            on; None for one of a feature that cannot be switched on here, so that it would do
            nothing, as in a kube-apiserver without that feature.
        looks_up: plural names of the collections that it looks objects up in.
        on: whether it is on by default.
        idle: of one without `make`, the method that it would have, for the log.
        load: reads its configuration, None where there is none, into what `make` finds in
            `PluginContext.configurations`; or the path of the function that does.  It writes
            nothing and raises `ConfigurationError`.
        writes: whether it writes objects, about which all others are asked.
    """

    name: str
    make: str | Make | None
    looks_up: tuple[str, ...] = ()
    on: bool = True
    idle: str = ""
    load: str | Load | None = None
    writes: bool = False


def _pod_security(context: PluginContext) -> Plugin:
    configuration = context.configurations[POD_SECURITY]
    return PodSecurity(context.namespaces.policy, context.objects, configuration)


def _resource_quota(context: PluginContext) -> Plugin:
    limits = context.configurations["ResourceQuota"]
    return ResourceQuota(context.lookup, context.server.quotas, limits)


def _default_tolerations(context: PluginContext) -> Plugin:
    config = context.server.config
    return DefaultTolerationSeconds(config.not_ready_toleration_s, config.unreachable_toleration_s)


def _mutating_webhook(context: PluginContext) -> Plugin:
    return MutatingAdmissionWebhook(
        context.webhooks, context.configurations["MutatingAdmissionWebhook"]
    )


def _validating_webhook(context: PluginContext) -> Plugin:
    return ValidatingAdmissionWebhook(
        context.webhooks, context.configurations["ValidatingAdmissionWebhook"]
    )


def _credentials(data: bytes | None) -> Credentials:
    try:
        return credentials_in(data)
    except CredentialsError as error:
        raise ConfigurationError(str(error)) from error


PLUGINS: tuple[PluginRow, ...] = (
    PluginRow("AlwaysAdmit", "kubetrio.plugins.always.always_admit", on=False),
    PluginRow(
        "NamespaceAutoProvision",
        "kubetrio.plugins.existence.auto_provision",
        on=False,
        writes=True,
    ),
    PluginRow("NamespaceLifecycle", lambda context: NamespaceLifecycle(context.namespaces.phase)),
    PluginRow("NamespaceExists", "kubetrio.plugins.existence.namespace_exists", on=False),
    PluginRow(
        "LimitPodHardAntiAffinityTopology", "kubetrio.plugins.spreading.anti_affinity", on=False
    ),
    PluginRow("LimitRanger", lambda context: LimitRanger(context.lookup), ("limitranges",)),
    PluginRow(
        "ServiceAccount", lambda context: ServiceAccount(context.objects, context.server.env)
    ),
    PluginRow("NodeRestriction", "kubetrio.plugins.noderestriction.node_restriction", on=False),
    PluginRow("TaintNodesByCondition", lambda _: TaintNodesByCondition()),
    PluginRow("AlwaysPullImages", "kubetrio.plugins.pulling.always_pull", on=False),
    PluginRow(
        "ImagePolicyWebhook",
        "kubetrio.plugins.imagepolicy.image_policy",
        on=False,
        load="kubetrio.plugins.imagepolicy.configured",
    ),
    PluginRow(POD_SECURITY, _pod_security, load=pod_security),
    PluginRow(
        "PodNodeSelector",
        "kubetrio.plugins.nodeselectors.node_selector",
        on=False,
        load="kubetrio.plugins.nodeselectors.configured",
    ),
    PluginRow("Priority", lambda context: Priority(context.lookup), ("priorityclasses",)),
    PluginRow("DefaultTolerationSeconds", _default_tolerations),
    PluginRow(
        "PodTolerationRestriction",
        "kubetrio.plugins.tolerationlists.toleration_lists",
        on=False,
        load="kubetrio.plugins.tolerationlists.configured",
    ),
    PluginRow(
        "EventRateLimit",
        "kubetrio.plugins.eventlimits.event_limits",
        on=False,
        load="kubetrio.plugins.eventlimits.configured",
    ),
    PluginRow(
        "ExtendedResourceToleration", "kubetrio.plugins.spreading.extended_resources", on=False
    ),
    PluginRow(
        "DefaultStorageClass",
        lambda context: DefaultStorageClass(context.lookup),
        ("storageclasses",),
    ),
    PluginRow("StorageObjectInUseProtection", lambda _: StorageObjectInUseProtection()),
    PluginRow("PodGroupProtection", None, idle="mutate"),  # GenericWorkload
    PluginRow("OwnerReferencesPermissionEnforcement", "kubetrio.plugins.owners.owners", on=False),
    PluginRow(
        "PersistentVolumeClaimResize",
        lambda context: PersistentVolumeClaimResize(context.lookup),
        ("storageclasses",),
    ),
    PluginRow("RuntimeClass", lambda context: RuntimeClass(context.lookup), ("runtimeclasses",)),
    PluginRow("CertificateApproval", lambda context: CertificateApproval(context.server.authorize)),
    PluginRow("CertificateSigning", lambda context: CertificateSigning(context.server.authorize)),
    PluginRow(
        "ClusterTrustBundleAttest",
        lambda context: ClusterTrustBundleAttest(context.server.authorize),
    ),
    PluginRow("CertificateSubjectRestriction", lambda _: CertificateSubjectRestriction()),
    PluginRow(
        "DefaultIngressClass",
        lambda context: DefaultIngressClass(context.lookup),
        ("ingressclasses",),
    ),
    PluginRow("DenyServiceExternalIPs", "kubetrio.plugins.externalips.external_ips", on=False),
    PluginRow("PodTopologyLabels", lambda context: PodTopologyLabels(context.lookup)),
    PluginRow("PodGroupWorkloadExists", None, idle="validate"),  # GenericWorkload
    PluginRow(
        "NodeDeclaredFeatureValidator",
        lambda context: NodeDeclaredFeatureValidator(context.lookup),
    ),
    PluginRow("JobValidation", None, idle="validate"),  # WorkloadWithJob
    PluginRow("PodResizeValidator", lambda context: PodResizeValidator(context.lookup)),
    PluginRow(
        "MutatingAdmissionPolicy",
        lambda context: MutatingAdmissionPolicy(context.policies),
        tuple(BINDINGS),
    ),
    PluginRow("MutatingAdmissionWebhook", _mutating_webhook, (MUTATING,), load=_credentials),
    PluginRow(
        "ValidatingAdmissionPolicy",
        lambda context: ValidatingAdmissionPolicy(context.policies),
        tuple(BINDINGS.values()),
    ),
    PluginRow("ValidatingAdmissionWebhook", _validating_webhook, (VALIDATING,), load=_credentials),
    PluginRow("ResourceQuota", _resource_quota, ("resourcequotas",), load=limited_resources),
    PluginRow("AlwaysDeny", "kubetrio.plugins.always.always_deny", on=False),
)


def _rows() -> dict[str, PluginRow]:
    return {row.name: row for row in PLUGINS}


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


@dataclass(frozen=True, slots=True)
class AdmissionFiles:
    """What the flags and files of admission ask for.

    Args:
        names: of the plugins that are on, in the order in which they are asked.
        configurations: what their rows made of their configurations, by name.
    """

    names: tuple[str, ...]
    configurations: Mapping[str, Any]


def load_admission(config: Admission, more: Sequence[Plugin] = ()) -> AdmissionFiles:
    """Read and check the configurations of the plugins that are on.  Blocking.

    Args:
        config: the flags of admission.
        more: plugins of an embedder, which have no configuration.

    Raises:
        ConfigurationError: flags or files make no sense.
    """
    names = enabled(config, more)
    try:
        given = read(config.plugin_config_file, names)
    except ConfigurationError as error:
        raise ConfigurationError(f"failed to read plugin config: {error}") from error
    replaced = {plugin.name for plugin in more}
    configurations: dict[str, Any] = {}
    table = _rows()
    for name in names:
        row = table.get(name)
        if row is not None and row.load is not None and name not in replaced:
            with _about(name):
                load = row.load
                if isinstance(load, str):
                    load = cast("Load", _function(load))
                configurations[name] = load(given.of(name))
    return AdmissionFiles(names, configurations)


def admission(
    server: PluginDependencies, rbac: Rbac, files: AdmissionFiles, more: Sequence[Plugin] = ()
) -> Chain:
    """The chain of a server.

    Args:
        server: what it gives its plugins.
        rbac: knows what users may grant.
        files: which plugins are on, and how they are configured.
        more: plugins of an embedder; one that has the name of a row takes its place, others are
            asked before quotas are charged.

    Raises:
        ConfigurationError: a plugin cannot be made.
    """
    names = files.names
    if server.config.only_plugins:
        log.warning(DEPRECATED)
    lookup = Lookup(
        server.informers, tuple(sorted({name for row in PLUGINS for name in row.looks_up}))
    )
    measures = Measures()
    # No plugins, and so never switched off: storages of kube-apiserver do this.
    first: Plugin = ParameterRights(lookup, server.authorize, server.registry)
    last: Plugin = EscalationCheck(rbac, server.authorize)
    plugins: dict[str, Plugin | None] = {plugin.name: plugin for plugin in more}

    def chain() -> Chain:
        there = [plugin for name in names if (plugin := plugins.get(name)) is not None]
        return Chain([first, *there, last], measures)

    context = _context(server, lookup, measures, files, lambda: server.providing(chain()))
    table = _rows()
    rows = [table[name] for name in names if name not in plugins]
    for row in sorted(rows, key=lambda row: row.writes):  # what writes asks the others
        plugins[row.name] = _made(row, context)
    _tell([(name, plugins[name] or table[name].idle) for name in names])
    return chain()


def _context(
    server: PluginDependencies,
    lookup: Lookup,
    measures: Measures,
    files: AdmissionFiles,
    provide: Callable[[], Provide],
) -> PluginContext:
    """What plugins are made of."""
    objects = ObjectCache(server.informers.dispatcher)
    configured = files.configurations.get(POD_SECURITY)
    return PluginContext(
        server=server,
        lookup=lookup,
        objects=objects,
        namespaces=Namespaces(
            server.informers, UNLABELLED if configured is None else configured.defaults
        ),
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
        configurations=files.configurations,
        provide=provide,
    )


def _made(row: PluginRow, context: PluginContext) -> Plugin | None:
    if row.make is None:
        return None
    make = row.make
    if isinstance(make, str):
        make = cast("Make", _function(make))
    with _about(row.name):
        return make(context)


def _function(path: str) -> object:
    """The function that a row names by its path."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


@contextmanager
def _about(name: str) -> Iterator[None]:
    """Name the plugin before what is wrong with its configuration.

    Raises:
        ConfigurationError: what the block raises, behind the words.
    """
    try:
        yield
    except Uninitialized as error:
        raise ConfigurationError(
            f'failed to initialize admission plugin "{name}": {error}'
        ) from error
    except ConfigurationError as error:
        raise ConfigurationError(f'couldn\'t init admission plugin "{name}": {error}') from error


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
