"""Keys and certificates of a server, made on first start and kept in one directory.

- ``ca.crt``, ``ca.key``: authority that signs the next two and other client certificates
- ``front-proxy-ca.crt``, ``.key``: authority of proxies that name users, which signs nothing else:
  what a certificate request can ask the other one for is no proxy
- ``apiserver.crt``, ``apiserver.key``: what the server shows
- ``admin.crt``, ``admin.key``: client certificate of ``kubernetes-admin`` (``system:masters``)
- ``sa.key``, ``sa.pub``: sign and check service account tokens
- ``apiserver-kubelet-client.crt``, ``.key``: what the server shows to kubelets; made when the first
  one is connected to
- ``pki.json``: what the files above were when last checked

What exists and fits is used.  Serving and admin certificates are derived things: they are issued
again when they are missing, do not fit the authority or their key, lack a name, or have less than
`certificates.RENEW_BEFORE` left.  The authority and ``sa.key`` are identities: one that cannot be
used is an error for the operator to resolve, never a reason to make another.  ``ca.key`` may be
kept elsewhere as long as nothing needs signing.

Checking takes ``cryptography``, whose import is a good part of a start.  ``pki.json`` therefore
records the digest of every file together with the names and dates found; while all of it still
holds, nothing is imported and nothing is parsed.

Source: Kubernetes documentation "PKI certificates and requirements".
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from kubetrio.runtime.files import FULL, NO_DESCRIPTORS, exclusive, write_atomic
from kubetrio.tls.certificates import (
    AUTHORITIES,
    authorities,
    host_name,
    names_of,
    renewal,
    sign,
    subject_of,
)
from kubetrio.tls.pem import certificates, pem_blocks, private_keys

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import (
        EllipticCurvePrivateKey,
        EllipticCurvePublicKey,
    )
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

SERVICE_IP = "10.0.0.1"
"""First address of the service range: what pods use to reach the server."""

SERVICE_NAMES = (
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
"""DNS names of the same."""

_FILES = (
    "ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "apiserver.crt",
    "apiserver.key", "admin.crt", "admin.key", "sa.key", "sa.pub",
)  # fmt: skip
_FILES_OF_OLD = ("ca.crt", "apiserver.crt", "admin.crt", "sa.key")
_LACKING: dict[int, str] = {
    **dict.fromkeys(NO_DESCRIPTORS, "raise the limit of open files"),
    **dict.fromkeys(FULL, "make room on the disk"),
}
STAMP = "pki.json"
_STAMP_VERSION = 3  # 1: certificates for kubelets were of system:masters; 2: one authority
_KUBELET_CLIENT = "apiserver-kubelet-client"
_FRONT_PROXY_CLIENT = "front-proxy-client"
_CA, _FRONT_PROXY_CA = "ca", "front-proxy-ca"


class PkiError(Exception):
    """Keys or certificates cannot be used; one line that names the file and the next step."""


class _DamagedError(PkiError):
    """A file was read and is not what its name says."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, both PEM files."""

    cert: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Pki:
    """The files of a directory.

    Args:
        ca: the authority; its key may be absent.
        front_proxy_ca: the authority of front proxies; its key may be absent.
        serving: certificate of the server.
        admin: client certificate of the administrator.
        sa_key: private key that signs service account tokens.
        sa_pub: public key that checks them.
        issued: names of the files made by this call, for the log; empty when all were reused.
    """

    ca: KeyPair
    front_proxy_ca: KeyPair
    serving: KeyPair
    admin: KeyPair
    sa_key: Path
    sa_pub: Path
    issued: tuple[str, ...] = ()


def ensure(cert_dir: Path, *, now: dt.datetime, hosts: Sequence[str]) -> Pki:
    """Make or reuse the keys and certificates of `cert_dir`.  Blocking.

    Args:
        cert_dir: made with mode 0700 when missing; files are written with mode 0600.
        now: the time, with a zone.
        hosts: further DNS names and IP addresses that clients use to reach the server.

    Raises:
        PkiError: a host that is neither; a file that cannot be read, written or used.
        ValueError: `now` has no zone.
    """
    if now.tzinfo is None:
        raise ValueError("now has no time zone")
    now = now.astimezone(dt.UTC).replace(microsecond=0)
    names = _alternative_names(hosts)
    issued: list[str] = []
    try:
        if not _stamp_holds(cert_dir, now, names):
            cert_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            with exclusive(cert_dir):
                until = _Issuer(cert_dir, now, issued).run(names)
                # A directory that is complete may well be read-only.
                with contextlib.suppress(OSError):
                    _write_stamp(cert_dir, now, until, names)
    except OSError as error:
        step = _step(
            error,
            f"make {cert_dir} a directory this user can read and write, or choose another "
            "--cert-dir",
        )
        raise PkiError(f"cannot use {error.filename or cert_dir}: {_why(error)}; {step}") from error
    at = {name: cert_dir / name for name in _FILES}
    return Pki(
        ca=KeyPair(at["ca.crt"], at["ca.key"]),
        front_proxy_ca=KeyPair(at["front-proxy-ca.crt"], at["front-proxy-ca.key"]),
        serving=KeyPair(at["apiserver.crt"], at["apiserver.key"]),
        admin=KeyPair(at["admin.crt"], at["admin.key"]),
        sa_key=at["sa.key"],
        sa_pub=at["sa.pub"],
        issued=tuple(issued),
    )


def ensure_kubelet_client(cert_dir: Path, *, now: dt.datetime) -> KeyPair:
    """Make or reuse the client certificate that is shown to kubelets.  Blocking.

    Args:
        cert_dir: a directory that `ensure` has brought in order.
        now: the time, with a zone.

    Raises:
        PkiError: it has to be issued and the authority's key is missing or cannot be used.
    """
    return _ensure_client(cert_dir, _KUBELET_CLIENT, now)


def ensure_front_proxy_client(cert_dir: Path, *, now: dt.datetime) -> KeyPair:
    """Ensure the client certificate of the front proxy, for aggregated API servers.  Blocking.

    Args:
        cert_dir: a directory that `ensure` has brought in order.
        now: the time, with a zone.

    Raises:
        PkiError: it has to be issued and the authority's key is missing or cannot be used.
    """
    return _ensure_client(cert_dir, _FRONT_PROXY_CLIENT, now)


def _ensure_client(cert_dir: Path, name: str, now: dt.datetime) -> KeyPair:
    now = now.astimezone(dt.UTC).replace(microsecond=0)
    try:
        with exclusive(cert_dir):
            _Issuer(cert_dir, now, []).client(name)
    except OSError as error:
        raise PkiError(f"cannot use {error.filename or cert_dir}: {_why(error)}") from error
    return KeyPair(cert_dir / f"{name}.crt", cert_dir / f"{name}.key")


def load_user_supplied(tls_cert_file: Path, tls_private_key_file: Path, flag: str = "") -> KeyPair:
    """Check a serving certificate given by flags, without ``cryptography``.  Blocking.

    Args:
        tls_cert_file: the certificate and those that it needs.
        tls_private_key_file: its key.
        flag: that both were given with, in place of the two of the default certificate.

    Raises:
        PkiError: missing, unreadable, not PEM, encrypted, or a key of another certificate.
    """
    cert = _read(tls_cert_file, f"correct {flag or '--tls-cert-file'} or the file's mode")
    key = _read(
        tls_private_key_file, f"correct {flag or '--tls-private-key-file'} or the file's mode"
    )
    if not certificates(cert):
        raise PkiError(f"{tls_cert_file} holds no PEM certificate; convert it to PEM")
    if b"ENCRYPTED" in key:
        raise PkiError(f"{tls_private_key_file} is encrypted; store the key without a passphrase")
    if not private_keys(key):
        raise PkiError(f"{tls_private_key_file} holds no PEM private key; convert it to PEM")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        authorities(cert)
    except ValueError as error:
        raise PkiError(f"{tls_cert_file}: {error}; copy it again") from error
    try:
        context.load_cert_chain(tls_cert_file, tls_private_key_file)
    except ssl.SSLError as error:
        if error.reason in ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH"):
            raise PkiError(
                f"the key in {tls_private_key_file} does not belong to the certificate in "
                f"{tls_cert_file}; name the two files of one pair"
            ) from error
        raise PkiError(
            f"{tls_private_key_file} holds an unusable key ({_why(error)}); copy it again"
        ) from error
    return KeyPair(tls_cert_file, tls_private_key_file)


class _Issuer:
    """Checks the files of a directory and makes those that are missing.

    Keys are written before their certificates: a crash in between leaves a pair that does not
    fit, or an authority without certificate, and both are made good at the next start.
    """

    def __init__(self, directory: Path, now: dt.datetime, issued: list[str]) -> None:
        self._directory = directory
        self._now = now
        self._issued = issued
        self._whole = all((directory / name).exists() for name in _FILES_OF_OLD)
        self._keys: dict[str, PrivateKeyTypes] = {}
        """Keys of authorities, of those that are there."""

    def run(self, names: frozenset[str]) -> dt.datetime:
        """Bring the directory in order and say until when it is."""
        self._service_account_key()
        ca = self._authority(_CA)
        last = [ca.not_valid_after_utc]
        try:
            last.append(self._authority(_FRONT_PROXY_CA).not_valid_after_utc)
        except OSError:
            # A directory of an earlier release has none, and may well be read-only.
            if not self._whole:
                raise
        leaves = (self._leaf("apiserver", ca, names), self._leaf("admin", ca, frozenset()))
        if (self._directory / f"{_KUBELET_CLIENT}.crt").exists():
            # One of an earlier release is replaced before a client is shown it again.
            with contextlib.suppress(PkiError):  # told when a kubelet is connected to
                self._leaf(_KUBELET_CLIENT, ca, frozenset())
        return min(*(renewal(leaf, ca) for leaf in leaves), *last)

    def client(self, name: str) -> None:
        """Bring one client certificate in order."""
        self._leaf(name, self._authority(_signer_of(name)), frozenset())

    def _authority(self, name: str) -> x509.Certificate:
        cert_path, key_path = self._directory / f"{name}.crt", self._directory / f"{name}.key"
        key: PrivateKeyTypes | None = None
        if key_path.exists():
            key = _load_key(key_path, "restore it from a backup")
        elif not cert_path.exists():
            key = self._new_key(f"{name}.key")
        if key is not None:
            self._keys[name] = key
            if not cert_path.exists():
                # Made again for the same key and subject, a lost certificate is trusted wherever
                # the former one was.
                return self._issue(name, None, None, frozenset())
        cert = _load_cert(cert_path, "restore it from a backup")
        if key is not None and cert.public_key() != key.public_key():
            raise PkiError(
                f"{key_path} is not the key of {cert_path}; restore the two from one backup"
            )
        start, end = cert.not_valid_before_utc, cert.not_valid_after_utc
        if not start <= self._now < end:
            raise PkiError(
                f"{cert_path} is valid from {start:%Y-%m-%d} to {end:%Y-%m-%d} and the clock says "
                f"{self._now:%Y-%m-%d}; set the clock, or move {self._directory} away to start "
                "with a new authority, which every client then has to be given"
            )
        return cert

    def _leaf(self, name: str, ca: x509.Certificate, names: frozenset[str]) -> x509.Certificate:
        cert_path, key_path = self._directory / f"{name}.crt", self._directory / f"{name}.key"
        if cert_path.exists() and key_path.exists():
            step = f"make it readable, or remove {cert_path} to have a new pair made"
            # Damage can be repaired as absence can; a file that may not be read is an error.
            with contextlib.suppress(_DamagedError):
                cert, key = _load_cert(cert_path, step), _load_key(key_path, step)
                pair = cert.public_key() == key.public_key()
                if pair and self._fits(cert, ca, names) and not self._outdated(name, cert):
                    return cert
        if _signer_of(name) not in self._keys:
            missing = self._directory / f"{_signer_of(name)}.key"
            raise PkiError(
                f"{cert_path} has to be issued and {missing} is missing; put "
                f"that back, or put a fitting {name}.crt and {name}.key there"
            )
        public = self._new_key(f"{name}.key").public_key()
        return self._issue(name, public, ca, names)

    def _fits(self, cert: x509.Certificate, ca: x509.Certificate, names: frozenset[str]) -> bool:
        from cryptography.exceptions import InvalidSignature

        try:
            cert.verify_directly_issued_by(ca)
        except (InvalidSignature, TypeError, ValueError):
            return False
        valid = cert.not_valid_before_utc <= self._now < renewal(cert, ca)
        return valid and names <= names_of(cert)

    def _outdated(self, name: str, cert: x509.Certificate) -> bool:
        """Whether a certificate for kubelets is of another group and can be made again."""
        made = name == _KUBELET_CLIENT and _CA in self._keys
        return made and cert.subject != subject_of(name)

    def _service_account_key(self) -> None:
        from cryptography.hazmat.primitives import serialization as form

        key_path, pub_path = self._directory / "sa.key", self._directory / "sa.pub"
        if key_path.exists():
            public = _load_key(key_path, "restore it from a backup").public_key()
        elif pub_path.exists():
            raise PkiError(
                f"{key_path} is missing; restore it from a backup, or remove {pub_path} too to "
                "have a new pair made, which voids all service account tokens"
            )
        else:
            public = self._new_key("sa.key").public_key()
        if not pub_path.exists():
            text = public.public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
            self._write("sa.pub", text)
            return
        data = _read(pub_path, "make it readable")
        try:
            fits = form.load_der_public_key(next(pem_blocks(data)).content) == public
        except (ValueError, StopIteration):
            fits = False
        if not fits:
            raise PkiError(
                f"{pub_path} is not the public half of {key_path}; remove it to have it made again"
            )

    def _issue(
        self,
        name: str,
        key: EllipticCurvePublicKey | None,
        ca: x509.Certificate | None,
        names: frozenset[str],
    ) -> x509.Certificate:
        """Sign and write a certificate for a key; for the authority itself without both."""
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec, rsa

        by = _signer_of(name)
        signer = self._keys.get(by)
        if not isinstance(signer, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
            raise PkiError(f"{self._directory / f'{by}.key'} cannot sign; use an EC or RSA key")
        cert = sign(name, key or signer.public_key(), signer, ca, names, self._now)
        self._write(f"{name}.crt", cert.public_bytes(serialization.Encoding.PEM))
        return cert

    def _new_key(self, name: str) -> EllipticCurvePrivateKey:
        from cryptography.hazmat.primitives import serialization as form
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())
        plain = form.NoEncryption()
        self._write(name, key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, plain))
        return key

    def _write(self, name: str, data: bytes) -> None:
        write_atomic(self._directory / name, data)
        self._issued.append(name)


def _signer_of(name: str) -> str:
    """Return the name of the authority that signs a certificate; authorities sign themselves."""
    if name in AUTHORITIES:
        return name
    return _FRONT_PROXY_CA if name == _FRONT_PROXY_CLIENT else _CA


def _alternative_names(hosts: Sequence[str]) -> frozenset[str]:
    """The names a serving certificate must carry, in one spelling each.

    Raises:
        PkiError: one of `hosts` is neither an IP address nor a DNS name.
    """
    names = {*SERVICE_NAMES, "localhost", "127.0.0.1", "::1", SERVICE_IP}
    with contextlib.suppress(ValueError):  # its owner did not ask for it, whatever it is called
        names.add(host_name(socket.gethostname()))
    for host in hosts:
        try:
            names.add(host_name(host))
        except ValueError as error:
            raise PkiError(f"host {host!r} {error}") from None
    return frozenset(names)


def _load_cert(path: Path, step: str) -> x509.Certificate:
    from cryptography import x509

    chain = certificates(_read(path, step))
    try:
        return x509.load_der_x509_certificate(chain[0])
    except (ValueError, IndexError) as error:
        raise _DamagedError(f"{path} holds no usable certificate; {step}") from error


def _load_key(path: Path, step: str) -> PrivateKeyTypes:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    keys = private_keys(_read(path, step))
    try:
        return load_der_private_key(keys[0], password=None)
    except (ValueError, TypeError, IndexError, UnsupportedAlgorithm) as error:
        raise _DamagedError(f"{path} holds no usable unencrypted private key; {step}") from error


def _read(path: Path, step: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise PkiError(f"cannot read {path}: {_why(error)}; {_step(error, step)}") from error


def _step(error: OSError, usual: str) -> str:
    """What helps against an error: where the system lacks something no mode of a file does."""
    return _LACKING.get(error.errno or 0, usual)


def _why(error: OSError) -> str:
    reason = error.reason if isinstance(error, ssl.SSLError) else error.strerror
    return reason or str(error)


def _digests(directory: Path) -> dict[str, str | None]:
    out: dict[str, str | None] = {}
    for name in _FILES:
        try:
            out[name] = sha256((directory / name).read_bytes()).hexdigest()
        except FileNotFoundError:
            out[name] = None
    return out


def _write_stamp(
    directory: Path, now: dt.datetime, until: dt.datetime, names: frozenset[str]
) -> None:
    stamp = {
        "version": _STAMP_VERSION,
        "from": int(now.timestamp()),
        "until": int(until.timestamp()),
        "names": sorted(names),
        "sha256": _digests(directory),
    }
    write_atomic(directory / STAMP, json.dumps(stamp, indent=1).encode())


def _stamp_holds(directory: Path, now: dt.datetime, names: frozenset[str]) -> bool:
    """Whether all files are those that were checked, for these names, at a time like this."""
    try:
        stamp = json.loads((directory / STAMP).read_bytes())
        return (
            stamp["version"] == _STAMP_VERSION
            and stamp["from"] <= now.timestamp() < stamp["until"]
            and names <= set(stamp["names"])
            and stamp["sha256"] == _digests(directory)
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False
