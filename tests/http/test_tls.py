"""TLS of a listener with real handshakes: versions, suites, names, client certificates, reload."""

from __future__ import annotations

import datetime as dt
import ssl
import warnings
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path

import pytest
import trio
import trio.lowlevel
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID as Usage

from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse, Response
from kubetrio.config.sni import NamedPair
from kubetrio.env import Env
from kubetrio.http import openssl
from kubetrio.http.shown import shown_by
from kubetrio.http.tls import CIPHERS, Security, TlsConfig, warn_of_suites
from kubetrio.machinery.identity import UNUSABLE
from kubetrio.runtime.files import write_atomic
from kubetrio.testing.server import listening
from kubetrio.tls import pki
from kubetrio.tls.pem import printed

NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)
DAY = dt.timedelta(days=1)
CLIENT = x509.ExtendedKeyUsage([Usage.CLIENT_AUTH])
SERVER = x509.ExtendedKeyUsage([Usage.SERVER_AUTH])
V10, V11, V12, V13 = (
    ssl.TLSVersion.TLSv1,
    ssl.TLSVersion.TLSv1_1,
    ssl.TLSVersion.TLSv1_2,
    ssl.TLSVersion.TLSv1_3,
)
NUMBERS = count()
REACHED = openssl.library() is not None
needs_openssl = pytest.mark.skipif(not REACHED, reason="OpenSSL cannot be reached from this Python")


@dataclass(frozen=True, slots=True)
class Made:
    """A certificate with its key."""

    cert: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> bytes:
        """The certificate."""
        return self.cert.public_bytes(form.Encoding.PEM)

    def write(self, directory: Path, *chain: Made) -> pki.KeyPair:
        """Both as files, with further certificates behind the first."""
        name = f"{next(NUMBERS)}"
        pair = pki.KeyPair(directory / f"{name}.crt", directory / f"{name}.key")
        write_atomic(pair.cert, self.pem + b"".join(each.pem for each in chain))
        write_atomic(pair.key, private(self.key))
        return pair


def private(key: ec.EllipticCurvePrivateKey) -> bytes:
    """A key, PEM."""
    return key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())


def make(
    name: str,
    issuer: Made | None = None,
    *extensions: x509.ExtensionType,
    ca: bool = False,
    start: dt.datetime = NOW - DAY,
    end: dt.datetime = NOW + DAY,
    signed_by: Made | None = None,
) -> Made:
    """A certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.cert.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    parent = (issuer.key if issuer else key).public_key()
    named = x509.AuthorityKeyIdentifier.from_issuer_public_key(parent)
    for extension in (named, *extensions):
        builder = builder.add_extension(extension, critical=False)
    signer = signed_by or issuer
    return Made(builder.sign(signer.key if signer else key, hashes.SHA256()), key)


ROOT = make("root", ca=True)
SERVING = make("server", ROOT, SERVER, x509.SubjectAlternativeName([x509.DNSName("default.test")]))
ALICE = make("alice", ROOT, CLIENT)


def secured(tmp_path: Path, authorities: bytes = ROOT.pem, **changed: object) -> Security:
    """A server of `SERVING` that believes some authorities."""
    serving = SERVING.write(tmp_path)
    ca = tmp_path / "clients.pem"
    write_atomic(ca, authorities)
    config = TlsConfig(certificate=serving.cert, key=serving.key, client_ca=ca)
    return Security(replace(config, **changed))  # type: ignore[arg-type]


def client(
    oldest: ssl.TLSVersion = V12,
    newest: ssl.TLSVersion = V13,
    *,
    suites: str = "",
    shows: pki.KeyPair | None = None,
) -> ssl.SSLContext:
    """A client that believes everybody."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version, context.maximum_version = oldest, newest
    context.set_ciphers(f"{suites or 'ALL'}:@SECLEVEL=0")
    if shows is not None:
        context.load_cert_chain(shows.cert, shows.key)
    return context


def handshake(
    server: ssl.SSLContext, context: ssl.SSLContext, name: str | None = None
) -> tuple[ssl.SSLObject, ssl.SSLObject]:
    """Both sides of one in memory.

    Raises:
        ssl.SSLError: there is none.
    """
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = context.wrap_bio(back, there, server_hostname=name)
    theirs = server.wrap_bio(there, back, server_side=True)
    for _ in range(6):
        for side in (ours, theirs):
            with suppress(ssl.SSLWantReadError):
                side.do_handshake()
    return ours, theirs


def worth(security: Security, shows: pki.KeyPair, newest: ssl.TLSVersion = V13) -> str:
    """Whom a server takes a client for."""
    _, theirs = handshake(security.context, client(newest=newest, shows=shows))
    found = shown_by(theirs, security.trust, NOW.timestamp)  # type: ignore[arg-type]
    user = None if found is None else found.user()
    return "nobody" if user is None else "unusable" if user is UNUSABLE else user.name


# ---------------------------------------------------------------- versions, suites, curves


@pytest.mark.parametrize("newest", [V10, V11, V12, V13])
@pytest.mark.parametrize(
    ("oldest", "from_version"),
    [("VersionTLS10", V10), ("VersionTLS11", V11), ("VersionTLS12", V12), ("VersionTLS13", V13)],
)
def test_versions(
    tmp_path: Path, oldest: str, from_version: ssl.TLSVersion, newest: ssl.TLSVersion
) -> None:
    """A client that knows nothing newer gets in from the oldest version on."""
    server, context = secured(tmp_path, oldest=oldest).context, client(V10, newest)
    if newest < from_version:
        with pytest.raises(ssl.SSLError):
            handshake(server, context)
    else:
        spoken = {V10: "TLSv1", V11: "TLSv1.1", V12: "TLSv1.2", V13: "TLSv1.3"}[newest]
        assert handshake(server, context)[0].version() == spoken


RSA_ONLY = ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",)
ECDSA = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"


@pytest.mark.parametrize(
    ("suites", "offered", "chosen"),
    [
        ((ECDSA,), "ECDHE-ECDSA-AES128-GCM-SHA256", None),
        ((ECDSA,), "ALL", "ECDHE-ECDSA-AES256-GCM-SHA384"),
        (RSA_ONLY, "ALL", None),  # the key of the certificate is another
        (("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",), "ALL", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        (("TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",), "ALL", "ECDHE-ECDSA-AES128-SHA256"),
        (("TLS_AES_128_GCM_SHA256",), "ALL", None),  # of TLS 1.3 alone
        ((), "ECDHE-ECDSA-AES128-SHA", None),
    ],
)
def test_suites_of_tls_1_2(
    tmp_path: Path, suites: tuple[str, ...], offered: str, chosen: str | None
) -> None:
    """Those that were chosen and no others; TLS 1.3 goes on whatever they are."""
    server = secured(tmp_path, suites=suites).context
    if chosen is None:
        with pytest.raises(ssl.SSLError):
            handshake(server, client(newest=V12, suites=offered))
    else:
        ours, _ = handshake(server, client(newest=V12, suites=offered))
        assert (ours.cipher() or ("",))[0] == chosen
    assert handshake(server, client(V13))[0].version() == "TLSv1.3"


def test_a_suite_that_openssl_lacks_is_named(tmp_path: Path) -> None:
    """At start: no client could connect."""
    with pytest.raises(ValueError, match=r"^--tls-cipher-suites: OpenSSL .* has none of TLS_RSA_"):
        secured(tmp_path, suites=("TLS_RSA_WITH_RC4_128_SHA",))


def test_insecure_suites_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    """In kube-apiserver's words; good ones are not."""
    warn_of_suites(("TLS_RSA_WITH_AES_128_CBC_SHA", ECDSA, "TLS_RSA_WITH_RC4_128_SHA"))
    said = [record.getMessage() for record in caplog.records]
    assert said[0] == "Use of insecure cipher 'TLS_RSA_WITH_AES_128_CBC_SHA' detected."
    assert said[1] == "Use of insecure cipher 'TLS_RSA_WITH_RC4_128_SHA' detected."
    assert not any(ECDSA in line for line in said)


@needs_openssl
@pytest.mark.parametrize(
    ("curves", "theirs", "fine"),
    [
        ((24,), "prime256v1", False),
        ((24,), "secp384r1", True),
        ((24, 23), "prime256v1", True),
        ((29,), "prime256v1", False),
        ((25,), "secp521r1", True),
    ],
)
@pytest.mark.parametrize("version", [V12, V13])
def test_key_exchanges(
    tmp_path: Path, curves: tuple[int, ...], theirs: str, fine: bool, version: ssl.TLSVersion
) -> None:
    """A client that knows one curve only gets in if it is one of several."""
    if version is V12 and theirs != "prime256v1":
        pytest.skip("the client could not verify the certificate, which is of that curve")
    server, context = secured(tmp_path, curves=curves).context, client(version, version)
    context.set_ecdh_curve(theirs)
    if fine:
        assert handshake(server, context)[0].version()
    else:
        with pytest.raises(ssl.SSLError):
            handshake(server, context)


@needs_openssl
@pytest.mark.skipif(ssl.OPENSSL_VERSION_INFO >= (3, 5), reason="this OpenSSL has them")
def test_a_key_exchange_that_openssl_lacks_is_named(tmp_path: Path) -> None:
    """Rather than served without."""
    with pytest.raises(ValueError, match=r"^--tls-curve-preferences: OpenSSL .* X25519MLKEM768"):
        secured(tmp_path, curves=(4588, 23))


def test_key_exchanges_need_openssl_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it cannot be told, the flag is refused with the reason."""
    monkeypatch.setattr(openssl, "KNOWN", ((9, 0), (9, 1)))
    with pytest.raises(ValueError, match=r"^--tls-curve-preferences: this Python cannot tell"):
        secured(tmp_path, curves=(23,))
    assert secured(tmp_path)


@pytest.mark.parametrize(("http2", "chosen"), [(True, "h2"), (False, "http/1.1")])
def test_http2_can_be_switched_off(tmp_path: Path, http2: bool, chosen: str) -> None:
    """It is not offered then."""
    context = client()
    context.set_alpn_protocols(["h2", "http/1.1"] if not http2 else ["h2"])
    assert (
        handshake(secured(tmp_path, http2=http2).context, context)[0].selected_alpn_protocol()
        == chosen
    )


# ---------------------------------------------------------------- certificates by name


def served(security: Security, name: str | None) -> str:
    """Common name of the certificate that a client is shown."""
    ours, _ = handshake(security.context, client(), name)
    cert = x509.load_der_x509_certificate(ours.getpeercert(binary_form=True) or b"")
    return str(cert.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value)


def named(tmp_path: Path, common: str, *names: str) -> NamedPair:
    """A certificate for some names, given with a flag."""
    pair = make(common, ROOT, SERVER).write(tmp_path)
    return NamedPair(pair.cert, pair.key, names)


def test_certificates_by_name(tmp_path: Path) -> None:
    """Exact names, wildcards, names of a certificate, and the default one."""
    pairs = (named(tmp_path, "one", "*.one.test"), named(tmp_path, "two.test"))
    security = secured(tmp_path, named=pairs)
    asked = ("x.one.test", "one.test", "two.test", "default.test", None)
    assert [served(security, name) for name in asked] == [
        "one", "server", "two.test", "server", "server",
    ]  # fmt: skip


def test_clients_of_all_names_are_verified(tmp_path: Path) -> None:
    """The choice of a certificate changes nothing about who counts."""
    security = secured(tmp_path, named=(named(tmp_path, "one", "one.test"),))
    _, theirs = handshake(security.context, client(shows=ALICE.write(tmp_path)), "one.test")
    found = shown_by(theirs, security.trust, NOW.timestamp)  # type: ignore[arg-type]
    assert found is not None
    assert found.common_name == "alice"
    assert found.user() is not UNUSABLE


# ---------------------------------------------------------------- client certificates

BETWEEN = make("between", ROOT, ca=True)
STRANGER = make("root", ca=True)  # of the same name
LIMITED = make(
    "limited",
    ROOT,
    x509.NameConstraints([x509.DNSName("good.test")], None),
    ca=True,
)
SERVERS_ONLY = make("servers", ROOT, SERVER, ca=True)
OVER = make("over", ROOT, ca=True, end=NOW - dt.timedelta(hours=1))


def names(*each: str) -> x509.SubjectAlternativeName:
    """Host names of a certificate."""
    return x509.SubjectAlternativeName([x509.DNSName(name) for name in each])


@needs_openssl
@pytest.mark.parametrize("newest", [V12, V13])
@pytest.mark.parametrize(
    ("leaf", "chain", "who"),
    [
        (ALICE, (), "alice"),
        (make("any-use", ROOT), (), "any-use"),
        (make("server", ROOT, SERVER), (), "unusable"),
        (make("bob", BETWEEN, CLIENT), (BETWEEN,), "bob"),
        (make("bob", BETWEEN, CLIENT), (), "unusable"),
        (make("eve", STRANGER, CLIENT), (), "unusable"),
        (make("eve", ROOT, CLIENT, signed_by=STRANGER), (), "unusable"),
        (make("eve", ALICE, CLIENT), (ALICE,), "unusable"),
        (make("self", None, CLIENT), (), "unusable"),
        (make("old", ROOT, CLIENT, end=NOW - dt.timedelta(hours=1)), (), "unusable"),
        (make("early", ROOT, CLIENT, start=NOW + dt.timedelta(hours=1)), (), "unusable"),
        (make("bob", OVER, CLIENT), (OVER,), "unusable"),
        (make("bob", SERVERS_ONLY, CLIENT), (SERVERS_ONLY,), "unusable"),
        (make("bob", LIMITED, CLIENT, names("a.good.test")), (LIMITED,), "bob"),
        (make("bob", LIMITED, CLIENT, names("a.bad.test")), (LIMITED,), "unusable"),
        (make("bob", LIMITED, CLIENT), (LIMITED,), "bob"),
        (make("bob.bad.test", LIMITED, CLIENT), (LIMITED,), "bob.bad.test"),
    ],
)
def test_whom_a_certificate_names(
    tmp_path: Path, leaf: Made, chain: Sequence[Made], who: str, newest: ssl.TLSVersion
) -> None:
    """Every handshake comes to its end; what is not good is nobody's, and 401 later."""
    assert worth(secured(tmp_path), leaf.write(tmp_path, *chain), newest) == who


@needs_openssl
@pytest.mark.parametrize(
    ("between", "who"), [(openssl.LONGEST_CHAIN, "bob"), (openssl.LONGEST_CHAIN + 1, "unusable")]
)
def test_chains_are_bounded(tmp_path: Path, between: int, who: str) -> None:
    """A longer one is not followed, so that strangers cannot have signatures verified at will."""
    chain = [ROOT]
    for number in range(between):
        chain.append(make(f"between-{number}", chain[-1], ca=True))
    leaf = make("bob", chain[-1], CLIENT).write(tmp_path, *reversed(chain[1:]))
    assert worth(secured(tmp_path), leaf) == who


@needs_openssl
@pytest.mark.parametrize("newest", [V12, V13])
def test_a_crowd_of_certificates_ends_the_handshake(tmp_path: Path, newest: ssl.TLSVersion) -> None:
    """Reading them takes the time of everybody else."""
    number = openssl.MOST_CERTIFICATES // len(ROOT.cert.public_bytes(form.Encoding.DER)) + 1
    leaf = ALICE.write(tmp_path, *[ROOT] * number)
    with pytest.raises(ssl.SSLError):
        worth(secured(tmp_path), leaf, newest)


@needs_openssl
def test_proxies_are_told_from_users(tmp_path: Path) -> None:
    """Each by authorities of their own, of which both are asked for in one handshake."""
    proxies = tmp_path / "proxies.pem"
    write_atomic(proxies, STRANGER.pem)
    security = secured(tmp_path, front_proxy_ca=proxies)
    front = make("front", STRANGER, CLIENT).write(tmp_path)
    for shows, user, proxy in ((ALICE.write(tmp_path), "alice", False), (front, "unusable", True)):
        assert worth(security, shows) == user
        _, theirs = handshake(security.context, client(shows=shows))
        found = shown_by(theirs, security.trust, NOW.timestamp)  # type: ignore[arg-type]
        assert found is not None
        assert found.proxy() is proxy


@needs_openssl
def test_each_certificate_of_the_file_is_an_authority(tmp_path: Path) -> None:
    """Also one that somebody else signed, as in Go."""
    bob = make("bob", BETWEEN, CLIENT).write(tmp_path)
    assert worth(secured(tmp_path, BETWEEN.pem), bob) == "bob"
    assert worth(secured(tmp_path, BETWEEN.pem), ALICE.write(tmp_path)) == "unusable"


@needs_openssl
def test_one_bad_certificate_says_nothing_of_the_next(tmp_path: Path) -> None:
    """What was wrong is noted for one connection, and forgotten with it."""
    security = secured(tmp_path)
    eve, alice = make("eve", STRANGER, CLIENT).write(tmp_path), ALICE.write(tmp_path)
    _, kept = handshake(security.context, client(shows=eve))
    assert worth(security, alice) == "alice"
    found = shown_by(kept, security.trust, NOW.timestamp)  # type: ignore[arg-type]
    assert found is not None
    assert found.user() is UNUSABLE
    assert not openssl._failures


@needs_openssl
def test_sessions_are_not_resumed(tmp_path: Path) -> None:
    """Nothing would be verified: a bad certificate must not become a good one."""
    security = secured(tmp_path)
    context = client(newest=V12, shows=make("eve", STRANGER, CLIENT).write(tmp_path))
    ours, theirs = handshake(security.context, context)
    openssl.failure(theirs)  # type: ignore[arg-type]
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    again = context.wrap_bio(back, there, session=ours.session)
    server = security.context.wrap_bio(there, back, server_side=True)
    for _ in range(6):
        for side in (again, server):
            with suppress(ssl.SSLWantReadError):
                side.do_handshake()
    assert not server.session_reused
    found = shown_by(server, security.trust, NOW.timestamp)  # type: ignore[arg-type]
    assert found is not None
    assert found.user() is UNUSABLE


def test_where_openssl_cannot_be_reached_bad_certificates_end_handshakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They never count; good ones do."""
    monkeypatch.setattr(openssl, "KNOWN", ((9, 0), (9, 1)))
    security = secured(tmp_path)
    assert worth(security, ALICE.write(tmp_path)) == "alice"
    with pytest.raises(ssl.SSLError):
        worth(security, make("eve", STRANGER, CLIENT).write(tmp_path))


# ---------------------------------------------------------------- reload


async def who(request: Request) -> AnyResponse:
    """Says who asks."""
    user = request.certificate
    return Response(200, b"unusable" if user is UNUSABLE else user.name.encode() if user else b"-")


class Asking:
    """A client's open connection."""

    def __init__(self, stream: trio.SSLStream[trio.SocketStream]) -> None:
        self.stream = stream

    async def who(self) -> str:
        """Whom the server takes the client for."""
        await self.stream.send_all(b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
        data = b""
        with trio.fail_after(5):
            while b"\r\n\r\n" not in data:
                data += await self.stream.receive_some()
        return data.partition(b"\r\n\r\n")[2].decode()


@asynccontextmanager
async def opened(port: int, context: ssl.SSLContext) -> AsyncIterator[Asking]:
    """A connection, its handshake done."""
    tcp = await trio.open_tcp_stream("127.0.0.1", port)
    stream = trio.SSLStream(tcp, context, https_compatible=True)
    try:
        await stream.do_handshake()
        yield Asking(stream)
    finally:
        await trio.aclose_forcefully(stream)


@needs_openssl
async def test_an_authority_that_goes_stops_open_connections(
    tmp_path: Path, certificates: pki.Pki
) -> None:
    """With the next request, while the connection stays; new ones are as open ones."""
    security = secured(tmp_path)
    ca = tmp_path / "clients.pem"
    alice = client(shows=ALICE.write(tmp_path))
    eve = client(shows=make("eve", STRANGER, CLIENT).write(tmp_path))
    async with listening(who, Env(), certificates, tls=security) as listener:  # noqa: SIM117
        async with opened(listener.port, alice) as first:
            assert await first.who() == "alice"
            write_atomic(ca, STRANGER.pem)
            security.reload_authorities()
            assert await first.who() == "unusable"
            async with opened(listener.port, alice) as second:
                assert await second.who() == "unusable"
            async with opened(listener.port, eve) as third:
                assert await third.who() == "eve"
            write_atomic(ca, STRANGER.pem + ROOT.pem)
            security.reload_authorities()
            assert await first.who() == "alice"


BAD = [b"", b"nonsense", b"-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----\n"]


@pytest.mark.parametrize("bad", [*BAD, ROOT.pem + printed(b"0")])
def test_bad_authorities_leave_everything_as_it_is(tmp_path: Path, bad: bytes) -> None:
    """The error says so, and the old ones go on, also with a new serving certificate."""
    security = secured(tmp_path)
    ca = tmp_path / "clients.pem"
    write_atomic(ca, bad)
    with pytest.raises((OSError, ValueError)):
        security.reload_authorities()
    assert worth(security, ALICE.write(tmp_path)) == "alice"
    replace_pair(security.config, make("new", ROOT, SERVER))
    security.reload_pair(0)
    assert served(security, None) == "new"
    assert worth(security, ALICE.write(tmp_path)) == "alice"


@needs_openssl
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("which", ["certificate", "key"])
def test_a_bad_pair_leaves_everything_as_it_is(tmp_path: Path, bad: bytes, which: str) -> None:
    """The error says so, and the old pair goes on, also with new authorities."""
    security = secured(tmp_path)
    write_atomic(getattr(security.config, which), bad)
    with pytest.raises((OSError, ValueError)):
        security.reload_pair(0)
    assert served(security, None) == "server"
    write_atomic(tmp_path / "clients.pem", STRANGER.pem)
    security.reload_authorities()
    assert served(security, None) == "server"
    assert worth(security, ALICE.write(tmp_path)) == "unusable"
    assert worth(security, make("eve", STRANGER, CLIENT).write(tmp_path)) == "eve"


def replace_pair(config: TlsConfig, new: Made) -> None:
    """Write another serving certificate and key."""
    write_atomic(config.key, private(new.key))
    write_atomic(config.certificate, new.pem)


def test_a_key_of_another_certificate_waits_for_it(tmp_path: Path) -> None:
    """Two files are never written at once: between them the old pair is served."""
    security = secured(tmp_path)
    new = make("new", ROOT, SERVER)
    write_atomic(security.config.key, private(new.key))
    with pytest.raises(ssl.SSLError):
        security.reload_pair(0)
    assert served(security, None) == "server"
    write_atomic(security.config.certificate, new.pem)
    security.reload_pair(0)
    assert served(security, None) == "new"


def test_certificates_by_name_are_read_again(tmp_path: Path) -> None:
    """With the names that they have now."""
    pair = named(tmp_path, "old.test")
    security = secured(tmp_path, named=(pair,))
    assert served(security, "new.test") == "server"
    new = make("new.test", ROOT, SERVER)
    write_atomic(pair.cert, new.pem)
    write_atomic(pair.key, private(new.key))
    security.reload_pair(1)
    assert [served(security, name) for name in ("old.test", "new.test")] == ["server", "new.test"]


async def test_no_handshake_fails_while_certificates_change(
    tmp_path: Path, certificates: pki.Pki
) -> None:
    """Clients connect as fast as they can, while the pair is replaced again and again."""
    security = secured(tmp_path)
    pairs = [make(f"server-{n}", ROOT, SERVER) for n in range(8)]
    alice = client(shows=ALICE.write(tmp_path))
    seen: set[str] = set()
    done = 0

    async def connect(port: int) -> None:
        nonlocal done
        while True:
            async with opened(port, alice) as asking:
                assert await asking.who() == "alice"
                der = asking.stream.getpeercert(binary_form=True)
                subject = x509.load_der_x509_certificate(der).subject
                seen.add(subject.rfc4514_string())
                done += 1

    async def replaced() -> None:
        for pair in pairs:
            write_atomic(security.config.key, private(pair.key))
            with suppress(ssl.SSLError):  # between the two
                security.reload_pair(0)
            write_atomic(security.config.certificate, pair.pem)
            security.reload_pair(0)
            before = done
            while done < before + 8:
                await trio.lowlevel.checkpoint()

    async with listening(who, Env(), certificates, tls=security) as listener:
        with trio.fail_after(30):
            async with trio.open_nursery() as nursery:
                for _ in range(4):
                    nursery.start_soon(partial(connect, listener.port))
                await replaced()
                nursery.cancel_scope.cancel()
    assert len(seen) >= len(pairs)
    assert CIPHERS
