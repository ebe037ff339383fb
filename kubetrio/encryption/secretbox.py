"""NaCl's secretbox, XSalsa20 and Poly1305, from libsodium (PyNaCl).

PyNaCl is imported when a key is first used: a server without such keys does without it.

Source: D. J. Bernstein, "Cryptography in NaCl"; k8s.io/apiserver,
storage/value/encrypt/secretbox.
"""

from __future__ import annotations

from typing import Final

from kubetrio.encryption.aes import TOO_SHORT
from kubetrio.encryption.transformers import Seal, TransformError, UnfetchedKeys
from kubetrio.store.cipher import Plain

INSTALL: Final = "install it in a checkout with pip install '.[secretbox]'"
KEY_BYTES = 32
NONCE_BYTES = 24
TAG_BYTES = 16


def available() -> bool:
    """Return whether PyNaCl is installed."""
    from importlib.util import find_spec

    return find_spec("nacl") is not None


class Secretbox:
    """XSalsa20 and Poly1305 with random nonces.

    Args:
        key: 32 bytes.
    """

    nonce_bytes = NONCE_BYTES

    def __init__(self, key: bytes) -> None:
        from nacl.secret import SecretBox

        self._box = SecretBox(key)

    def seal(self, path: bytes, nonce: bytes, size: int) -> Seal:
        """See `Transformer.seal`."""
        del path, size
        return lambda data: bytes(self._box.encrypt(data, nonce))

    def open(self, data: bytes, path: bytes, refused: UnfetchedKeys) -> Plain:
        """See `Transformer.open`."""
        from nacl.exceptions import CryptoError

        del path, refused
        if len(data) < NONCE_BYTES + TAG_BYTES:
            raise TransformError(TOO_SHORT)
        try:
            return Plain(self._box.decrypt(data), stale=False)
        except CryptoError as error:
            # kube-apiserver's words for a tag that is wrong
            raise TransformError("output array was not large enough for encryption") from error
