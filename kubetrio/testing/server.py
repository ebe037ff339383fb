"""A complete server in memory: the pipeline of `kubetrio.server` on a seeded Env, no sockets.

Blocking calls run inline, randomness is seeded and the wall clock is tied to Trio's: under a mock
clock, which may jump, the same script gets the same bytes.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import trio

from kubetrio.api.pipeline import Handle, Pipeline
from kubetrio.auth.issuing import TokenIssuer
from kubetrio.bootstrap.authorities import Trusted
from kubetrio.client.client import LOOPBACK
from kubetrio.client.client import Client as InProcessClient
from kubetrio.config import Admission, Config, Serving, Storage
from kubetrio.env import Env, seeded
from kubetrio.harness.scheduler import seed_scheduler
from kubetrio.harness.transport import CAPACITY_BYTES
from kubetrio.http.bridge import Bridge
from kubetrio.http.connections import ConnectionLimits, Connections, connection_families
from kubetrio.http.limits import H1Config
from kubetrio.http.serve import Listener, bind
from kubetrio.http.shown import ClientAuthorities
from kubetrio.http.tls import Security, TlsConfig
from kubetrio.machinery.identity import UserInfo
from kubetrio.runtime.groups import ungrouped
from kubetrio.server.assembly import Assembly
from kubetrio.server.backgroundtasks import BackgroundTasks
from kubetrio.server.composition import known_names, open_core
from kubetrio.server.files import load_files
from kubetrio.server.health import State
from kubetrio.server.parts import Parts
from kubetrio.server.resetting import SnapshotRestorer
from kubetrio.testing.client import ADMIN, Client, connect
from kubetrio.tls.pki import Pki

ADDRESS = "192.0.2.10"  # only words in documents: nothing listens
PORT = 6443
ACCOUNTS = ("ServiceAccount",)
"""Off where controllers do not run: no controller makes the accounts that the plugin looks for, and
it would refuse every pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InProcess:
    """A server without sockets.

    Args:
        assembly: its pipeline, and what runs beside that.
        env: its clocks and randomness.
        config: how it was made.
        state: what its health checks look at.
        resets: goes back to former states.
    """

    assembly: Assembly
    env: Env
    config: Config
    state: State
    resets: SnapshotRestorer

    @property
    def api(self) -> Pipeline:
        """The pipeline."""
        return self.assembly.api

    def client(self, user: UserInfo = LOOPBACK) -> InProcessClient:
        """A client without bytes; see `kubetrio.server.Server.client`."""
        return InProcessClient(self.api.handle, self.api.storage.registry, user)

    async def settled(self) -> None:
        """Wait until no controller has anything to do; see `kubetrio.server.Server.settled`."""
        await self.resets.settled()

    def connect(
        self,
        *,
        certificate: UserInfo | None = ADMIN,
        config: H1Config | None = None,
        capacity: int = CAPACITY_BYTES,
    ) -> AbstractAsyncContextManager[Client]:
        """Open a connection; see `kubetrio.testing.client.connect`."""
        return connect(
            self.api.handle, self.env, certificate=certificate, config=config, capacity=capacity
        )


def in_memory(data_dir: Path) -> Config:
    """How a server without sockets is made, unless a test says otherwise."""
    return Config(
        data_dir=data_dir,
        admission=Admission(disable_plugins=ACCOUNTS),
        serving=Serving(secure_port=PORT),
        storage=Storage(durability="normal"),
    )


@ungrouped
@asynccontextmanager
async def open_api(
    *,
    seed: int = 0,
    env: Env | None = None,
    config: Config | None = None,
    parts: Parts | None = None,
    issuer: TokenIssuer | None = None,
    kept: bool = False,
) -> AsyncIterator[InProcess]:
    """Run a server for as long as the block lasts, on a data directory of its own.

    Args:
        seed: seed of its randomness and of Trio's scheduler.
        env: clocks and randomness instead of those made from `seed`; the scheduler is left alone.
        config: another configuration; a temporary data directory without durability when None.
        parts: what is added to it.
        issuer: signs service account tokens; the key that the configuration names when None.
        kept: whether it also does what a server does of its own accord.
    """
    if env is None:
        env = seeded(seed)
        seed_scheduler(seed)
    with tempfile.TemporaryDirectory(prefix="kubetrio-") as directory:
        config = config or in_memory(Path(directory))
        port = config.serving.secure_port
        parts = parts or Parts()
        known_names(config, parts)
        files = load_files(config, parts.admission)
        issuer = issuer or files.issuer
        async with open_core(config, files, env, parts, port, Trusted(), issuer) as core:
            unused = Connections(ConnectionLimits())  # nothing listens; the metrics are the same
            core.api.edge.metrics.gathered.add(partial(connection_families, [unused]))
            core.api.edge.metrics.gathered.add(ClientAuthorities().families)
            async with trio.open_nursery() as nursery:
                resets = SnapshotRestorer(core.api, BackgroundTasks({}, [], {}), ())
                if kept:
                    resets = await core.keep(nursery)
                yield InProcess(
                    assembly=core.assembly, env=env, config=config, state=core.state, resets=resets
                )
                nursery.cancel_scope.cancel()


def bridge_to(handle: Handle, env: Env, config: H1Config | None = None) -> Bridge:
    """What serves connections that the fast loop gives away."""
    config = config or H1Config()
    return Bridge(handle, write_timeout_s=config.write_timeout_s, env=env)


@asynccontextmanager
async def listening(
    handle: Handle,
    env: Env,
    made: Pki,
    config: H1Config | None = None,
    limits: ConnectionLimits | None = None,
    tls: Security | None = None,
) -> AsyncIterator[Listener]:
    """Serve a pipeline on a TLS socket of 127.0.0.1, any free port.

    Args:
        handle: the pipeline, such as ``api.handle``.
        env: wall clock.
        made: certificates.
        config: limits of a connection.
        limits: how many connections there may be.
        tls: how TLS is spoken; by these certificates when None.
    """
    config = config or H1Config()
    tls = tls or Security(
        TlsConfig(certificate=made.serving.cert, key=made.serving.key, client_ca=made.ca.cert)
    )
    bridge = bridge_to(handle, env, config)
    limits = limits or ConnectionLimits()
    listener = Listener(bind("127.0.0.1", 0), tls, handle, config, env, bridge, limits)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listener.run, name="listener")
        yield listener
        nursery.cancel_scope.cancel()
