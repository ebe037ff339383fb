"""What a server gives its admission plugins, and what these need of it."""

from __future__ import annotations

from dataclasses import dataclass

from kubetrio.admission.configuration import (
    Configurations,
)
from kubetrio.admission.lookup import Lookup
from kubetrio.admission.objectcache import ObjectCache
from kubetrio.config import Admission
from kubetrio.env import Env
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.machinery.asking import Authorize
from kubetrio.outgoing.client import Outgoing
from kubetrio.plugins.existence import Provide
from kubetrio.plugins.namespaces import Namespaces
from kubetrio.plugins.policies.surroundings import Surroundings
from kubetrio.plugins.webhooks.plugins import Hooking, Reach
from kubetrio.quota.stored import StoredQuotas
from kubetrio.schema.registry import LiveRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What a server gives its plugins.

    Args:
        informers: where objects are looked up.
        registry: what is served.
        authorize: the server's authorizers.
        quotas: charged for what is written.
        outgoing: calls webhooks.
        reach: finds those of admission, and calls them.
        provide: makes a namespace.
        env: clocks and randomness.
        config: the flags of admission.
    """

    informers: SharedInformerFactory
    registry: LiveRegistry
    authorize: Authorize
    quotas: StoredQuotas
    outgoing: Outgoing
    reach: Reach
    provide: Provide
    env: Env
    config: Admission


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What plugins need of the server.

    Args:
        server: what it gives.
        lookup: knows the objects of the collections that rows name.
        objects: reads single objects.
        namespaces: knows what admission asks of namespaces.
        surroundings: the same for admission policies.
        hooking: the same for admission webhooks.
        configurations: what plugins are configured with, by name.
    """

    server: Server
    lookup: Lookup
    objects: ObjectCache
    namespaces: Namespaces
    surroundings: Surroundings
    hooking: Hooking
    configurations: Configurations
