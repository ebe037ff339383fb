"""Controllers at work in a server in memory, one by one, and what they write."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import trio
from trio.testing import wait_all_tasks_blocked

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.plugin import Base
from kubetrio.auth.trust import ClusterAuthorities, RootBundle
from kubetrio.client.client import Client
from kubetrio.config import Config
from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.table import made
from kubetrio.env import Env
from kubetrio.machinery import identity
from kubetrio.machinery.identity import Decision, UserInfo
from kubetrio.runtime.groups import ungrouped
from kubetrio.server.parts import Parts
from kubetrio.testing.server import InProcess, open_api

VERBS = {
    Operation.CREATE: ("create",),
    Operation.UPDATE: ("update", "patch"),
    Operation.DELETE: ("delete",),
}


@dataclass(frozen=True, slots=True)
class Write:
    """A write that passed admission.

    Args:
        user: who wrote.
        operation: what.
        group: of the resource.
        resource: plural name.
        subresource: or empty.
        namespace: or empty.
        name: of the object.
        obj: as it was written.
    """

    user: UserInfo
    operation: Operation
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    obj: dict[str, Any] | None = field(compare=False, hash=False)


class Writes(Base):
    """A plugin that notes what is written; for `Parts.admission`."""

    name = "Writes"
    operations = frozenset({Operation.CREATE, Operation.UPDATE, Operation.DELETE})

    def __init__(self) -> None:
        self.seen: list[Write] = []

    async def validate(self, attributes: Attributes) -> None:
        """Note a write."""
        kind = attributes.resource
        obj = attributes.obj or {}
        self.seen.append(
            Write(
                attributes.user,
                attributes.operation,
                kind.group,
                kind.resource,
                attributes.subresource,
                attributes.namespace,
                attributes.name or (obj.get("metadata") or {}).get("name", ""),
                attributes.obj,
            )
        )

    def by(self, user: str) -> list[Write]:
        """What a user wrote."""
        return [write for write in self.seen if write.user.name == user]

    def by_controllers(self) -> list[Write]:
        """What controllers wrote, each as another user than the server itself."""
        mine = ("system:serviceaccount:kube-system:", "system:kube-controller-manager")
        return [write for write in self.seen if write.user.name.startswith(mine)]

    @property
    def count(self) -> int:
        """How much controllers wrote, without what they tell as events."""
        return sum(write.resource != "events" for write in self.by_controllers())


def refused(server: InProcess, writes: list[Write]) -> list[Write]:
    """Those writes that no default role lets their user do."""
    return [write for write in writes if not _allowed(server, write)]


def _allowed(server: InProcess, write: Write) -> bool:
    return any(
        server.api.security.rbac.authorize(
            identity.Attributes(
                user=write.user,
                verb=verb,
                namespace=write.namespace,
                api_group=write.group,
                resource=write.resource,
                subresource=write.subresource,
                name="" if verb == "create" else write.name,
            )
        ).decision
        is Decision.ALLOW
        for verb in VERBS[write.operation]
    )


def context_of(
    server: InProcess, trust: ClusterAuthorities | None = None, config: Config | None = None
) -> Context:
    """What controllers of a server are made of; for the arguments see `running`."""
    api = server.api
    return Context(
        api.storage.registry,
        api.writes.operations,
        api.storage.informers,
        api.writes.quotas,
        api.edge.env,
        config or server.config,
        trust or ClusterAuthorities(RootBundle(), api.security.authorizer.authorize),
        api.edge.delegation.aggregation,
    )


@asynccontextmanager
async def running(
    server: InProcess,
    *names: str,
    trust: ClusterAuthorities | None = None,
    config: Config | None = None,
) -> AsyncIterator[list[Controller]]:
    """Run controllers of the table for as long as the block lasts.

    Args:
        server: that does nothing of its own accord.
        names: of the controllers.
        trust: what they are given of it; its authorizers and nothing else when None.
        config: flags of them in place of the server's.
    """
    controllers = made(names, context_of(server, trust, config))
    async with trio.open_nursery() as nursery:
        for one in controllers:
            nursery.start_soon(one.run, name=one.name)
        yield controllers
        nursery.cancel_scope.cancel()


@dataclass(frozen=True, slots=True, kw_only=True)
class Controlled:
    """A server whose controllers run.

    Args:
        server: it.
        client: one that may do everything.
        controllers: by name.
        writes: what is written.
    """

    server: InProcess
    client: Client
    controllers: dict[str, Controller]
    writes: Writes

    async def settled(self) -> None:
        """Wait until no controller has anything to do."""
        await wait_all_tasks_blocked(0.002)


@ungrouped
@asynccontextmanager
async def controlled(
    *names: str, seed: int = 0, env: Env | None = None, parts: Parts | None = None
) -> AsyncIterator[Controlled]:
    """Run a server with some of its controllers; in the end no role was overstepped.

    Args:
        names: in the table of controllers.
        seed: of its randomness.
        env: instead of one made from it.
        parts: what is added to the server.
    """
    writes = Writes()
    parts = parts or Parts()
    parts = Parts(admission=[*parts.admission, writes], kinds=parts.kinds)
    async with open_api(seed=seed, env=env, parts=parts) as server:
        async with running(server, *names) as controllers:
            yield Controlled(
                server=server,
                client=server.client(),
                controllers={one.name: one for one in controllers},
                writes=writes,
            )
        if beyond := refused(server, writes.by_controllers()):
            raise AssertionError(beyond)
