"""The admission plugins of the server: one table, in the order in which they are asked.

Source: the order of kube-apiserver's default plugins (docs "Admission Control in Kubernetes").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kubetrio.admission.chain import Chain, Plugin
from kubetrio.admission.lookup import Lookup
from kubetrio.admission.objectcache import ObjectCache
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.kinds.admissionregistration.policies.plugins import (
    MutatingAdmissionPolicy,
    ValidatingAdmissionPolicy,
)
from kubetrio.kinds.admissionregistration.policies.surroundings import (
    BINDINGS,
    Authorize,
    Surroundings,
)
from kubetrio.kinds.certificates.admission import CertificateSubjectRestriction
from kubetrio.kinds.core.admission.classes import DefaultIngressClass, DefaultStorageClass
from kubetrio.kinds.core.admission.lifecycle import NamespaceLifecycle
from kubetrio.kinds.core.admission.limitranger import LimitRanger
from kubetrio.kinds.core.admission.noderesources import (
    NodeDeclaredFeatureValidator,
    PodResizeValidator,
)
from kubetrio.kinds.core.admission.protection import StorageObjectInUseProtection
from kubetrio.kinds.core.admission.resizing import PersistentVolumeClaimResize
from kubetrio.kinds.core.admission.tolerations import (
    DefaultTolerationSeconds,
    TaintNodesByCondition,
)
from kubetrio.kinds.core.admission.topology import PodTopologyLabels
from kubetrio.kinds.core.namespaces import Namespaces
from kubetrio.kinds.core.podsecurity.plugin import PodSecurity
from kubetrio.kinds.core.quota.plugin import ResourceQuota
from kubetrio.kinds.core.quota.stored import StoredQuotas
from kubetrio.kinds.node.admission import RuntimeClass
from kubetrio.kinds.rbac.authorizer import Rbac
from kubetrio.kinds.rbac.escalation import EscalationCheck
from kubetrio.kinds.scheduling.admission import Priority
from kubetrio.schema.registry import LiveRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What plugins need of the server.

    Args:
        lookup: knows the objects of the collections that rows name.
        objects: reads single objects.
        namespaces: knows what admission asks of namespaces.
        quotas: charged for what is written.
        surroundings: the same for admission policies.
    """

    lookup: Lookup
    objects: ObjectCache
    namespaces: Namespaces
    quotas: StoredQuotas
    surroundings: Surroundings


class Row(NamedTuple):
    """One plugin.

    Args:
        make: makes it.
        looks_up: plural names of the collections that it looks objects up in.
    """

    make: Callable[[Around], Plugin]
    looks_up: tuple[str, ...] = ()


PLUGINS: tuple[Row, ...] = (
    Row(lambda around: NamespaceLifecycle(around.namespaces.phase)),
    Row(lambda around: LimitRanger(around.lookup), ("limitranges",)),
    Row(lambda _: TaintNodesByCondition()),
    Row(lambda around: PodSecurity(around.namespaces.policy, around.objects)),
    Row(lambda around: Priority(around.lookup), ("priorityclasses",)),
    Row(lambda _: DefaultTolerationSeconds()),
    Row(lambda around: DefaultStorageClass(around.lookup), ("storageclasses",)),
    Row(lambda _: StorageObjectInUseProtection()),
    Row(lambda around: PersistentVolumeClaimResize(around.lookup), ("storageclasses",)),
    Row(lambda around: RuntimeClass(around.lookup), ("runtimeclasses",)),
    Row(lambda _: CertificateSubjectRestriction()),
    Row(lambda around: DefaultIngressClass(around.lookup), ("ingressclasses",)),
    Row(lambda around: PodTopologyLabels(around.lookup)),
    Row(lambda around: NodeDeclaredFeatureValidator(around.lookup)),
    Row(lambda around: PodResizeValidator(around.lookup)),
    Row(lambda around: MutatingAdmissionPolicy(around.surroundings), tuple(BINDINGS)),
    Row(lambda around: ValidatingAdmissionPolicy(around.surroundings), tuple(BINDINGS.values())),
    Row(lambda around: ResourceQuota(around.lookup, around.quotas), ("resourcequotas",)),
)


def admission(
    informers: SharedInformerFactory,
    registry: LiveRegistry,
    authorize: Authorize,
    quotas: StoredQuotas,
    rbac: Rbac,
    more: Sequence[Plugin] = (),
) -> Chain:
    """The chain of a server.

    Args:
        informers: where objects are looked up.
        registry: what is served.
        authorize: the server's authorizers.
        quotas: charged for what is written.
        rbac: knows what users may grant.
        more: plugins of an embedder; one that has the name of a row takes its place, others are
            asked before the last row, which charges for what the others let through.
    """
    lookup = Lookup(informers, tuple(sorted({name for row in PLUGINS for name in row.looks_up})))
    objects = ObjectCache(informers.dispatcher)
    around = Around(
        lookup=lookup,
        objects=objects,
        namespaces=Namespaces(informers),
        quotas=quotas,
        surroundings=Surroundings(
            lookup=lookup, cache=objects, authorize=authorize, registry=registry
        ),
    )
    named = {plugin.name: plugin for plugin in more}
    own = [row.make(around) for row in PLUGINS]
    names = {plugin.name for plugin in own}
    chosen = [named.get(plugin.name, plugin) for plugin in own]
    chosen[-1:-1] = [plugin for name, plugin in named.items() if name not in names]
    # No plugin, and so never switched off: a storage of kube-apiserver does this.
    chosen.append(EscalationCheck(rbac, authorize))
    return Chain(chosen)
