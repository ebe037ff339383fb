"""The embedding API: `open_server`, and what runs from start to stop.

With `assembly`, which makes the parts, the only module that knows every room.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import trio

from kubetrio import kubeconfig
from kubetrio.api.pipeline import Pipeline
from kubetrio.auth.issuedtokens import token_issuer
from kubetrio.auth.issuing import TokenIssuer
from kubetrio.auth.keys import KeyFileError
from kubetrio.auth.trust import RootBundle
from kubetrio.bootstrap.authorities import Proxies, Trusted, own_front_proxy
from kubetrio.bootstrap.lease import IdentityLease
from kubetrio.bootstrap.masterleases import MasterLeases
from kubetrio.client.client import LOOPBACK, Client
from kubetrio.config import Config
from kubetrio.env import Env
from kubetrio.http.heap import trim_heap
from kubetrio.http.tls import Security
from kubetrio.machinery.identity import UserInfo
from kubetrio.observe.logs import Log
from kubetrio.runtime.files import exposed, owner_of
from kubetrio.runtime.groups import ungrouped
from kubetrio.runtime.supervise import run_forever_with_backoff
from kubetrio.schema import builtin
from kubetrio.server import tlsfiles
from kubetrio.server.assembly import Assembly
from kubetrio.server.composition import check_files, known_names, open_core
from kubetrio.server.edge import bracketed
from kubetrio.server.files import Files, StartError
from kubetrio.server.health import State
from kubetrio.server.listening import Listeners, opened
from kubetrio.server.parts import Parts
from kubetrio.server.private import placed
from kubetrio.server.resetting import ResetError, Snapshot, SnapshotRestorer
from kubetrio.server.serverclock import TrioClock
from kubetrio.tls import pki

if TYPE_CHECKING:
    from kubetrio.faults import Injector

__all__ = ["ResetError", "Server", "Snapshot", "StartError", "open_server"]

log = Log("kubetrio.server")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A running server.

    Args:
        config: how it was started.
        url: where it listens, ``https://host:port``; ``http://`` with a plain port alone,
            ``unix://`` with a Unix socket alone, empty where nothing listens.
        assembly: its pipeline, and what runs beside that.
        pki: its certificates.
        listeners: its connections.
        state: what health checks look at.
        lease: what says that it is there.
        resets: goes back to former states.
        servers: says which servers there are, None where this is the only one.
        home: the run that it is in.
    """

    config: Config
    url: str
    assembly: Assembly
    pki: pki.Pki
    listeners: Listeners
    state: State
    lease: IdentityLease
    resets: SnapshotRestorer
    servers: MasterLeases | None
    home: trio.lowlevel.TrioToken = field(default_factory=trio.lowlevel.current_trio_token)

    @property
    def api(self) -> Pipeline:
        """The pipeline, for in-process clients."""
        return self.assembly.api

    def client(self, user: UserInfo = LOOPBACK) -> Client:
        """A client without sockets, whose requests go through all that others' go through.

        Args:
            user: who asks; the server itself unless told otherwise, which may do everything.
        """
        return Client(self.api.handle, self.api.storage.registry, user, home=self.home)

    @property
    def clock(self) -> TrioClock:
        """The clock of this run, to be moved in tests."""
        return TrioClock(self.settled)

    async def stop(self) -> None:
        """Stop in order: not ready, streams end, requests in flight finish, within a limit.

        Leaving `open_server` does the same; calling it twice is fine.
        """
        if self.state.stopping:
            return
        self.state.stop()
        with trio.move_on_after(self.config.serving.shutdown_grace_s):
            if self.servers is not None:
                await self.servers.stop()
            await self.lease.stop()
        await trio.sleep(self.config.serving.shutdown_delay_s)
        self.api.end_streams()
        self.api.edge.flow.close()
        await self.listeners.stop()

    async def until_signal(self) -> None:
        """Wait until the process is told to end, by SIGINT (Ctrl-C) or SIGTERM.

        For programs whose main thread runs Trio; leaving `open_server` then stops in order.
        """
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for _ in signals:
                return

    async def snapshot(self) -> Snapshot:
        """Remember what is stored, when the controllers have done what there is to do.

        It costs what changes from now on; `close` it when it is not needed any more.
        """
        return await self.resets.snapshot()

    async def reset(self, snapshot: Snapshot) -> None:
        """Bring back what was stored, in all parts of the server, and end all watches.

        resourceVersions go on growing, so that a client that watched goes on from where it was and
        is told of what went and what came back.  A snapshot may be gone back to again and again.
        Faults end, but for those of ``--faults``, which begin anew.

        Raises:
            ResetError: requests do not end, or another writer goes on.
            StoreError: it cannot be written.
        """
        self.api.faults.reset()
        await self.resets.reset(snapshot)

    @property
    def faults(self) -> Injector:
        """What goes wrong on demand: its `add` puts a `kubetrio.faults.Rule` in force."""
        return self.api.faults

    async def settled(self) -> None:
        """Wait until no controller has anything to do but what is delayed."""
        await self.resets.settled()

    @property
    def port(self) -> int:
        """The TCP port that clients reach, the secure one if there is one.

        Raises:
            ValueError: there is none.
        """
        port = urlsplit(self.url).port
        if port is None:
            raise ValueError("the server listens on no TCP port")
        return port

    def kubeconfig(self) -> dict[str, object]:
        """An admin kubeconfig with inline certificates, for the one that its address is shown.

        Raises:
            KubeconfigError: the server listens on no TCP port, and a kubeconfig names nothing else.
        """
        if not self.url.startswith("http"):
            raise kubeconfig.KubeconfigError(
                "no kubeconfig can name this server: it listens on no TCP port; "
                "see --secure-serving and --plain-port"
            )
        shown = self.shown()
        return kubeconfig.build(
            self.config.name,
            self.url,
            shown.authority,
            self.pki.admin.cert.read_bytes(),
            self.pki.admin.key.read_bytes(),
            shown.server_name,
        )

    def shown(self) -> tlsfiles.Shown:
        """What clients that connect to `url` are shown."""
        return tlsfiles.shown(self.config, self.pki)

    def root_bundle(self) -> bytes:
        """Authorities that verify what clients are shown, PEM, as for ``kube-root-ca.crt``."""
        return tlsfiles.root_bundle(self.config, self.pki)


def _warn_of_exposed(config: Config) -> None:
    """Say what others can use: the plain port, and secrets that are not only the owner's."""
    if config.local.plain_port is not None:
        log.warning(
            "each process that reaches the plain port is administrator", flag="--plain-port"
        )
    given = (
        config.auth.token_auth_file,
        config.serving.tls_private_key_file,
        config.service_accounts.signing_key_file,
        *(pair.key for pair in config.serving.tls_sni_cert_key),
        config.kubelet.client_key,
        config.aggregation.client_key_file,
        config.encryption.provider_config,
    )
    own = [*sorted(config.data_dir.glob("*.db*")), *sorted(config.pki_dir.glob("*.key"))]
    for path in [config.data_dir, *own, *filter(None, given)]:
        mend = exposed(path)
        if mend is not None:
            log.warning("others can use what holds secrets", path=str(path), mend=mend)
    other = owner_of(config.data_dir)
    if other:
        log.warning("the data directory is another user's", path=str(config.data_dir), owner=other)


def _proxies(
    config: Config, made: pki.Pki, clients: Sequence[bytes], proxies: Sequence[bytes]
) -> Proxies:
    """How authenticating proxies name users.

    Where nothing is said, it is how this server names them to aggregated ones by a certificate of
    its own authority: they find its authority here.

    Raises:
        StartError: any client could name any user.
    """
    chosen = config.authenticators
    if chosen.requestheader_client_ca_file is None:
        given = config.aggregation.client_cert_file is not None
        own = made.front_proxy_ca.cert
        return Proxies() if given or not own.exists() else own_front_proxy(own.read_text())
    both = set(clients).intersection(proxies)
    if both and not chosen.requestheader_allowed_names:
        raise StartError(
            "--requestheader-client-ca-file and --client-ca-file contain overlapping certificates; "
            "--requestheader-allowed-names must be specified to ensure regular client certificates "
            "cannot set authenticating proxy headers for arbitrary users"
        )
    return Proxies(
        ca=tlsfiles.text_of(proxies),
        usernames=chosen.requestheader_username_headers,
        uids=chosen.requestheader_uid_headers,
        groups=chosen.requestheader_group_headers,
        prefixes=chosen.requestheader_extra_headers_prefix,
        allowed=chosen.requestheader_allowed_names,
    )


def _lease(config: Config, api: Pipeline, env: Env, port: int) -> IdentityLease:
    """What says that the server is there."""
    return IdentityLease(
        api.storage.registry,
        api.writes.operations,
        api.storage.store,
        env,
        hostname=env.hostname(),
        address=f"{bracketed(config.serving.public_address)}:{port}",
        renew_s=config.storage.lease_renew_s,
    )


def _upkeep(config: Config, env: Env) -> dict[str, Callable[[], Awaitable[object]]]:
    """Tasks of the process, by name: certificates are renewed, and memory goes to the system."""
    return {
        "certificates": partial(tlsfiles.renew, config, env),
        "heap": partial(trim_heap, env.run_blocking),
    }


@ungrouped
@asynccontextmanager
async def open_server(
    config: Config,
    env: Env | None = None,
    parts: Parts | None = None,
    listening: socket.socket | None = None,
) -> AsyncIterator[Server]:
    """Run a server for as long as the block lasts; leaving it shuts down in order.

    What the block raises leaves it as it is, not in a group, unless more goes wrong with it.
    Nothing is written before the address is bound and all files that the configuration names have
    been read and checked.

    Args:
        config: how.
        env: clocks, randomness and threads; the real ones when None.
        parts: kinds, authorizers, admission plugins or a store of your own.
        listening: socket that listens already, non-blocking, closed at the end; bound as the
            configuration says when None.

    Raises:
        StartError: a file, address or certificate cannot be used; one line says which.
        StoreError: the data directory is in use, foreign or damaged.
    """
    with placed(config) as at:
        async with _opened(at, env or Env(), parts or Parts(), listening) as server:
            yield server


@asynccontextmanager
async def _opened(
    config: Config, env: Env, parts: Parts, listening: socket.socket | None
) -> AsyncIterator[Server]:
    _known_gates(config)
    known_names(config, parts)
    sockets = opened(config, listening)
    port = sockets.port
    try:
        files = check_files(config, parts)
        pki_files, issuer, tls, trusted = _own_files(config, files, env)
        async with open_core(config, files, env, parts, port, trusted, issuer) as core:
            api = core.api
            handle = api.handle if parts.around is None else parts.around(api.handle)
            listeners = Listeners(config, api, sockets, tls, env, handle)
            tlsfiles.watch(api, core.assembly.reloader, config, tls, trusted, pki_files)
            async with trio.open_nursery() as nursery:
                lease = _lease(config, api, env, port)
                resets = await core.keep(nursery, spared=[lease.key])
                for name, task in _upkeep(config, env).items():
                    nursery.start_soon(run_forever_with_backoff, task, name, name=name)
                await lease.start()
                nursery.start_soon(
                    run_forever_with_backoff, lease.run, "identity lease", name="identity lease"
                )
                listeners.begin(nursery)
                server = Server(
                    config=config,
                    url=sockets.url(config),
                    assembly=core.assembly,
                    pki=pki_files,
                    listeners=listeners,
                    state=core.state,
                    lease=lease,
                    resets=resets,
                    servers=core.servers,
                )
                yield server
                await server.stop()
                nursery.cancel_scope.cancel()
    finally:
        sockets.close()


def _own_files(
    config: Config, files: Files, env: Env
) -> tuple[pki.Pki, TokenIssuer, Security, Trusted]:
    """Make what is missing of the data directory and the certificates, and read them.  Blocking.

    Raises:
        StartError: a file cannot be used or written; one line says which.
    """
    try:
        config.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StartError(f"cannot make --data-dir {config.data_dir}: {error.strerror}") from error
    try:
        pki_files = tlsfiles.own_certificates(config, env)
        issuer = token_issuer(config, files.issuer, pki_files.sa_key)
        _warn_of_exposed(config)
        tls = tlsfiles.security(
            config, pki_files, config.authenticators.requestheader_client_ca_file
        )
        clients, proxies = tls.authorities
        trusted = Trusted(
            tlsfiles.text_of(clients),
            _proxies(config, pki_files, clients, proxies),
            root=RootBundle(tlsfiles.root_bundle(config, pki_files).decode(errors="replace")),
            signing=tlsfiles.signing_pair(config, pki_files),
        )
    except (pki.PkiError, KeyFileError) as error:
        raise StartError(str(error)) from error
    return pki_files, issuer, tls, trusted


def _known_gates(config: Config) -> None:
    if config.feature_gates:
        known = builtin.load("flags")["featureGates"]
        for name in config.feature_gates:
            if name not in known:
                raise StartError(f"--feature-gates: unrecognized feature gate: {name}")
