"""Calls of a KMS plugin, by gRPC over a Unix socket.

grpcio works in threads of its own; a call here waits for one of its futures without blocking.

Source: k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2/grpc_service.go, k8s.io/kms.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from urllib.parse import unquote, urlsplit

import trio

from kubetrio.encryption import kmsmessages
from kubetrio.encryption.transformers import TransformError
from kubetrio.env import monotonic

INSTALL: Final = "install it in a checkout with pip install '.[kms]'"
MAX_MESSAGE_BYTES: Final = 4 * 1024 * 1024  # what grpc-go takes
Latency = Callable[[str, str, float], None]
"""Hears of each call: its method, its status in gRPC's words, and seconds."""


@dataclass(frozen=True, slots=True)
class Status:
    """What a plugin says of itself."""

    version: str
    healthz: str
    key_id: str


@dataclass(frozen=True, slots=True)
class Encrypted:
    """What a plugin made of a key."""

    ciphertext: bytes
    key_id: str
    annotations: Mapping[str, bytes] = field(default_factory=dict)


class Service(Protocol):
    """What is asked of a plugin; each may raise `TransformError`."""

    async def status(self) -> Status:
        """How it is, and which key it encrypts with."""
        ...

    async def encrypt(self, uid: str, plaintext: bytes) -> Encrypted:
        """Encrypt a key."""
        ...

    async def decrypt(self, uid: str, encrypted: Encrypted) -> bytes:
        """Decrypt what `encrypt` made."""
        ...

    def close(self) -> None:
        """Let go of the connection."""
        ...


def socket_of(endpoint: str) -> str:
    """The target of an endpoint, ``unix:///run/kms.sock``; ``/@`` begins an abstract name."""
    path = unquote(urlsplit(endpoint).path)
    return f"unix-abstract:{path[2:]}" if path.startswith("/@") else f"unix:{path}"


def available() -> bool:
    """Whether grpcio is installed."""
    from importlib.util import find_spec

    return find_spec("grpc") is not None


class GrpcService:
    """A plugin behind a Unix socket.

    Args:
        endpoint: URL of the socket.
        timeout_s: how long a call may take, seconds.
        latency: hears of each call.
    """

    def __init__(self, endpoint: str, timeout_s: float, latency: Latency) -> None:
        import grpc  # type: ignore[import-untyped]

        self._grpc: Any = grpc
        self._timeout_s = timeout_s
        self._latency = latency
        self._channel: Any = grpc.insecure_channel(
            socket_of(endpoint),
            options=(
                ("grpc.default_authority", "localhost"),
                ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
                ("grpc.enable_http_proxy", 0),
                # A plugin that comes up late is found soon.
                ("grpc.max_reconnect_backoff_ms", 5000),
            ),
        )
        self._methods: dict[str, Any] = {
            method: self._channel.unary_unary(f"/{kmsmessages.SERVICE}/{method}")
            for method in kmsmessages.METHODS
        }

    def close(self) -> None:
        """See `Service.close`."""
        self._channel.close()

    async def _call(self, method: str, request: bytes) -> Any:
        """Call a method and decode what it answers.

        Raises:
            TransformError: it fails, takes too long or answers what cannot be read.
        """
        began = monotonic()
        done = trio.Event()
        token = trio.lowlevel.current_trio_token()

        def finished(_: object) -> None:
            with contextlib.suppress(trio.RunFinishedError):
                token.run_sync_soon(done.set)

        # Serializers are absent: bytes go as they are.
        future = self._methods[method].future(request, timeout=self._timeout_s, wait_for_ready=True)
        future.add_done_callback(finished)
        try:
            await done.wait()
        finally:
            if not done.is_set():
                future.cancel()
        code = "OK"
        try:
            return kmsmessages.decode(f"{method}Response", future.result())
        except self._grpc.RpcError as error:
            code = _camel(error.code().name)
            why = error.details() or ""
            if code == "DeadlineExceeded":
                why = "context deadline exceeded"
            raise TransformError(f"rpc error: code = {code} desc = {why}", code) from error
        except ValueError as error:
            code = "Internal"
            why = f"grpc: failed to unmarshal the received message: {error}"
            raise TransformError(f"rpc error: code = {code} desc = {why}", code) from error
        finally:
            self._latency(f"/{kmsmessages.SERVICE}/{method}", code, monotonic() - began)

    async def status(self) -> Status:
        """See `Service.status`."""
        answer = await self._call("Status", b"")
        return Status(answer.version, answer.healthz, answer.key_id)

    async def encrypt(self, uid: str, plaintext: bytes) -> Encrypted:
        """See `Service.encrypt`."""
        request = kmsmessages.encode("EncryptRequest", plaintext=plaintext, uid=uid)
        answer = await self._call("Encrypt", request)
        return Encrypted(answer.ciphertext, answer.key_id, kmsmessages.annotations_of(answer))

    async def decrypt(self, uid: str, encrypted: Encrypted) -> bytes:
        """See `Service.decrypt`."""
        request = kmsmessages.encode(
            "DecryptRequest",
            ciphertext=encrypted.ciphertext,
            uid=uid,
            key_id=encrypted.key_id,
            annotations=encrypted.annotations,
        )
        plaintext: bytes = (await self._call("Decrypt", request)).plaintext
        return plaintext


def _camel(name: str) -> str:
    """A status as Go prints it: ``DEADLINE_EXCEEDED`` is ``DeadlineExceeded``."""
    if name == "OK":
        return name
    return "Canceled" if name == "CANCELLED" else name.replace("_", " ").title().replace(" ", "")
