"""PEM: one reader for all; where a text holds something is the same question for each of them."""

from __future__ import annotations

import base64
import datetime as dt
import re
import ssl
from functools import cache
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

import kubetrio
from kubetrio.bootstrap.authorities import Proxies, Trusted, combined
from kubetrio.controllers.certificates.issuing import ends
from kubetrio.http.tls import Security, TlsConfig
from kubetrio.kinds.apiextensions.validation.definitions import valid_bundle
from kubetrio.kinds.authentication.configuration import authority_problem
from kubetrio.tls.certificates import NO_CERTIFICATES, authorities, believe, bundle, names_in
from kubetrio.tls.pem import certificates, pem_blocks, printed, private_keys

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)


@cache
def authority(name: str) -> tuple[bytes, bytes]:
    """A certificate in DER, which signed itself, and its key as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    cert = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(ord(name))
        .not_valid_before(NOW - DAY)
        .not_valid_after(NOW + ord(name) * DAY)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    text = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    return cert.public_bytes(form.Encoding.DER), text


def lines(name: str) -> bytes:
    return base64.encodebytes(authority(name)[0])


DECOYS = (
    # What some reader takes for a certificate and Go does not.
    b"x-----BEGIN CERTIFICATE-----\n%b-----END CERTIFICATE-----\n",
    b"-----BEGIN CERTIFICATE----- \t-----END CERTIFICATE-----\n%b",
    b"-----BEGIN TRUSTED CERTIFICATE-----\n%b-----END TRUSTED CERTIFICATE-----\n",
    b"-----BEGIN X509 CERTIFICATE-----\n%b-----END X509 CERTIFICATE-----\n",
    b"-----BEGIN CERTIFICATE-----\nk: v\n\n%b-----END CERTIFICATE-----\n",
    b"-----BEGIN CERTIFICATE-----\n%b-----END CERTIFICATE-----x\n",
    b"-----BEGIN CERTIFICATE-----%b-----END CERTIFICATE-----\n",
    b"-----BEGIN CERTIFICATE-----\n%b",
)
PIECES = st.one_of(
    st.builds(lambda name: printed(authority(name)[0]), st.sampled_from("abc")),
    st.builds(lambda name: printed(authority(name)[0]).replace(b"\n", b"\r\n"), st.just("c")),
    st.builds(lambda form, name: form % lines(name), st.sampled_from(DECOYS), st.just("d")),
    st.sampled_from([b"\n", b" ", b"text\n", b"-----BEGIN A-----\nYQ==\n-----END A-----\n"]),
)
TEXTS = st.lists(PIECES, max_size=5).map(b"".join)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"-----BEGIN A-----\nYQ==\n-----END A-----\n", [("A", False, b"a")]),
        (b"-----BEGIN A-----\r\nYQ = =\r\n-----END A----- \t\r\n", [("A", False, b"a")]),
        (b"-----BEGIN A-----\nYQ==\n-----END A-----", [("A", False, b"a")]),
        (b"-----BEGIN A-----\n-----END A-----\n", [("A", False, b"")]),
        (b"-----BEGIN A-----\nk: v\n\nYQ==\n-----END A-----\n", [("A", True, b"a")]),
        (b"x-----BEGIN A-----\nYQ==\n-----END A-----\n", []),
        (b"-----BEGIN A-----\nYQ==\n-----END B-----\n", []),
        (b"-----BEGIN A-----\nYQ==\n-----END A-----x\n", []),
        (b"-----BEGIN A-----\nYQ=\n-----END A-----\n", []),
        (b"-----BEGIN A----\nYQ==\n-----END A-----\n", []),
        (b"-----BEGIN A-----\nk: v\n-----END A-----\n", []),
        (
            b"-----BEGIN A-----\n?\n-----END A-----\nx\n-----BEGIN B-----\nYg==\n-----END B-----\n",
            [("B", False, b"b")],
        ),
        (b"-----BEGIN A-----\n-----BEGIN B-----\nYg==\n-----END B-----\n", [("B", False, b"b")]),
        # As Go has it, what follows an attempt begins a line, and headers may swallow the rest.
        (b"\n-----END -----BEGIN A-----\nYQ==\n-----END A-----\n", [("A", False, b"a")]),
        (
            (
                b"-----BEGIN A-----\nk: v\n-----END A-----:\n"
                b"-----BEGIN B-----\nYg==\n-----END B-----\n"
            ),
            [],
        ),
        (b"-----BEGIN A-----\nYQ==\n-----END A-----\r", []),
        (b"-----BEGIN A-----\nYWJj=\n-----END A-----\n", []),
        (b"-----BEGIN A-----\nAAYQ==\n-----END A-----\n", []),
    ],
)
def test_blocks(text: bytes, found: list[tuple[str, bool, bytes]]) -> None:
    assert [(block.kind, block.has_headers, block.content) for block in pem_blocks(text)] == found


@given(name=st.sampled_from("abc"), before=st.binary(max_size=20))
def test_what_is_printed_is_read_again(name: str, before: bytes) -> None:
    """And by OpenSSL and ``cryptography`` too."""
    der, key = authority(name)
    text = printed(der)
    assert certificates(before.replace(b"-", b"") + b"\n" + text + key) == [der]
    assert ssl.PEM_cert_to_DER_cert(text.decode()) == der
    assert x509.load_pem_x509_certificate(text).public_bytes(form.Encoding.DER) == der
    assert private_keys(text + key) == [next(pem_blocks(key)).content]


@given(text=TEXTS)
def test_all_readers_find_the_same_certificates(text: bytes) -> None:
    """Whoever judges, believes, publishes or names: none sees one that another does not."""
    found = certificates(text)
    assert authority("d")[0] not in found
    believer = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not found:
        with pytest.raises(ValueError, match=NO_CERTIFICATES):
            authorities(text)
        with pytest.raises(OSError, match=NO_CERTIFICATES):
            believe(believer, text)
        assert authority_problem(text.decode()) == NO_CERTIFICATES
        assert not valid_bundle(base64.b64encode(text).decode())
        assert ends(text) is None
        return
    assert authorities(text) == found
    believe(believer, text)
    assert set(believer.get_ca_certs(binary_form=True)) == set(found)
    now = NOW.timestamp()
    assert certificates(bundle(text.decode(), now).encode()) == list(dict.fromkeys(found))
    first = x509.load_der_x509_certificate(found[0])
    assert names_in(text)[0] == first.subject.rfc4514_string().removeprefix("CN=")
    assert ends(text) == first.not_valid_after_utc
    assert authority_problem(text.decode()) == ""
    assert valid_bundle(base64.b64encode(text).decode())


@given(text=TEXTS)
def test_the_authority_of_clients_is_never_published_as_one_of_proxies(text: bytes) -> None:
    """However it is written: with other line ends, or among other blocks."""
    trusted = Trusted(printed(authority("a")[0]).decode(), Proxies())
    data = (
        combined({"requestheader-client-ca-file": text.decode()}, trusted, NOW.timestamp())
        if certificates(text)
        else {}
    )
    shown = certificates(data.get("requestheader-client-ca-file", "").encode())
    assert authority("a")[0] not in shown


@given(text=TEXTS.filter(certificates))
def test_a_listener_believes_whom_it_says(
    tmp_path_factory: pytest.TempPathFactory, text: bytes
) -> None:
    """What OpenSSL verifies by is what is published and compared with what clients show."""
    directory = tmp_path_factory.mktemp("tls")
    der, key = authority("a")
    files = {"cert": printed(der), "key": key, "clients": text}
    for name, content in files.items():
        (directory / name).write_bytes(content)
    paths = (directory / name for name in files)
    config = dict(zip(("certificate", "key", "client_ca"), paths, strict=True))
    security = Security(TlsConfig(**config))
    assert security.authorities == (certificates(text), [])
    believed = security.context.get_ca_certs(binary_form=True)
    assert set(believed) == set(certificates(text))


READERS = re.compile(
    r"load_pem_|PEM_cert_to_DER|BEGIN[ \w(){}|]*CERT|cafile=|cadata=|load_verify_locations\("
)


def test_nothing_else_reads_pem() -> None:
    """What takes text apart is one module; OpenSSL is given what that printed.

    Of etcd's own files OpenSSL reads text itself: they are no input of clients.  The harness looks
    for certificates in answers to leave them out of a comparison.
    """
    root = Path(kubetrio.__file__).parent
    readers = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if READERS.search(path.read_text()) and "testing" not in path.parts
    }
    assert readers == {
        "harness/comparing.py",
        "http/tls.py",
        "store/etcd/dialing.py",
        "tls/certificates.py",
        "tls/pem.py",
    }
