"""What an embedder adds to a server, and the store that it opens unless told otherwise."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kubetrio.admission.chain import Plugin
from kubetrio.aggregation.servicelookup import ResolveService
from kubetrio.auth import authorize as authorization
from kubetrio.config import Config
from kubetrio.controllers.table import Row as Controllers
from kubetrio.encryption.note import noted_folders
from kubetrio.env import Env
from kubetrio.observe.logs import Log
from kubetrio.schema.kind import Kind
from kubetrio.server.engines import table as engines
from kubetrio.store.model import Revision, Store

if TYPE_CHECKING:
    from kubetrio.api.pipeline import Handle
    from kubetrio.encryption.control import Encryption
    from kubetrio.simulation.podports import PodServer
    from kubetrio.ui.steps import Steps

log = Log("kubetrio.server")


def own_store(config: Config, env: Env) -> AbstractAsyncContextManager[Store]:
    """Open the store of the engine that a configuration chooses.

    Raises:
        StoreError: the data directory is in use, foreign or damaged.
    """
    return engines.chosen(config).open(config, env)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a stopped server has left, where the objects of a server are a copy of that.

    Args:
        words: what pages say of it.
        revision: its newest; what is newer was made by the server over the copy.
        audit_log: of the stopped server, to tell users; None where there is none.
        steps: of the script that a server was asked by, to show them; None where there is none.
    """

    words: str
    revision: Revision
    audit_log: Path | None = None
    steps: Steps | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What an embedder adds to a server, or puts in the place of its own parts.

    Args:
        kinds: served beside the built-in ones.
        authorizers: asked before the server's own; the first opinion counts, and none is asked
            about ``system:masters``.
        admission: plugins, asked before quotas; one with the name of one of the server's own takes
            its place.
        controllers: rows beside those of the server's own table; one with the name of one of these
            takes its place.
        resolve_service: finds the address and port that stand for a Service of a webhook or an
            aggregated API server: takes its namespace, its name and its port; None for an endpoint
            of it, else its cluster IP.
        pod_server: functions behind the ports of simulated pods, of
            `kubetrio.embedding.serve_pods`.
        kept: set where the objects are those that a stopped server has left.
        open_store: opens the store for as long as a block lasts.
        around: takes what answers requests and returns what connections ask in its place; clients
            without sockets do not ask it.
    """

    kinds: Sequence[Kind] = ()
    authorizers: Sequence[authorization.Authorizer] = ()
    admission: Sequence[Plugin] = ()
    controllers: Mapping[str, Controllers] = field(default_factory=dict)
    resolve_service: ResolveService | None = None
    pod_server: PodServer | None = None
    kept: Kept | None = None
    open_store: Callable[[Config, Env], AbstractAsyncContextManager[Store]] = own_store
    around: Callable[[Handle], Handle] | None = None


@asynccontextmanager
async def open_plain(
    parts: Parts, config: Config, encryption: Encryption | None, env: Env
) -> AsyncIterator[Store]:
    """Open the store as the rest of the server uses it: plain.

    Args:
        parts: what an embedder adds.
        config: of the server.
        encryption: how what is stored is encrypted, if it is.
        env: clocks, randomness and threads.

    Raises:
        StoreError: the store cannot be opened.
    """
    if encryption is not None and parts.open_store is own_store:
        open_encrypted = engines.chosen(config).open_encrypted
        if open_encrypted is not None:
            async with open_encrypted(config, env, encryption) as store:
                yield store
            return
    async with parts.open_store(config, env) as engine, encrypted(encryption, engine, env) as plain:
        yield plain


@asynccontextmanager
async def encrypted(encryption: Encryption | None, store: Store, env: Env) -> AsyncIterator[Store]:
    """A store as the rest of the server uses it.

    Args:
        encryption: how it is encrypted, if it is.
        store: where values are kept.
        env: threads.
    """
    if encryption is not None:
        async with encryption.over(store) as plain:
            yield plain
    elif noted := await noted_folders(store):
        from kubetrio.encryption.control import guarded

        log.warning(
            "encrypted objects are answered with 500: there is no --encryption-provider-config",
            folders=",".join(sorted(noted)),
        )
        yield guarded(store, env, noted)
    else:
        yield store
