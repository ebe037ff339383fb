"""What the certificates of a server say: subjects, names, uses and how long they last.

``cryptography`` is imported where it is needed: its import is a good part of a start, and most
starts need none of it.

Source: RFC 5280 for the extensions; Kubernetes documentation "PKI certificates and requirements"
for names and subjects.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import ipaddress
import re
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from kubetrio.tls.pem import certificates, printed

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import (
        EllipticCurvePrivateKey,
        EllipticCurvePublicKey,
    )
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

CA_LIFETIME = dt.timedelta(days=3650)
LEAF_LIFETIME = dt.timedelta(days=365)
RENEW_BEFORE = dt.timedelta(days=30)
CLOCK_SKEW = dt.timedelta(hours=1)
"""How far in the past validity begins, for clients whose clock is behind."""
SLACK_S = 300.0

_DNS_NAME = re.compile(r"(\*\.)?[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_])?")
_NUMBERS = re.compile(r"[0-9.]+")  # an address that is none

NO_CERTIFICATES = "data does not contain any valid RSA or ECDSA certificates"

KUBELET_CLIENT = "kube-apiserver-kubelet-client"
"""Common name of what a server shows to kubelets; no user of a server has that name."""
FRONT_PROXY_CLIENT = "front-proxy-client"
"""Common name of what a server shows to aggregated API servers."""
KUBELET_ADMINS = "kubetrio:kubelet-api-admins"
"""Organization of the same: it may do everything at kubelets, and nothing else anywhere."""

AUTHORITIES = ("ca", "front-proxy-ca")
"""Names of the files of authorities."""
SUBJECTS = {
    "ca": ("kubetrio-ca", ""),
    "front-proxy-ca": ("kubetrio-front-proxy-ca", ""),
    "apiserver": ("kube-apiserver", ""),
    "admin": ("kubernetes-admin", "system:masters"),
    "apiserver-kubelet-client": (KUBELET_CLIENT, KUBELET_ADMINS),
    "front-proxy-client": (FRONT_PROXY_CLIENT, ""),
}
"""Common name and organization by the name of the file."""


def sign(
    name: str,
    public: EllipticCurvePublicKey | RSAPublicKey,
    signer: EllipticCurvePrivateKey | RSAPrivateKey,
    ca: x509.Certificate | None,
    names: frozenset[str],
    now: dt.datetime,
    *,
    serial: int | None = None,
) -> x509.Certificate:
    """A new certificate.

    Args:
        name: which: one of `SUBJECTS`.
        public: the key it is for.
        signer: the authority's key.
        ca: the authority; None for its own certificate.
        names: DNS names and IP addresses it is good for.
        now: the time, in UTC.
        serial: its number; a random one when None.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import ExtendedKeyUsageOID as Usage

    subject = subject_of(name)
    ends = now + (CA_LIFETIME if ca is None else LEAF_LIFETIME)
    # Clients built on Python 3.13 and later insist on what RFC 5280 asks for, hence both key
    # identifiers and the critical marks.
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(ca.subject if ca else subject)
        .public_key(public)
        .serial_number(serial or x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(min(ends, ca.not_valid_after_utc) if ca else ends)
        .add_extension(x509.BasicConstraints(ca=ca is None, path_length=None), critical=True)
        .add_extension(_key_usage(authority=ca is None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(_issuer_key_identifier(ca, signer.public_key()), critical=False)
    )
    if ca:
        usage = Usage.SERVER_AUTH if name == "apiserver" else Usage.CLIENT_AUTH
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    if names:
        sans = x509.SubjectAlternativeName([_general_name(each) for each in sorted(names)])
        builder = builder.add_extension(sans, critical=False)
    return builder.sign(signer, hashes.SHA256())


def renewal(leaf: x509.Certificate, ca: x509.Certificate) -> dt.datetime:
    """When a certificate is due; one that ends with its authority cannot be renewed earlier."""
    end, last = leaf.not_valid_after_utc, ca.not_valid_after_utc
    return last if end >= last else end - RENEW_BEFORE


def subject_of(name: str) -> x509.Name:
    """The subject of a certificate, by the name of its file."""
    from cryptography import x509

    common, organization = SUBJECTS[name]
    parts = [x509.NameAttribute(x509.NameOID.COMMON_NAME, common)]
    if organization:
        parts.insert(0, x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(parts)


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _issuer_key_identifier(
    ca: x509.Certificate | None, public: EllipticCurvePublicKey | RSAPublicKey
) -> x509.AuthorityKeyIdentifier:
    """What the issuer calls its key; an authority made elsewhere may have its own way."""
    from cryptography import x509

    identifier = x509.AuthorityKeyIdentifier
    if ca is not None:
        with contextlib.suppress(x509.ExtensionNotFound):
            named = ca.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
            return identifier.from_issuer_subject_key_identifier(named.value)
    return identifier.from_issuer_public_key(public)


def _general_name(name: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def host_name(host: str) -> str:
    """An IP address or DNS name in the one spelling that certificates have.

    Raises:
        ValueError: it is neither; the text goes on behind the name.
    """
    try:
        return str(ipaddress.ip_address(host.partition("%")[0]))
    except ValueError:
        name = host.lower().removesuffix(".")
        if not _DNS_NAME.fullmatch(name) or _NUMBERS.fullmatch(name):
            raise ValueError(
                "is neither an IP address nor a DNS name; write international names in their xn-- "
                "form and addresses without brackets or port"
            ) from None
        return name


def names_of(cert: x509.Certificate) -> frozenset[str]:
    """The DNS names and IP addresses a certificate is good for."""
    from cryptography import x509

    try:
        names = cert.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    addresses = names.get_values_for_type(x509.IPAddress)
    return frozenset({*names.get_values_for_type(x509.DNSName), *map(str, addresses)})


def bundle(pem: str, now: float) -> str:
    """The authorities of a PEM text, each once and without those that have ended.

    Args:
        pem: certificates and whatever is between them.
        now: seconds since the epoch; an end is forgiven for five minutes.

    Raises:
        ValueError: a certificate is damaged.
    """
    ders = dict.fromkeys(certificates(pem.encode()))
    lasting = (der for der in ders if _end_of_authority(der) > now - SLACK_S)
    return b"".join(map(printed, lasting)).decode()


def _end_of_authority(der: bytes) -> float:
    """When an authority ends, seconds since the epoch; infinity for other certificates."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _add(context, der)
    (cert,) = context.get_ca_certs() or ({},)
    return ssl.cert_time_to_seconds(str(cert["notAfter"])) if cert else float("inf")


def _add(context: ssl.SSLContext, der: bytes) -> None:
    """Have a context believe one more certificate.

    Raises:
        ValueError: it is damaged.
    """
    if _length(der) != len(der):  # OpenSSL passes over what is behind a certificate
        raise ValueError("a certificate is damaged")
    try:
        # As a block: of DER, `ssl` takes an older error of this thread for one of this call.
        context.load_verify_locations(cadata=printed(der).decode())
    except ssl.SSLError as error:
        raise ValueError(f"a certificate is damaged ({error.reason})") from error


def _length(der: bytes) -> int:
    """How long a DER value is by its own word (X.690, 8.1.3); -1 where it does not say."""
    if len(der) < 2:
        return -1
    size, octets = der[1], 0
    if size & 0x80:
        octets = size & 0x7F
        size = int.from_bytes(der[2 : 2 + octets])
    return 2 + octets + size


def authorities(pem: bytes) -> list[bytes]:
    """The certificates of a PEM text, DER, as kube-apiserver takes a file of authorities.

    Args:
        pem: certificates and whatever is between them.

    Raises:
        ValueError: there is none, or one is damaged.
    """
    chain = certificates(pem)
    if not chain:
        raise ValueError(NO_CERTIFICATES)
    scratch = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for der in chain:
        _add(scratch, der)
    return chain


def believe(context: ssl.SSLContext, pem: bytes) -> None:
    """Have a context verify others by the authorities of a PEM text, and by those alone.

    As for Go's ``CertPool``, one that is good suffices; damaged ones are passed over.

    Args:
        context: of a client or a server.
        pem: certificates and whatever is between them.

    Raises:
        OSError: there is none.
    """
    good = 0
    for der in certificates(pem):
        with contextlib.suppress(ValueError):
            _add(context, der)
            good += 1
    if not good:
        raise OSError(NO_CERTIFICATES)
    # Each of them counts, not only those that signed themselves.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN


def verifies(authorities: bytes, cert: Path, key: Path) -> bool:
    """Whether a client that believes some authorities would believe a server, whatever its name.

    Args:
        authorities: PEM.
        cert: the server's certificate and those that it sends along, PEM.
        key: its key, PEM.

    Raises:
        OSError: a file cannot be used.
    """
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(cert, key)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    believe(client, authorities)
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(back, there)
    theirs = server.wrap_bio(there, back, server_side=True)
    for side in (ours, theirs, ours):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
        except ssl.SSLError:
            return False
    return True


def read_certificate(der: bytes) -> x509.Certificate:
    """Read a certificate from any source.

    Args:
        der: the certificate.

    Raises:
        ValueError: it is none; ``cryptography`` has other errors too.
    """
    from cryptography import x509

    try:
        return x509.load_der_x509_certificate(der)
    except x509.InvalidVersion as error:
        raise ValueError(str(error)) from error


def names_in(pem: bytes) -> tuple[str, frozenset[str]]:
    """The common name of the first certificate of a PEM text, and all it is good for.

    Raises:
        ValueError: there is none.
    """
    from cryptography import x509

    chain = certificates(pem)
    if not chain:
        raise ValueError(NO_CERTIFICATES)
    cert = read_certificate(chain[0])
    common = cert.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return (str(common[-1].value) if common else ""), names_of(cert)
