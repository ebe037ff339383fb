"""AES: GCM, CBC, and GCM with a key derived for each value.

Source: k8s.io/apiserver/pkg/storage/value/encrypt/aes; NIST SP 800-38A and 800-38D, RFC 5869.
"""

from __future__ import annotations

from kubetrio.encryption.transformers import Seal, TransformError, UnfetchedKeys
from kubetrio.store.cipher import Plain

BLOCK_BYTES = 16
GCM_NONCE_BYTES = 12
INFO_BYTES = 32
SEED_BYTES = 32
KEY_BYTES = (16, 24, 32)
TOO_SHORT = "the stored data was shorter than the required size"


class Gcm:
    """AES-GCM with random nonces; the key that a value is stored under is authenticated.

    Args:
        key: 16, 24 or 32 bytes.
    """

    nonce_bytes = GCM_NONCE_BYTES

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._cipher = AESGCM(key)

    def seal(self, path: bytes, nonce: bytes, size: int) -> Seal:
        """See `Transformer.seal`."""
        del size
        return lambda data: nonce + self._cipher.encrypt(nonce, data, path)

    def open(self, data: bytes, path: bytes, refused: UnfetchedKeys) -> Plain:
        """See `Transformer.open`."""
        from cryptography.exceptions import InvalidTag

        del refused
        if len(data) < GCM_NONCE_BYTES:
            raise TransformError(TOO_SHORT)
        nonce, sealed = data[:GCM_NONCE_BYTES], data[GCM_NONCE_BYTES:]
        try:
            return Plain(self._cipher.decrypt(nonce, sealed, path), stale=False)
        except InvalidTag as error:
            raise TransformError("cipher: message authentication failed") from error


class Cbc:
    """AES-CBC with PKCS #7 padding; nothing is authenticated.

    Args:
        key: 16, 24 or 32 bytes.
    """

    nonce_bytes = BLOCK_BYTES

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import algorithms

        self._key = algorithms.AES(key)

    def seal(self, path: bytes, nonce: bytes, size: int) -> Seal:
        """See `Transformer.seal`."""
        from cryptography.hazmat.primitives.ciphers import Cipher, modes

        del path, size

        def seal(data: bytes) -> bytes:
            padding = BLOCK_BYTES - len(data) % BLOCK_BYTES
            cipher = Cipher(self._key, modes.CBC(nonce)).encryptor()
            return nonce + cipher.update(data + bytes([padding]) * padding) + cipher.finalize()

        return seal

    def open(self, data: bytes, path: bytes, refused: UnfetchedKeys) -> Plain:
        """See `Transformer.open`."""
        from cryptography.hazmat.primitives.ciphers import Cipher, modes

        del path, refused
        if len(data) < BLOCK_BYTES:
            raise TransformError(TOO_SHORT)
        nonce, sealed = data[:BLOCK_BYTES], data[BLOCK_BYTES:]
        if len(sealed) % BLOCK_BYTES:
            raise TransformError("the stored data is not a multiple of the block size")
        cipher = Cipher(self._key, modes.CBC(nonce)).decryptor()
        padded = cipher.update(sealed) + cipher.finalize()
        padding = padded[-1] if padded else 0
        if not 0 < padding <= len(padded):
            raise TransformError("invalid PKCS7 data (empty or not padded)")
        if padded[-padding:] != bytes([padding]) * padding:
            raise TransformError("invalid padding on input")
        return Plain(padded[:-padding], stale=False)


class ExtendedGcm:
    """AES-GCM with a key of its own for each value, derived from a seed and 32 random bytes.

    Args:
        seed: at least 32 bytes.

    Raises:
        TransformError: it is shorter.
    """

    nonce_bytes = INFO_BYTES + GCM_NONCE_BYTES

    def __init__(self, seed: bytes) -> None:
        if len(seed) < SEED_BYTES:
            raise TransformError(f"invalid seed length {len(seed)} used for key generation")
        self._seed = seed

    def _derived(self, info: bytes) -> Gcm:
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

        return Gcm(HKDFExpand(SHA256(), 32, info).derive(self._seed))

    def seal(self, path: bytes, nonce: bytes, size: int) -> Seal:
        """See `Transformer.seal`."""
        info = nonce[:INFO_BYTES]
        seal = self._derived(info).seal(path, nonce[INFO_BYTES:], size)
        return lambda data: info + seal(data)

    def open(self, data: bytes, path: bytes, refused: UnfetchedKeys) -> Plain:
        """See `Transformer.open`."""
        if len(data) < INFO_BYTES:
            raise TransformError(TOO_SHORT)
        return self._derived(data[:INFO_BYTES]).open(data[INFO_BYTES:], path, refused)
