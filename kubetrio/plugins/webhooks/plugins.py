"""The plugins of admission webhooks: shells that ask for the real thing when there is a webhook.

Until then nothing of it is imported, and a write costs one look at an empty mapping.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.lookup import Lookup
from kubetrio.admission.measures import Measures
from kubetrio.admission.objectcache import ObjectCache
from kubetrio.admission.plugin import Base
from kubetrio.aggregation.servicelookup import ResolveService
from kubetrio.env import Env
from kubetrio.machinery.asking import Authorize
from kubetrio.outgoing.client import Outgoing
from kubetrio.plugins.webhooks.credentials import NO_CREDENTIALS, Credentials
from kubetrio.plugins.webhooks.hooks import MUTATING, VALIDATING, HookSource, exempt
from kubetrio.schema.registry import LiveRegistry

if TYPE_CHECKING:
    from kubetrio.plugins.webhooks.asking import WebhookEnvironment


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookClientConfig:
    """How a server reaches its webhooks.

    Args:
        outgoing: makes calls.
        env: identities of calls, chance among endpoints, threads.
        resolve_service: finds Services.
    """

    outgoing: Outgoing
    env: Env
    resolve_service: ResolveService


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDependencies:
    """What the plugins of webhooks need of the server.

    Args:
        lookup: knows the configurations.
        objects: reads namespaces and Services.
        authorize: the server's authorizers.
        registry: what is served.
        measures: counts calls.
        client_config: how webhooks are reached.
    """

    lookup: Lookup
    objects: ObjectCache
    authorize: Authorize
    registry: LiveRegistry
    measures: Measures
    client_config: WebhookClientConfig

    def source(self, collection: str) -> HookSource:
        """The webhooks of a kind."""
        return HookSource(self.lookup, self.objects, collection)

    def environment(self) -> WebhookEnvironment:
        """What calls need of the server."""
        from kubetrio.plugins.webhooks.asking import WebhookEnvironment
        from kubetrio.plugins.webhooks.calling import Caller

        client_config = self.client_config
        caller = Caller(client_config.outgoing, client_config.resolve_service, client_config.env)
        return WebhookEnvironment(caller=caller, measures=self.measures, authorize=self.authorize)


class ValidatingAdmissionWebhook(Base):
    """Refuses what webhooks refuse.

    Args:
        dependencies: the server.
        credentials: who that is to webhooks; see `credentials_in`.
    """

    name = "ValidatingAdmissionWebhook"
    operations = frozenset(Operation)
    about_own = False

    def __init__(
        self, dependencies: WebhookDependencies, credentials: Credentials = NO_CREDENTIALS
    ) -> None:
        self._dependencies = dependencies
        self._credentials = credentials
        self._empty = dependencies.lookup.empty
        self._source = dependencies.source(VALIDATING)
        self._validate: Callable[[Attributes], Any] | None = None

    async def validate(self, attributes: Attributes) -> None:
        """Ask the webhooks.

        Raises:
            ApiError: a refusal; 500, a webhook cannot be asked.
        """
        if VALIDATING in self._empty or exempt(attributes):
            return
        if not await self._source.hooks():
            return
        if self._validate is None:
            from kubetrio.plugins.webhooks.asking import Asker, ValidatingWebhooks

            environment = self._dependencies.environment()
            asker = Asker(environment, self._source, self._credentials, mutating=False)
            self._validate = ValidatingWebhooks(asker).validate
        await self._validate(attributes)


class MutatingAdmissionWebhook(Base):
    """Changes what webhooks change.

    Args:
        dependencies: the server.
        credentials: who that is to webhooks; see `credentials_in`.
    """

    name = "MutatingAdmissionWebhook"
    operations = frozenset(Operation)
    about_own = False

    def __init__(
        self, dependencies: WebhookDependencies, credentials: Credentials = NO_CREDENTIALS
    ) -> None:
        self._dependencies = dependencies
        self._credentials = credentials
        self._empty = dependencies.lookup.empty
        self._source = dependencies.source(MUTATING)
        self._mutate: Callable[[Attributes], Any] | None = None

    async def mutate(self, attributes: Attributes) -> None:
        """Let the webhooks have their way.

        Raises:
            ApiError: a refusal; 500, a webhook cannot be asked or its patch does not apply.
        """
        if MUTATING in self._empty or exempt(attributes):
            return
        if not await self._source.hooks():
            return
        if self._mutate is None:
            from kubetrio.plugins.webhooks.asking import Asker
            from kubetrio.plugins.webhooks.mutating import MutatingWebhooks

            environment = self._dependencies.environment()
            asker = Asker(environment, self._source, self._credentials, mutating=True)
            self._mutate = MutatingWebhooks(environment, asker).mutate
        await self._mutate(attributes)
