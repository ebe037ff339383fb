"""The table of controllers: each has a row, and can be switched off by its name.

The names are those of kube-controller-manager for what does the same there.  What belongs to the
server itself, as post-start hooks of kube-apiserver do, is no controller and has no row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from kubetrio.aggregation.aggregation import Aggregation
from kubetrio.auth.trust import Trust
from kubetrio.config import Config
from kubetrio.controllers.clusterroles import ClusterRoleAggregation
from kubetrio.controllers.protection import (
    ClaimProtection,
    VolumeAttributesClassProtection,
    VolumeProtection,
)
from kubetrio.controllers.resourcequota import ResourceQuotaController
from kubetrio.env import Env
from kubetrio.informers.controller import Controller
from kubetrio.informers.dispatch import Dispatcher
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.quota.stored import StoredQuotas
from kubetrio.resources.operations import Operations
from kubetrio.schema.registry import LiveRegistry

ALL, NONE = "*", "-*"


class Context(NamedTuple):
    """What controllers are made of.

    Args:
        registry: what is served.
        operations: writes.
        informers: of the server.
        quotas: counts them.
        env: clocks.
        config: flags.
        trust: authorities, keys and opinions.
        aggregation: what other servers serve.
    """

    registry: LiveRegistry
    operations: Operations
    informers: SharedInformerFactory
    quotas: StoredQuotas
    env: Env
    config: Config
    trust: Trust
    aggregation: Aggregation


class Row(NamedTuple):
    """A controller.

    Args:
        make: makes it, from its name and what there is.
        alias: another name, which kube-controller-manager had before.
        on_by_default: whether ``*`` means it.
    """

    make: Callable[[str, Context], Controller]
    alias: str = ""
    on_by_default: bool = True


def _quotas(name: str, context: Context) -> Controller:
    return ResourceQuotaController(name, context.informers, context.quotas, context.env)


def _protection(
    protected: type[ClaimProtection | VolumeProtection | VolumeAttributesClassProtection],
    name: str,
    context: Context,
) -> Controller:
    return protected(name, context.registry, context.operations, context.informers)


def _garbage(name: str, context: Context) -> Controller:
    from kubetrio.controllers.garbage.collector import GarbageCollector

    return GarbageCollector(
        name, context.registry, context.operations, context.informers, context.env
    )


def _namespaces(name: str, context: Context) -> Controller:
    from kubetrio.controllers.namespaces.controller import NamespaceController

    return NamespaceController(
        name,
        context.registry,
        context.operations,
        context.informers,
        context.env,
        context.aggregation,
    )


def _aggregation(name: str, context: Context) -> Controller:
    return ClusterRoleAggregation(name, context.registry, context.operations, context.informers)


def _approving(name: str, context: Context) -> Controller:
    from kubetrio.controllers.certificates.controllers import CSRApprover

    return CSRApprover(name, *_common(context), context.trust)


def _signing(name: str, context: Context) -> Controller:
    from kubetrio.controllers.certificates.controllers import CSRSigner

    longest_s = context.config.certificates.signing_duration_s
    return CSRSigner(name, *_common(context), context.trust.signing, longest_s)


def _cleaning(name: str, context: Context) -> Controller:
    from kubetrio.controllers.certificates.controllers import CSRCleaner

    return CSRCleaner(name, *_common(context))


def _accounts(name: str, context: Context) -> Controller:
    from kubetrio.controllers.serviceaccounts.accounts import DefaultAccounts

    return DefaultAccounts(name, context.registry, context.operations, context.informers)


def _authorities(name: str, context: Context) -> Controller:
    from kubetrio.controllers.serviceaccounts.accounts import RootCAPublisher

    root = context.trust.root
    return RootCAPublisher(name, context.registry, context.operations, context.informers, root)


def _account_tokens(name: str, context: Context) -> Controller:
    from kubetrio.controllers.serviceaccounts.accounttokens import AccountTokens

    return AccountTokens(name, *_common(context), context.trust)


def _unused_tokens(name: str, context: Context) -> Controller:
    from kubetrio.controllers.serviceaccounts.accounttokens import TokenCleanUp

    return TokenCleanUp(name, *_common(context), context.config.certificates.unused_tokens_s)


def _cluster_info(name: str, context: Context) -> Controller:
    from kubetrio.controllers.bootstraptokens import ClusterInfoSigning

    return ClusterInfoSigning(name, *_common(context))


def _bootstrap_tokens(name: str, context: Context) -> Controller:
    from kubetrio.controllers.bootstraptokens import TokenCleaning

    return TokenCleaning(name, *_common(context))


def _common(context: Context) -> tuple[LiveRegistry, Operations, Dispatcher, Env]:
    return context.registry, context.operations, context.informers.dispatcher, context.env


def _ranges(name: str, context: Context) -> Controller:
    from kubetrio.controllers.servicecidrs import ServiceRanges

    return ServiceRanges(name, context.registry, context.operations, context.informers, context.env)


def _disruption(name: str, context: Context) -> Controller:
    from kubetrio.controllers.disruption.disruption import Disruption

    return Disruption(name, context.registry, context.operations, context.informers, context.env)


def _endpoints(name: str, context: Context) -> Controller:
    from kubetrio.controllers.endpoints.endpoints import EndpointsKeeper

    return EndpointsKeeper(
        name, context.registry, context.operations, context.informers, context.env
    )


def _slices(name: str, context: Context) -> Controller:
    from kubetrio.controllers.endpointslices.slicing import EndpointSlices

    return EndpointSlices(
        name, context.registry, context.operations, context.informers, context.env
    )


def _mirroring(name: str, context: Context) -> Controller:
    from kubetrio.controllers.endpointslices.mirroring import Mirroring

    return Mirroring(name, context.registry, context.operations, context.informers, context.env)


def _pods(name: str, context: Context) -> Controller:
    from kubetrio.controllers.podgc import PodGC

    return PodGC(name, context.registry, context.operations, context.informers, context.env)


def _finished(name: str, context: Context) -> Controller:
    from kubetrio.controllers.finished import FinishedJobs

    return FinishedJobs(name, context.registry, context.operations, context.informers, context.env)


def _policies(name: str, context: Context) -> Controller:
    from kubetrio.controllers.typechecking import PolicyStatus

    return PolicyStatus(name, context.registry, context.operations, context.informers, context.env)


TABLE: Mapping[str, Row] = {
    "serviceaccount-token-controller": Row(_account_tokens),
    "serviceaccount-controller": Row(_accounts, "serviceaccount"),
    "legacy-serviceaccount-token-cleaner-controller": Row(
        _unused_tokens, "legacy-service-account-token-cleaner"
    ),
    "root-ca-certificate-publisher-controller": Row(_authorities, "root-ca-cert-publisher"),
    "certificatesigningrequest-approving-controller": Row(_approving, "csrapproving"),
    "certificatesigningrequest-signing-controller": Row(_signing, "csrsigning"),
    "certificatesigningrequest-cleaner-controller": Row(_cleaning, "csrcleaner"),
    # Off in kube-controller-manager until somebody names them, as kubeadm does.
    "bootstrap-signer-controller": Row(_cluster_info, "bootstrapsigner"),
    "token-cleaner-controller": Row(_bootstrap_tokens, "tokencleaner"),
    "clusterrole-aggregation-controller": Row(_aggregation, "clusterrole-aggregation"),
    "garbage-collector-controller": Row(_garbage, "garbagecollector"),
    "namespace-controller": Row(_namespaces, "namespace"),
    "endpoints-controller": Row(_endpoints, "endpoint"),
    "endpointslice-controller": Row(_slices, "endpointslice"),
    "endpointslice-mirroring-controller": Row(_mirroring, "endpointslicemirroring"),
    "disruption-controller": Row(_disruption, "disruption"),
    "pod-garbage-collector-controller": Row(_pods, "podgc"),
    "resourcequota-controller": Row(_quotas, "resourcequota"),
    "persistentvolumeclaim-protection-controller": Row(
        partial(_protection, ClaimProtection), "pvc-protection"
    ),
    "persistentvolume-protection-controller": Row(
        partial(_protection, VolumeProtection), "pv-protection"
    ),
    "volumeattributesclass-protection-controller": Row(
        partial(_protection, VolumeAttributesClassProtection)
    ),
    "service-cidr-controller": Row(_ranges),
    "ttl-after-finished-controller": Row(_finished, "ttl-after-finished"),
    "validatingadmissionpolicy-status-controller": Row(_policies),
}


class UnknownController(ValueError):
    """A controller was named that is not in the table; the text says which."""


def chosen(asked: Sequence[str], table: Mapping[str, Row] = TABLE) -> list[str]:
    """The names of the controllers to run, in the order of the table.

    Args:
        asked: names, names after a ``-``, and ``*``, as for kube-controller-manager; of several
            that are about one controller the first holds.  ``-*`` means none that is not named.
        table: all there are.

    Raises:
        UnknownController: one of the names is of none.
    """
    names = {row.alias: name for name, row in table.items() if row.alias}
    names.update((name, name) for name in table)
    said: dict[str, bool] = {}
    everything = ALL in asked and NONE not in asked
    for entry in asked:
        if entry in (ALL, NONE):
            continue
        name = entry.removeprefix("-")
        if name not in names:
            raise UnknownController(f'"{name}" is not in the list of known controllers')
        said.setdefault(names[name], not entry.startswith("-"))
    return [name for name, row in table.items() if said.get(name, everything and row.on_by_default)]


def made(
    asked: Sequence[str], context: Context, table: Mapping[str, Row] = TABLE
) -> list[Controller]:
    """The controllers to run; for the arguments see `chosen`."""
    return [table[name].make(name, context) for name in chosen(asked, table)]
