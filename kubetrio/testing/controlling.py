"""Controllers at work in a server without sockets, each held to the role that it has by default."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

import trio
from trio.testing import wait_all_tasks_blocked

from kubetrio.admission.attributes import Attributes as Write
from kubetrio.admission.attributes import Operation
from kubetrio.admission.plugin import Base
from kubetrio.assembly import Parts
from kubetrio.client.client import Client
from kubetrio.controllers.table import TABLE, made
from kubetrio.env import Env
from kubetrio.groups import ungrouped
from kubetrio.informers.controller import Controller
from kubetrio.machinery.identity import Attributes, Decision, UserInfo
from kubetrio.testing.controllers import context_of
from kubetrio.testing.server import InProcess, open_api

ACCOUNTS = "system:serviceaccount:kube-system:"
# Admission does not say whether a change was an update or a patch: either may be allowed.
VERBS = {
    Operation.CREATE: ("create",),
    Operation.UPDATE: ("update", "patch"),
    Operation.DELETE: ("delete",),
}


class Written(NamedTuple):
    """A write of a controller, as its role says it; one of the verbs is to be allowed."""

    account: str
    verbs: tuple[str, ...]
    group: str
    resource: str
    subresource: str


class Writes(Base):
    """An admission plugin that notes what service accounts of controllers write."""

    name = "Writes"
    operations = frozenset(VERBS)

    def __init__(self) -> None:
        self.noted: dict[Written, UserInfo] = {}
        self.count = 0

    async def validate(self, attributes: Write) -> None:
        """Note a write."""
        who = attributes.user.name
        if who.startswith(ACCOUNTS):
            kind = attributes.resource
            verbs = VERBS[attributes.operation]
            account = who.removeprefix(ACCOUNTS)
            about = kind.group, kind.resource, attributes.subresource
            self.noted[Written(account, verbs, *about)] = attributes.user
            if kind.resource != "events":
                self.count += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Controlled:
    """A server whose controllers run.

    Args:
        server: it.
        client: one that may do everything.
        controllers: by name.
        writes: what they wrote.
    """

    server: InProcess
    client: Client
    controllers: dict[str, Controller]
    writes: Writes

    async def settled(self) -> None:
        """Wait until nobody has anything to do."""
        await wait_all_tasks_blocked(0.002)

    def beyond_roles(self) -> list[Written]:
        """Writes that the default roles of their writers do not allow."""
        return [
            write
            for write, user in self.writes.noted.items()
            if not any(self._allowed(user, verb, write) for verb in write.verbs)
        ]

    def _allowed(self, user: UserInfo, verb: str, write: Written) -> bool:
        asked = Attributes(
            user=user,
            verb=verb,
            api_group=write.group,
            resource=write.resource,
            subresource=write.subresource,
        )
        return self.server.api.rbac.authorize(asked).decision is Decision.ALLOW


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
        context = context_of(server)
        running = made(names, context, TABLE)
        async with trio.open_nursery() as nursery:
            for controller in running:
                nursery.start_soon(controller.run)
            found = Controlled(
                server=server,
                client=server.client(),
                controllers={one.name: one for one in running},
                writes=writes,
            )
            yield found
            nursery.cancel_scope.cancel()
        if beyond := found.beyond_roles():
            raise AssertionError(beyond)
