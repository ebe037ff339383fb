"""A read-only server over the copy of a data directory, for the pages of what a server has left.

The copy is a database of its own: the directory is not written to, and what a server does of its
own accord is done to the copy.  Controllers are off, history is kept, and no Service is called.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from kubetrio.aggregation.servicelookup import Unresolved
from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse
from kubetrio.auth.authorize import ALLOWED
from kubetrio.config import Config, Local, Storage
from kubetrio.config.encryption import Encryption
from kubetrio.datadir.copying import copy_database
from kubetrio.env import Env
from kubetrio.machinery.identity import Attributes, Decision, UserInfo, Verdict
from kubetrio.server import Parts, open_server
from kubetrio.server.parts import Kept, own_store
from kubetrio.store.model import Store

Handle = Callable[[Request], Awaitable[AnyResponse]]
READER = UserInfo("kubetrio-ui")
READS = frozenset({"get", "list", "watch", "head"})
FOREVER_S = 10 * 365 * 86400.0
REFUSED = Verdict(Decision.DENY, "what is kept of a server is shown read-only")


class ReadOnly:
    """Lets every user read, and none write."""

    def authorize(self, attributes: Attributes) -> Verdict:
        """Allow what only reads."""
        return ALLOWED if attributes.verb in READS else REFUSED


async def _nowhere(namespace: str, name: str, port: int) -> tuple[str, int]:
    raise Unresolved(f"{namespace}/{name}:{port} is not called from a copy")


@asynccontextmanager
async def open_kept(
    directory: Path, encryption: Path | None, env: Env, audit_log: Path | None = None
) -> AsyncIterator[Handle]:
    """Answer requests about what is in a data directory, for as long as the block lasts.

    Args:
        directory: data directory that no server uses.
        encryption: the file of ``--encryption-provider-config``, to read what is encrypted.
        env: clocks, randomness and threads.
        audit_log: of the server that has stopped, to tell users.

    Raises:
        StoreError: the database cannot be read, or not be copied.
        StartError: the copy cannot be served.
    """
    with TemporaryDirectory(prefix="kubetrio-ui-") as folder:
        target = Path(folder)
        revision = await env.run_blocking(copy_database, directory, target, _quietly)
        config = Config(
            data_dir=target,
            name=directory.name or "kubetrio",
            storage=Storage(
                durability="normal",
                history_window_s=FOREVER_S,
                compact_interval_s=0.0,
                event_ttl_s=0.0,
            ),
            local=Local(secure_serving=False),
            encryption=Encryption(provider_config=encryption),
            controllers=("-*",),
        )
        kept = Kept(
            words=f"{directory} as a server has left it, at revision {revision}.",
            revision=revision,
            audit_log=audit_log,
        )
        async with serve_kept(config, env, kept) as handle:
            yield handle


@asynccontextmanager
async def serve_kept(
    config: Config,
    env: Env,
    kept: Kept,
    open_store: Callable[[Config, Env], AbstractAsyncContextManager[Store]] = own_store,
) -> AsyncIterator[Handle]:
    """Answer requests about objects that are there to be read, for as long as the block lasts.

    Args:
        config: of the server over them.
        env: clocks, randomness and threads.
        kept: what they are.
        open_store: where they are.

    Raises:
        StoreError: they cannot be read.
        StartError: they cannot be served.
    """
    parts = Parts(
        authorizers=[ReadOnly()], resolve_service=_nowhere, kept=kept, open_store=open_store
    )
    async with open_server(config, env=env, parts=parts) as server:

        async def handle(request: Request) -> AnyResponse:
            request.certificate = READER
            return await server.api.handle(request)

        yield handle


def _quietly(done: int, of: int) -> None:
    """Pages are copied faster than they are told of."""
