"""What a server gives its admission plugins, and what these need of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kubetrio.admission.chain import Chain
from kubetrio.admission.lookup import Lookup
from kubetrio.admission.objectcache import ObjectCache
from kubetrio.config import Admission
from kubetrio.env import Env
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.machinery.asking import Authorize
from kubetrio.outgoing.client import Outgoing
from kubetrio.plugins.namespaces import Namespaces, Provide
from kubetrio.plugins.policies.dependencies import PolicyDependencies
from kubetrio.plugins.webhooks.plugins import WebhookClientConfig, WebhookDependencies
from kubetrio.quota.stored import StoredQuotas
from kubetrio.schema.registry import LiveRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginDependencies:
    """What a server gives its plugins.

    Args:
        informers: where objects are looked up.
        registry: what is served.
        authorize: the server's authorizers.
        quotas: charged for what is written.
        outgoing: calls webhooks.
        client_config: how webhooks are reached.
        providing: returns what makes namespaces, of the plugins that are asked about that.
        env: clocks and randomness.
        config: the flags of admission.
    """

    informers: SharedInformerFactory
    registry: LiveRegistry
    authorize: Authorize
    quotas: StoredQuotas
    outgoing: Outgoing
    client_config: WebhookClientConfig
    providing: Callable[[Chain], Provide]
    env: Env
    config: Admission


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginContext:
    """What plugins need of the server.

    Args:
        server: what it gives.
        lookup: knows the objects of the collections that rows name.
        objects: reads single objects.
        namespaces: knows what admission asks of namespaces.
        policies: what admission policies need.
        webhooks: what the plugins of webhooks need.
        configurations: what the rows of plugins made of their configurations, by name.
        provide: returns what makes namespaces; the other plugins are asked about these.
    """

    server: PluginDependencies
    lookup: Lookup
    objects: ObjectCache
    namespaces: Namespaces
    policies: PolicyDependencies
    webhooks: WebhookDependencies
    configurations: Mapping[str, Any]
    provide: Callable[[], Provide]
