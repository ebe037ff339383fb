"""The configuration of a server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import ClassVar

from kubetrio.config.admission import Admission
from kubetrio.config.aggregation import Aggregation
from kubetrio.config.audit import Audit
from kubetrio.config.authentication import Authentication
from kubetrio.config.authenticators import Authenticators
from kubetrio.config.authorization import Authorization
from kubetrio.config.controllers import Certificates, NodeIpam, Scheduler
from kubetrio.config.encryption import Encryption
from kubetrio.config.faults import Faults
from kubetrio.config.flag import ConfigError, Rule, Section, error_of, flag, required, section
from kubetrio.config.kinds import CONTROLLERS, DIRECTORY, GATES, NAME
from kubetrio.config.local import Local
from kubetrio.config.memory import Memory
from kubetrio.config.network import Kubelet, Services
from kubetrio.config.requests import FlowControl, Requests
from kubetrio.config.serviceaccounts import ServiceAccounts
from kubetrio.config.serving import Serving
from kubetrio.config.simulation import Simulation
from kubetrio.config.storage import Storage

NOWHERE = Path("/dev/null/kubetrio")
"""No data directory: a place where nothing can be."""


def _place(chosen: Section) -> ConfigError | None:
    assert isinstance(chosen, Config)  # noqa: S101 (a rule of that section)
    if chosen.data_dir != NOWHERE or chosen.storage.in_memory:
        return None
    why = "is not given, and only a server that keeps everything in memory needs none"
    return error_of(Config, ("data_dir",), why)


@section
class Config(Section):
    """Everything `open_server` needs; the command line makes one of these.

    The reference of flags describes each field.  Files are looked at when the server starts,
    everything else when the value is made.

    Args:
        data_dir: of the database and of certificates; none is needed with `storage.in_memory`.
        storage: how objects are kept.
        memory: how much of it is used.
        encryption: how they are encrypted.
        serving: where and how the server listens.
        local: where else, on this machine alone.
        auth: who may be who.
        service_accounts: tokens that the server gives out.
        authorization: who may do what.
        authenticators: who else says who is who.
        admission: what objects may be.
        audit: what is noted of requests, and where.
        requests: how long requests take.
        flowcontrol: how many requests execute at a time.
        services: addresses of Services.
        kubelet: how kubelets are reached.
        aggregation: how aggregated API servers are reached.
        controllers: which of them run, by name.
        certificates: what they sign and clean up.
        node_ipam: which addresses the pods of nodes get.
        scheduler: how pods are scheduled.
        faults: what goes wrong on demand.
        simulation: nodes without machines.
        feature_gates: gates that are switched from their default, by name.
        name: name of the cluster.

    Raises:
        ConfigError: a field has a value that it may not have.
    """

    RULES: ClassVar[tuple[Rule, ...]] = (_place,)

    data_dir: Path = required(
        "data-dir", DIRECTORY, Path("kubetrio-data"), "where everything is kept; made when missing",
        group=Storage.TITLE, default=NOWHERE,
    )  # fmt: skip
    storage: Storage = field(default_factory=Storage)
    memory: Memory = field(default_factory=Memory)
    encryption: Encryption = field(default_factory=Encryption)
    serving: Serving = field(default_factory=Serving)
    local: Local = field(default_factory=Local)
    auth: Authentication = field(default_factory=Authentication)
    service_accounts: ServiceAccounts = field(default_factory=ServiceAccounts)
    authorization: Authorization = field(default_factory=Authorization)
    authenticators: Authenticators = field(default_factory=Authenticators)
    admission: Admission = field(default_factory=Admission)
    audit: Audit = field(default_factory=Audit)
    requests: Requests = field(default_factory=Requests)
    flowcontrol: FlowControl = field(default_factory=FlowControl)
    services: Services = field(default_factory=Services)
    kubelet: Kubelet = field(default_factory=Kubelet)
    aggregation: Aggregation = field(default_factory=Aggregation)
    controllers: tuple[str, ...] = flag(
        "controllers", CONTROLLERS, ("*",),
        "which controllers run: * for all that are on by default, -* for none, NAME for one, "
        "*,-NAME for all but one; "
        "leave out those "
        "that a kube-controller-manager beside this server runs",
        more="They are {controllers}. "
        "Both may run at a time: they only write what is not right. Those that make pods are off "
        "until they are named, and each may run in one place only: see "
        "[workloads](../how-to/run-workloads.md).",
        group="controllers",
    )  # fmt: skip
    certificates: Certificates = field(default_factory=Certificates)
    node_ipam: NodeIpam = field(default_factory=NodeIpam)
    scheduler: Scheduler = field(default_factory=Scheduler)
    faults: Faults = field(default_factory=Faults)
    simulation: Simulation = field(default_factory=Simulation)
    feature_gates: Mapping[str, bool] = flag(
        "feature-gates", GATES, {},
        "switch features; CBORServingAndStorage=true speaks CBOR (install it in a checkout with "
        "pip install '.[cbor]')",
        more="See below.", group="features",
    )  # fmt: skip
    name: str = flag(
        "name", NAME, "default", "name of the cluster; the context is kubetrio-NAME",
        group="kubeconfig",
    )  # fmt: skip

    @property
    def pki_dir(self) -> Path:
        """Where self-made certificates are."""
        return self.serving.cert_dir or self.data_dir / "pki"
