"""Keys that are the same in each run, for servers that no other process can reach.

What a server publishes of its keys, its authority in ``kube-root-ca.crt`` and the tokens that it
signs, is part of its answers.  Keys made at random would make each run's answers others.  These are
known to all who read this: a server that listens on a socket has keys of its own.

They are RSA keys, whose signatures (PKCS #1 v1.5) have no random part; those of ECDSA do.
Source: RFC 8017.
"""

from __future__ import annotations

import datetime as dt
from functools import cache
from hashlib import shake_256
from pathlib import Path
from typing import TYPE_CHECKING

from kubetrio.runtime.files import write_atomic
from kubetrio.tls.certificates import AUTHORITIES, sign

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

EXPONENT = 65537
PRIME_BYTES = 128
PRIMES = {"ca": (2, 60), "front-proxy-ca": (239, 563), "sa": (254, 2391)}
"""By the name of a key: the numbers whose digests are its two primes; found by trying them all."""


def write_keys(directory: Path, now: dt.datetime) -> None:
    """Write the authorities and the key of service accounts, where the server looks for them.

    Blocking.

    Args:
        directory: the server's ``pki`` directory; made when it is missing.
        now: from when the authorities are valid, with a zone.
    """
    from cryptography.hazmat.primitives import serialization as form

    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    now = now.astimezone(dt.UTC).replace(microsecond=0)
    for serial, name in enumerate(PRIMES, 1):
        key = _key(name)
        text = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
        write_atomic(directory / f"{name}.key", text)
        if name in AUTHORITIES:
            cert = sign(name, key.public_key(), key, None, frozenset(), now, serial=serial)
            write_atomic(directory / f"{name}.crt", cert.public_bytes(form.Encoding.PEM))


def _prime(name: str, number: int) -> int:
    digest = shake_256(f"kubetrio harness {name} {number}".encode()).digest(PRIME_BYTES)
    # The two highest bits, so that the product has all its bits; and odd.
    return int.from_bytes(digest, "big") | 3 << (8 * PRIME_BYTES - 2) | 1


@cache
def _key(name: str) -> RSAPrivateKey:
    from cryptography.hazmat.primitives.asymmetric import rsa

    p, q = (_prime(name, number) for number in PRIMES[name])
    d = pow(EXPONENT, -1, (p - 1) * (q - 1))
    public = rsa.RSAPublicNumbers(EXPONENT, p * q)
    return rsa.RSAPrivateNumbers(
        p, q, d, d % (p - 1), d % (q - 1), rsa.rsa_crt_iqmp(p, q), public
    ).private_key()
