"""API aggregation of one server: what follows APIServices, put together.

While no APIService names a Service, nothing of it does anything.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubetrio.aggregation.availability import Availability
from kubetrio.aggregation.documents import Discovery, OpenApi, OtherDocuments
from kubetrio.aggregation.frontproxy import FrontProxy
from kubetrio.aggregation.routes import Routes
from kubetrio.env import Env
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.informers.reconciler import Reconciler
from kubetrio.resources.operations import Operations
from kubetrio.schema.registry import LiveRegistry


class Aggregation:
    """The parts.

    Args:
        registry: what is served.
        operations: writes conditions.
        informers: follow APIServices and Services.
        proxy: connects to other servers.
        env: clocks and threads.
        reject_redirects: whether other servers may send clients elsewhere.

    Attributes:
        routes: which versions others serve.
        proxy: see above.
        documents: what they say of these.
        reject_redirects: see above.
        controllers: what keeps it so; they run until cancelled.
    """

    def __init__(
        self,
        *,
        registry: LiveRegistry,
        operations: Operations,
        informers: SharedInformerFactory,
        proxy: FrontProxy,
        env: Env,
        reject_redirects: bool,
    ) -> None:
        self.routes = routes = Routes(registry, informers)
        self.proxy = proxy
        self.documents = OtherDocuments(routes, registry)
        self.reject_redirects = reject_redirects
        self.availability = Availability(
            routes, proxy, registry, operations, informers.dispatcher, env
        )
        self.controllers: Iterable[Reconciler] = (
            self.availability,
            Discovery(routes, proxy, self.documents),
            OpenApi(routes, proxy, self.documents, env),
        )
