"""Files of encryption."""

from __future__ import annotations

import base64
from pathlib import Path

from kubetrio.encryption.configuration import (
    Kms,
)
from kubetrio.encryption.kms import Envelope
from kubetrio.encryption.providers import Transforms, build, read
from kubetrio.encryption.transformers import unreported
from kubetrio.machinery.names import GroupResource

SECRET = base64.b64encode(b"0" * 32).decode()


HEAD = "kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\nresources:\n"


def nobody(kms: Kms) -> Envelope:
    raise AssertionError(f"no plugin is asked for: {kms.name}")


def made(path: Path, text: str) -> Transforms:
    """The transformers of a file."""
    path.write_text(text)
    return build(read(path, reload=False), nobody, lambda _: unreported)


def rule(resources: str, provider: str = "aesgcm", key: str = "a") -> str:
    """A rule with one key."""
    body = "{}" if provider == "identity" else f"{{keys: [{{name: {key}, secret: {SECRET}}}]}}"
    return f"- resources: [{resources}]\n  providers: [{{{provider}: {body}}}]\n"


def prefix_of(transforms: Transforms, resource: str, group: str = "") -> bytes:
    """How values of a resource begin; empty where nothing is said of it."""
    found = transforms.resolve(GroupResource(group, resource))
    if found is None:
        return b""
    return found.seal(b"/x", bytes(found.nonce_bytes), 1)(b"{")[:22]
