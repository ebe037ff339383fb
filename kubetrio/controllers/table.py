"""The table of controllers: a name, and the class that is loaded when its controller is to run.

The names are those of kube-controller-manager for what does the same there.  What belongs to the
server itself, as post-start hooks of kube-apiserver do, is no controller and has no row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import NamedTuple, cast

from kubetrio.config import Config
from kubetrio.controllers.controller import Context, Controller

ALL, NONE = "*", "-*"
Make = Callable[[Context], Controller]


class Row(NamedTuple):
    """A controller.

    Args:
        controller: its class, or the path of its module and class, which are loaded when it runs.
        alias: another name, which kube-controller-manager had before.
        on_by_default: whether ``*`` means it.
        acts_on: group and resource of what is only stored while it does not run; empty for none.
    """

    controller: str | Make
    alias: str = ""
    on_by_default: bool = True
    acts_on: tuple[str, str] = ("", "")

    @property
    def make(self) -> Make:
        """Makes the controller; loads its class.

        Raises:
            ImportError: there is no such module.
            AttributeError: the module has no such class.
        """
        if not isinstance(self.controller, str):
            return self.controller
        module, _, name = self.controller.rpartition(".")
        return cast("Make", getattr(import_module(module), name))


TABLE: Mapping[str, Row] = {
    "serviceaccount-token-controller": Row(
        "kubetrio.controllers.serviceaccounts.accounttokens.TokensController"
    ),
    "serviceaccount-controller": Row(
        "kubetrio.controllers.serviceaccounts.accounts.ServiceAccountsController", "serviceaccount"
    ),
    "legacy-serviceaccount-token-cleaner-controller": Row(
        "kubetrio.controllers.serviceaccounts.accounttokens.LegacyServiceAccountTokenCleaner",
        "legacy-service-account-token-cleaner",
    ),
    "root-ca-certificate-publisher-controller": Row(
        "kubetrio.controllers.serviceaccounts.accounts.RootCAPublisher", "root-ca-cert-publisher"
    ),
    "certificatesigningrequest-approving-controller": Row(
        "kubetrio.controllers.certificates.controllers.CSRApprover", "csrapproving"
    ),
    "certificatesigningrequest-signing-controller": Row(
        "kubetrio.controllers.certificates.controllers.CSRSigner", "csrsigning"
    ),
    "certificatesigningrequest-cleaner-controller": Row(
        "kubetrio.controllers.certificates.controllers.CSRCleaner", "csrcleaner"
    ),
    # These two are off in kube-controller-manager until they are named, as kubeadm does.
    "bootstrap-signer-controller": Row(
        "kubetrio.controllers.bootstraptokens.BootstrapSigner", "bootstrapsigner"
    ),
    "token-cleaner-controller": Row(
        "kubetrio.controllers.bootstraptokens.TokenCleaner", "tokencleaner"
    ),
    "clusterrole-aggregation-controller": Row(
        "kubetrio.controllers.clusterroles.ClusterRoleAggregation", "clusterrole-aggregation"
    ),
    "garbage-collector-controller": Row(
        "kubetrio.controllers.garbage.collector.GarbageCollector", "garbagecollector"
    ),
    "namespace-controller": Row(
        "kubetrio.controllers.namespaces.controller.NamespaceController", "namespace"
    ),
    "endpoints-controller": Row(
        "kubetrio.controllers.endpoints.endpoints.EndpointsController", "endpoint"
    ),
    "endpointslice-controller": Row(
        "kubetrio.controllers.endpointslices.slicing.EndpointSliceController", "endpointslice"
    ),
    "endpointslice-mirroring-controller": Row(
        "kubetrio.controllers.endpointslices.mirroring.EndpointSliceMirroring",
        "endpointslicemirroring",
    ),
    "disruption-controller": Row(
        "kubetrio.controllers.disruption.disruption.DisruptionController", "disruption"
    ),
    "pod-garbage-collector-controller": Row("kubetrio.controllers.podgc.PodGC", "podgc"),
    "resourcequota-controller": Row(
        "kubetrio.controllers.resourcequota.ResourceQuotaController", "resourcequota"
    ),
    "persistentvolumeclaim-protection-controller": Row(
        "kubetrio.controllers.protection.ClaimProtection", "pvc-protection"
    ),
    "persistentvolume-protection-controller": Row(
        "kubetrio.controllers.protection.VolumeProtection", "pv-protection"
    ),
    "volumeattributesclass-protection-controller": Row(
        "kubetrio.controllers.protection.VolumeAttributesClassProtection"
    ),
    "service-cidr-controller": Row("kubetrio.controllers.servicecidrs.ServiceCIDRController"),
    "ttl-after-finished-controller": Row(
        "kubetrio.controllers.finished.TTLAfterFinished", "ttl-after-finished"
    ),
    "validatingadmissionpolicy-status-controller": Row(
        "kubetrio.controllers.typechecking.ValidatingAdmissionPolicyStatus"
    ),
    # Those of workloads are off until they are named: beside a stock controller manager, two of
    # each would make pods.
    "deployment-controller": Row(
        "kubetrio.controllers.deployment.deployment.DeploymentController",
        "deployment",
        on_by_default=False,
        acts_on=("apps", "deployments"),
    ),
    "statefulset-controller": Row(
        "kubetrio.controllers.statefulset.statefulset.StatefulSetController",
        "statefulset",
        on_by_default=False,
        acts_on=("apps", "statefulsets"),
    ),
    "job-controller": Row(
        "kubetrio.controllers.job.job.JobController",
        "job",
        on_by_default=False,
        acts_on=("batch", "jobs"),
    ),
    "cronjob-controller": Row(
        "kubetrio.controllers.cronjob.cronjob.CronJobController",
        "cronjob",
        on_by_default=False,
        acts_on=("batch", "cronjobs"),
    ),
    "daemonset-controller": Row(
        "kubetrio.controllers.daemonset.daemonset.DaemonSetController",
        "daemonset",
        on_by_default=False,
        acts_on=("apps", "daemonsets"),
    ),
    "horizontal-pod-autoscaler-controller": Row(
        "kubetrio.controllers.horizontalpodautoscaler.horizontalpodautoscaler"
        ".HorizontalPodAutoscaler",
        "horizontalpodautoscaling",
        on_by_default=False,
        acts_on=("autoscaling", "horizontalpodautoscalers"),
    ),
    "replicaset-controller": Row(
        "kubetrio.controllers.replicaset.replicaset.ReplicaSetController",
        "replicaset",
        on_by_default=False,
        acts_on=("apps", "replicasets"),
    ),
    "node-lifecycle-controller": Row(
        "kubetrio.controllers.nodelifecycle.nodelifecycle.NodeLifecycle",
        "nodelifecycle",
        on_by_default=False,
    ),
    "taint-eviction-controller": Row(
        "kubetrio.controllers.tainteviction.tainteviction.TaintEviction", on_by_default=False
    ),
    "replicationcontroller-controller": Row(
        "kubetrio.controllers.replicationcontroller.replicationcontroller.ReplicationController",
        "replicationcontroller",
        on_by_default=False,
        acts_on=("", "replicationcontrollers"),
    ),
    "node-ipam-controller": Row(
        "kubetrio.controllers.nodeipam.nodeipam.NodeIpam", "nodeipam", on_by_default=False
    ),
    "persistentvolume-binder-controller": Row(
        "kubetrio.controllers.persistentvolumes.binder.PersistentVolumeBinder",
        "persistentvolume-binder",
        on_by_default=False,
        acts_on=("", "persistentvolumeclaims"),
    ),
    "persistentvolume-attach-detach-controller": Row(
        "kubetrio.controllers.attachdetach.attachdetach.AttachDetach",
        "attachdetach",
        on_by_default=False,
    ),
    "ephemeral-volume-controller": Row(
        "kubetrio.controllers.persistentvolumes.ephemeral.EphemeralVolumes",
        "ephemeral-volume",
        on_by_default=False,
    ),
    "resourceclaim-controller": Row(
        "kubetrio.controllers.resourceclaim.resourceclaim.ResourceClaims",
        "resource-claim-controller",
        on_by_default=False,
        acts_on=("resource.k8s.io", "resourceclaims"),
    ),
    "simulated-node-controller": Row(
        "kubetrio.controllers.simulation.nodes.SimulatedNodes", on_by_default=False
    ),
    "simulated-pod-controller": Row(
        "kubetrio.controllers.simulation.pods.SimulatedPods",
        on_by_default=False,
        acts_on=("", "pods"),
    ),
    "simulated-volume-controller": Row(
        "kubetrio.controllers.persistentvolumes.hostless.SimulatedVolumes", on_by_default=False
    ),
    "simulated-attachment-controller": Row(
        "kubetrio.controllers.simulation.attachments.SimulatedAttachments", on_by_default=False
    ),
    "kube-scheduler": Row(
        "kubetrio.controllers.scheduler.scheduler.Scheduler", on_by_default=False
    ),
}
SIMULATION = tuple(name for name in TABLE if name.startswith("simulated-"))
WORKLOADS = tuple(
    name for name, row in TABLE.items() if row.acts_on != ("", "") and name not in SIMULATION
)
WITH_NODES = (
    *WORKLOADS,
    "node-lifecycle-controller",
    "taint-eviction-controller",
    "persistentvolume-attach-detach-controller",
    "ephemeral-volume-controller",
    "kube-scheduler",
    *SIMULATION,
)
"""What runs beside the others in a cluster with simulated nodes."""


class UnknownController(ValueError):
    """A controller was named that is not in the table; the text says which."""


def wanted(config: Config) -> tuple[str, ...]:
    """The controllers that a configuration asks for, in the words of `chosen`.

    With simulated nodes ``*`` means those of workloads and of the simulation too.
    """
    asked = config.controllers
    if not config.simulation.nodes or ALL not in asked or NONE in asked:
        return asked
    return (*asked, *WITH_NODES)


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
    switches: dict[str, bool] = {}
    everything = ALL in asked and NONE not in asked
    for entry in asked:
        if entry in (ALL, NONE):
            continue
        name = entry.removeprefix("-")
        if name not in names:
            raise UnknownController(f'"{name}" is not in the list of known controllers')
        switches.setdefault(names[name], not entry.startswith("-"))
    return [
        name for name, row in table.items() if switches.get(name, everything and row.on_by_default)
    ]


def acted_on(asked: Sequence[str], table: Mapping[str, Row] = TABLE) -> frozenset[tuple[str, str]]:
    """Group and resource of what the controllers to run act on; for the arguments see `chosen`.

    Raises:
        UnknownController: one of the names is of none.
    """
    return frozenset(table[name].acts_on for name in chosen(asked, table)) - {("", "")}


def made(
    asked: Sequence[str], context: Context, table: Mapping[str, Row] = TABLE
) -> list[Controller]:
    """The controllers to run; for the arguments see `chosen`.

    Raises:
        ValueError: a class does not have the name of its row.
    """
    return [_made(name, table[name], context) for name in chosen(asked, table)]


def _made(name: str, row: Row, context: Context) -> Controller:
    controller = row.make(context)
    if controller.name != name:
        raise ValueError(f"the controller in row {name!r} has the name {controller.name!r}")
    return controller
