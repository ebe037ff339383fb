"""The configuration of a server: frozen values, each field declared once with its flag."""

from kubetrio.config.admission import Admission
from kubetrio.config.aggregation import Aggregation
from kubetrio.config.audit import Audit
from kubetrio.config.authentication import Authentication
from kubetrio.config.authenticators import Authenticators
from kubetrio.config.authorization import Authorization
from kubetrio.config.controllers import Certificates, NodeIpam, Scheduler
from kubetrio.config.encryption import Encryption
from kubetrio.config.faults import Faults
from kubetrio.config.flag import ConfigError
from kubetrio.config.local import Local
from kubetrio.config.memory import Memory
from kubetrio.config.network import Kubelet, Services
from kubetrio.config.profiles import edge
from kubetrio.config.requests import FlowControl, Requests
from kubetrio.config.root import Config
from kubetrio.config.serviceaccounts import ServiceAccounts
from kubetrio.config.serving import Serving
from kubetrio.config.simulation import Simulation
from kubetrio.config.storage import Storage

__all__ = [
    "Admission",
    "Aggregation",
    "Audit",
    "Authentication",
    "Authenticators",
    "Authorization",
    "Certificates",
    "Config",
    "ConfigError",
    "Encryption",
    "Faults",
    "FlowControl",
    "Kubelet",
    "Local",
    "Memory",
    "NodeIpam",
    "Requests",
    "Scheduler",
    "ServiceAccounts",
    "Services",
    "Serving",
    "Simulation",
    "Storage",
    "edge",
]
