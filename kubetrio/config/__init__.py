"""The configuration of a server: frozen values, each field declared once with its flag."""

from kubetrio.config.authentication import Authentication
from kubetrio.config.authenticators import Authenticators
from kubetrio.config.flag import ConfigError
from kubetrio.config.network import Kubelet, Services
from kubetrio.config.requests import Admission, FlowControl, Requests
from kubetrio.config.root import Config
from kubetrio.config.serving import Serving
from kubetrio.config.storage import Storage

__all__ = [
    "Admission",
    "Authentication",
    "Authenticators",
    "Config",
    "ConfigError",
    "FlowControl",
    "Kubelet",
    "Requests",
    "Services",
    "Serving",
    "Storage",
]
