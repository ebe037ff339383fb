"""Controllers of a server in memory, run one by one, and what they write."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import trio

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.plugin import Base
from kubetrio.config import Config
from kubetrio.controllers.table import TABLE, Context
from kubetrio.informers.controller import Controller
from kubetrio.kinds.common.trust import RootBundle, Trust
from kubetrio.machinery import identity
from kubetrio.machinery.identity import Decision, UserInfo
from kubetrio.testing.server import InProcess

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
        """What controllers wrote, each as somebody else than the server itself."""
        mine = ("system:serviceaccount:kube-system:", "system:kube-controller-manager")
        return [write for write in self.seen if write.user.name.startswith(mine)]


def refused(server: InProcess, writes: list[Write]) -> list[Write]:
    """Those writes that no default role lets their user do."""
    return [write for write in writes if not _allowed(server, write)]


def _allowed(server: InProcess, write: Write) -> bool:
    return any(
        server.api.rbac.authorize(
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
    server: InProcess, trust: Trust | None = None, config: Config | None = None
) -> Context:
    """What controllers of a server are made of; for the arguments see `running`."""
    api = server.api
    return Context(
        api.registry,
        api.operations,
        api.informers,
        api.quotas,
        api.env,
        config or server.config,
        trust or Trust(RootBundle(), api.authorizer.authorize),
    )


@asynccontextmanager
async def running(
    server: InProcess, *names: str, trust: Trust | None = None, config: Config | None = None
) -> AsyncIterator[list[Controller]]:
    """Run controllers of the table for as long as the block lasts.

    Args:
        server: that does nothing of its own accord.
        names: of the controllers.
        trust: what they are given of it; its authorizers and nothing else when None.
        config: flags of them in place of the server's.
    """
    context = context_of(server, trust, config)
    made = [TABLE[name].make(name, context) for name in names]
    async with trio.open_nursery() as nursery:
        for one in made:
            nursery.start_soon(one.run, name=one.name)
        yield made
        nursery.cancel_scope.cancel()
