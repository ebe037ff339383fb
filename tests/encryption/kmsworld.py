"""KMS plugins of tests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import trio

from kubetrio.encryption.kms import Envelope
from kubetrio.encryption.kmsplugin import Encrypted, Status
from kubetrio.encryption.metrics import EncryptionMetrics
from kubetrio.encryption.transformers import TransformError
from kubetrio.env import Env, seeded
from kubetrio.testing.kms import Plugin, mixed


@dataclass
class Answers:
    """A plugin without a socket: answers by a `Plugin`'s rules.

    Args:
        plugin: what it does.
        before: waited for in each call.
    """

    plugin: Plugin
    before: Callable[[], Awaitable[None]] | None = None
    calls: list[str] = field(default_factory=list)

    async def _called(self, method: str) -> None:
        self.calls.append(method)
        await trio.lowlevel.checkpoint()
        if self.before is not None:
            await self.before()
        if self.plugin.failing:
            raise TransformError(self.plugin.failing, "Unavailable")

    async def status(self) -> Status:
        await self._called("Status")
        return Status(self.plugin.version, self.plugin.healthz, self.plugin.key_id)

    async def encrypt(self, uid: str, plaintext: bytes) -> Encrypted:
        await self._called("Encrypt")
        key_id = self.plugin.encrypts_with or self.plugin.key_id
        made = self.plugin.ciphertext
        made = mixed(plaintext, key_id) if made is None else made
        return Encrypted(made, key_id, self.plugin.annotations)

    async def decrypt(self, uid: str, encrypted: Encrypted) -> bytes:
        await self._called("Decrypt")
        return mixed(encrypted.ciphertext, encrypted.key_id)

    def close(self) -> None:
        pass


def envelope(answers: Answers, env: Env | None = None) -> Envelope:
    env = env or seeded(1)
    return Envelope("plug", answers, env, EncryptionMetrics(env, "server"))


def _config(endpoint: str) -> str:
    return (
        "kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\nresources:\n"
        "- resources: [secrets]\n  providers:\n"
        f"  - kms: {{apiVersion: v2, name: plug, endpoint: '{endpoint}', timeout: 500ms}}\n"
    )
