"""Encryption of one server: from its file to its store, and what goes on while it runs.

Source: k8s.io/apiserver/pkg/server/options/etcd.go, options/encryptionconfig/controller.
"""

from __future__ import annotations

import base64
import hashlib
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final, NoReturn

import trio

from kubetrio.encryption.configuration import EncryptionConfig, EncryptionConfigError, Kms
from kubetrio.encryption.enginecipher import EngineCipher, Resolve
from kubetrio.encryption.folders import Folders
from kubetrio.encryption.kms import Envelope
from kubetrio.encryption.kmsplugin import GrpcService, Latency, Service
from kubetrio.encryption.metrics import EncryptionMetrics
from kubetrio.encryption.note import noted_folders
from kubetrio.encryption.providers import Transforms, build, read
from kubetrio.encryption.sealed import EncryptingStore
from kubetrio.encryption.transformers import TransformError
from kubetrio.env import Env
from kubetrio.gotext.text import aggregate
from kubetrio.kinds.builtin import registry
from kubetrio.machinery.names import GroupResource
from kubetrio.observe.logs import Log
from kubetrio.resources.objects import restamp
from kubetrio.runtime.supervise import run_forever_with_backoff
from kubetrio.store.model import Store

LOG = Log("kubetrio.encryption")

POLL_S: Final = 5.0  # how often the file is looked at
HEALTHY_WITHIN_S: Final = 10.0  # plugins of a new file, at least
HEALTHY_AGAIN_S: Final = 1.0
MakeService = Callable[[str, float, Latency], Service]
"""Opens the plugin at an endpoint, with a time-out in seconds."""


def server_id() -> str:
    """The identity of a server: of its host, as kube-apiserver makes it."""
    hashed = hashlib.sha256(socket.gethostname().encode()).digest()[:16]
    return "apiserver-" + base64.b32encode(hashed).decode().rstrip("=").lower()


def folders() -> Folders:
    """Which built-in resource is in which folder of the store."""
    resources: dict[str, GroupResource] = {}
    for kind in registry().resources.values():
        if kind.storage_prefix:
            # Of resources in several groups, that in which they are stored comes first.
            resources.setdefault(kind.storage_prefix, kind.stored.group_resource)
    return Folders(resources)


class Encryption:
    """Encryption of one server.

    Args:
        path: the file.
        config: what it says.
        env: clocks, randomness and threads.
        reload: whether the file is read again when it changes.
        service: opens a plugin.
        identity: of the server, for metrics.

    Raises:
        EncryptionConfigError: a plugin cannot be used.
    """

    def __init__(
        self,
        path: Path,
        config: EncryptionConfig,
        env: Env,
        *,
        reload: bool,
        service: MakeService = GrpcService,
        identity: str = "",
    ) -> None:
        self.path = path
        self.reloads = reload
        self.metrics = EncryptionMetrics(env, identity or server_id())
        self._env = env
        self._service = service
        self._nursery: trio.Nursery | None = None
        self._scopes: dict[int, trio.CancelScope] = {}
        self._failed = ""  # what was last said of a file that is not good
        self._use: Callable[[Resolve], None] | None = None
        self.transforms = self._made(config)
        self.metrics.configured(self.transforms.digest)

    def _made(self, config: EncryptionConfig) -> Transforms:
        return build(config, self._envelope, self.metrics.reporting)

    def _envelope(self, kms: Kms) -> Envelope:
        latency = partial(self.metrics.called, kms.name)
        service = self._service(kms.endpoint, kms.timeout_s, latency)
        return Envelope(kms.name, service, self._env, self.metrics)

    @asynccontextmanager
    async def over(self, store: Store) -> AsyncIterator[Store]:
        """A store that encrypts on the way to another, as long as the block lasts.

        Args:
            store: the other one.
        """
        noted = await noted_folders(store)
        resolve = self.transforms.resolve
        plain = EncryptingStore(store, folders(), resolve, restamp, self._env, noted)
        async with self._followed(plain.use):
            yield plain

    @asynccontextmanager
    async def cipher(self) -> AsyncIterator[EngineCipher]:
        """Cipher of an engine that encrypts by itself, as long as the block lasts."""
        resolve = self.transforms.resolve
        cipher = EngineCipher(folders(), resolve, self._generation, self._env)
        async with self._followed(cipher.use):
            yield cipher

    def _generation(self) -> tuple[str, ...]:
        """Return what values are written with: the file's digest, and the keys of its plugins."""
        transforms = self.transforms
        return transforms.digest, *(envelope.key_id for envelope in transforms.envelopes)

    @asynccontextmanager
    async def _followed(self, use: Callable[[Resolve], None]) -> AsyncIterator[None]:
        """Keep up with plugins and file as long as the block lasts.

        Args:
            use: takes another configuration.
        """
        async with trio.open_nursery() as nursery:
            self._nursery, self._use = nursery, use
            try:
                for envelope in self.transforms.envelopes:
                    await envelope.healthy()  # so that values can be read at once
                self._follow(self.transforms)
                if self.reloads:
                    name = "encryption configuration"
                    nursery.start_soon(run_forever_with_backoff, self._reload, name, name=name)
                yield
            finally:
                nursery.cancel_scope.cancel()
                self.transforms.close()

    def _follow(self, transforms: Transforms) -> None:
        """Keep up with the plugins of a configuration."""
        if self._nursery is None:
            raise AssertionError("the store is open")
        scope = self._scopes[id(transforms)] = trio.CancelScope()

        async def follow() -> None:
            with scope:
                async with trio.open_nursery() as nursery:
                    for envelope in transforms.envelopes:
                        name = f"KMS provider {envelope.name}"
                        nursery.start_soon(run_forever_with_backoff, envelope.run, name, name=name)

        self._nursery.start_soon(follow, name="KMS providers")

    async def _let_go(self, transforms: Transforms) -> None:
        """Let go of plugins of a configuration of before, when calls of them have ended."""
        try:
            await trio.sleep(transforms.grace_s)
        finally:
            scope = self._scopes.pop(id(transforms), None)
            if scope is not None:
                scope.cancel()
            transforms.close()

    # ------------------------------------------------------------------ health

    @property
    def checked(self) -> bool:
        """Whether there is a health check of it: with plugins, or where some may come."""
        return self.reloads or bool(self.transforms.envelopes)

    async def unhealthy(self) -> str | None:
        """What is wrong with the plugins, None for nothing."""
        return await _unhealthy(self.transforms)

    # ------------------------------------------------------------------ reload

    async def _reload(self) -> NoReturn:
        while True:
            await trio.sleep(POLL_S)
            await self.look()

    async def look(self) -> None:
        """Read the file again if it has changed; the old content stays in force if it is bad."""
        try:
            new = await self._changed()
            if new is None:
                return
            try:
                await _until_healthy(new)
            except BaseException:
                new.close()
                raise
        except (EncryptionConfigError, TransformError) as error:
            self.metrics.reloaded("failure")
            if str(error) != self._failed:
                self._failed = str(error)
                LOG.error(error, "error processing encryption config file", path=str(self.path))
            return
        old, self.transforms = self.transforms, new
        self._failed = ""
        if self._use is None or self._nursery is None:
            raise AssertionError("the store is open")
        self._use(new.resolve)
        self._follow(new)
        self._nursery.start_soon(self._let_go, old, name="old KMS providers")
        self.metrics.reloaded("success")
        self.metrics.configured(new.digest)
        LOG.info("Loaded new encryption config content", path=str(self.path), digest=new.digest)

    async def _changed(self) -> Transforms | None:
        config = await self._env.run_blocking(partial(read, self.path, reload=True))
        if config.digest == self.transforms.digest:
            return None
        return build(config, self._envelope, self.metrics.reporting)


async def _unhealthy(transforms: Transforms) -> str | None:
    wrong: list[str] = []
    for place, envelope in enumerate(transforms.envelopes):
        error = await envelope.healthy()
        if error is not None:
            wrong.append(f"kms-provider-{place}: {error}")
    return aggregate(wrong) or None


async def _until_healthy(transforms: Transforms) -> None:
    """Wait until the plugins of a new configuration are well.

    Raises:
        TransformError: they are not, in time.
    """
    deadline = trio.current_time() + max(transforms.grace_s, HEALTHY_WITHIN_S)
    wrong = await _unhealthy(transforms)
    while wrong is not None:
        if trio.current_time() >= deadline:
            raise TransformError(
                "health check for new transformers failed, polling error context deadline "
                f"exceeded: {wrong}"
            )
        await trio.sleep(HEALTHY_AGAIN_S)
        wrong = await _unhealthy(transforms)


def guarded(store: Store, env: Env, noted: frozenset[str]) -> Store:
    """A store without a configuration that has encrypted values, which are refused.

    Args:
        store: where values are kept.
        env: threads.
        noted: folders in which they are.
    """
    return EncryptingStore(store, folders(), lambda _: None, restamp, env, noted)
