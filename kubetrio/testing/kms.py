"""A KMS plugin for tests, on a Unix socket: its keys are numbers, its faults are set from outside.

It is no safe place for a key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kubetrio.encryption import kmsmessages

ANNOTATION = "version.plugin.example.com"


def mixed(data: bytes, key_id: str) -> bytes:
    """Data that only the same key makes readable again; the key mixed in twice is none."""
    pad = hashlib.shake_256(key_id.encode()).digest(len(data))
    return bytes(one ^ other for one, other in zip(data, pad, strict=True))


@dataclass
class Plugin:
    """What the plugin does.

    Args:
        key_id: of the key that it encrypts with.
        healthz: what it says of itself.
        version: of the API, as it says.
        encrypts_with: another key for encryption than it tells; a lie.
        ciphertext: answered by encryption whatever is asked, if not None.
        annotations: of what it encrypts.
        failing: why each call fails; not when empty.
        garbage: whether answers are no messages.
        silent: whether no call is answered in time.
        calls: methods that were called.
    """

    key_id: str = "1"
    healthz: str = "ok"
    version: str = "v2"
    encrypts_with: str = ""
    ciphertext: bytes | None = None
    annotations: dict[str, bytes] = field(default_factory=lambda: {ANNOTATION: b"1"})
    failing: str = ""
    garbage: bool = False
    silent: bool = False
    calls: list[str] = field(default_factory=list)

    def answer(self, method: str, request: bytes, context: Any) -> bytes:
        """Answer a call."""
        import grpc  # type: ignore[import-untyped]

        self.calls.append(method)
        if self.silent:
            context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "silent")
        if self.failing:
            context.abort(grpc.StatusCode.UNAVAILABLE, self.failing)
        if self.garbage:
            return b"\xff\xff\xff"
        asked = kmsmessages.decode(f"{method}Request", request)
        if method == "Status":
            return kmsmessages.encode(
                "StatusResponse", version=self.version, healthz=self.healthz, key_id=self.key_id
            )
        if method == "Decrypt":
            plain = mixed(asked.ciphertext, asked.key_id)
            return kmsmessages.encode("DecryptResponse", plaintext=plain)
        key_id = self.encrypts_with or self.key_id
        ciphertext = mixed(asked.plaintext, key_id) if self.ciphertext is None else self.ciphertext
        return kmsmessages.encode(
            "EncryptResponse", ciphertext=ciphertext, key_id=key_id, annotations=self.annotations
        )


@contextmanager
def serving(plugin: Plugin, socket: Path) -> Iterator[str]:
    """Serve a plugin as long as the block lasts.

    Args:
        plugin: what it does.
        socket: where.

    Yields:
        Its endpoint.
    """
    from concurrent.futures import ThreadPoolExecutor

    import grpc

    def handler(method: str) -> Any:
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: plugin.answer(method, request, context)
        )

    server = grpc.server(ThreadPoolExecutor(max_workers=2))
    handlers = {method: handler(method) for method in kmsmessages.METHODS}
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(kmsmessages.SERVICE, handlers),)
    )
    server.add_insecure_port(f"unix:{socket}")
    server.start()
    try:
        yield f"unix://{socket}"
    finally:
        server.stop(None).wait()
