"""The public Python API: what programs that embed a server use.

Everything in `__all__` keeps its name and its meaning through 0.x releases, or is deprecated for
one release first.  All other modules are the project's own, and change without notice.
"""

from kubetrio.aggregation.servicelookup import Unresolved
from kubetrio.auth.authorize import ALLOWED, NO_OPINION
from kubetrio.client import LOOPBACK, Client, Event, Events, Listed, WrongThreadError
from kubetrio.clock import MovableClock
from kubetrio.config import (
    Admission,
    Aggregation,
    Audit,
    Authentication,
    Authenticators,
    Authorization,
    Certificates,
    Config,
    ConfigError,
    Encryption,
    Faults,
    FlowControl,
    Kubelet,
    Local,
    Memory,
    NodeIpam,
    Requests,
    Scheduler,
    ServiceAccounts,
    Services,
    Serving,
    Simulation,
    Storage,
    edge,
)
from kubetrio.embedding.controller import Controller, Manager, ReconcileRequest
from kubetrio.embedding.election import LostLease, lead
from kubetrio.embedding.informer import Informer, Selection
from kubetrio.embedding.podservers import serve_pods
from kubetrio.env import Env, seeded
from kubetrio.faults import Rule, RuleError
from kubetrio.informers.election import Election
from kubetrio.kubeconfig import KubeconfigError
from kubetrio.kubeconfig import merge as merge_kubeconfig
from kubetrio.kubeconfig import write as write_kubeconfig
from kubetrio.machinery.identity import Attributes, Decision, UserInfo, Verdict
from kubetrio.machinery.status import ApiError
from kubetrio.schema.kind import Kind
from kubetrio.server import Parts, ResetError, Server, Snapshot, StartError, open_server
from kubetrio.store.errors import StoreError
from kubetrio.threads import BlockingClient, NotRunning, ServerThread, in_thread, run

__all__ = [
    "ALLOWED",
    "LOOPBACK",
    "NO_OPINION",
    "Admission",
    "Aggregation",
    "ApiError",
    "Attributes",
    "Audit",
    "Authentication",
    "Authenticators",
    "Authorization",
    "BlockingClient",
    "Certificates",
    "Client",
    "Config",
    "ConfigError",
    "Controller",
    "Decision",
    "Election",
    "Encryption",
    "Env",
    "Event",
    "Events",
    "Faults",
    "FlowControl",
    "Informer",
    "Kind",
    "KubeconfigError",
    "Kubelet",
    "Listed",
    "Local",
    "LostLease",
    "Manager",
    "Memory",
    "MovableClock",
    "NodeIpam",
    "NotRunning",
    "Parts",
    "ReconcileRequest",
    "Requests",
    "ResetError",
    "Rule",
    "RuleError",
    "Scheduler",
    "Selection",
    "Server",
    "ServerThread",
    "ServiceAccounts",
    "Services",
    "Serving",
    "Simulation",
    "Snapshot",
    "StartError",
    "Storage",
    "StoreError",
    "Unresolved",
    "UserInfo",
    "Verdict",
    "WrongThreadError",
    "edge",
    "in_thread",
    "lead",
    "merge_kubeconfig",
    "open_server",
    "run",
    "seeded",
    "serve_pods",
    "write_kubeconfig",
]
