"""Files of keys and certificates while a server runs, with real TLS."""

from __future__ import annotations

import base64
import datetime as dt
import json
import ssl
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from kubetrio.backend.backends import Backends, KubeletConfig, PeerVerification
from kubetrio.config import Authentication, Config, Serving, Storage
from kubetrio.config.sni import NamedPair
from kubetrio.env import Env, seeded
from kubetrio.reloading import INTERVAL_S
from kubetrio.runtime.files import write_atomic
from kubetrio.server import Server, StartError, open_server, tlsfiles
from kubetrio.tls import pki
from kubetrio.tls.certificates import LEAF_LIFETIME, names_in, verifies

NOW = dt.datetime.now(dt.UTC)
ADDRESS = ["127.0.0.1"]
SOON_S = INTERVAL_S + 5
CLIENTS, BEGIN = "client-ca-file", "BEGIN CERTIFICATE"
CONFIGMAP = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Any free port, a data directory of its own."""
    return Config(
        data_dir=tmp_path / "data",
        serving=Serving(secure_port=0),
        storage=Storage(durability="normal"),
    )


def another(tmp_path: Path, name: str, hosts: list[str] | None = None) -> pki.Pki:
    """Certificates of an authority of its own."""
    return pki.ensure(tmp_path / name, now=NOW, hosts=ADDRESS if hosts is None else hosts)


def serving(config: Config, pair: pki.KeyPair, **more: Any) -> Config:
    """A server with a certificate of its user's."""
    chosen = replace(config.serving, tls_cert_file=pair.cert, tls_private_key_file=pair.key, **more)
    return replace(config, serving=chosen)


def copied(pair: pki.KeyPair, to: Path) -> pki.KeyPair:
    """The same pair in files that a test may replace."""
    made = pki.KeyPair(to / "given.crt", to / "given.key")
    write_atomic(made.key, pair.key.read_bytes())
    write_atomic(made.cert, pair.cert.read_bytes())
    return made


async def asked(
    server: Server, path: str, made: pki.Pki | None = None, accept: str = "*/*", alpn: str = ""
) -> tuple[bytes, bytes]:
    """Certificate of a server, and its whole answer to a GET."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    who = made or server.pki
    context.load_cert_chain(who.admin.cert, who.admin.key)
    if alpn:
        context.set_alpn_protocols([alpn])
    tcp = await trio.open_tcp_stream("127.0.0.1", server.port)
    stream = trio.SSLStream(tcp, context, https_compatible=True)
    try:
        await stream.do_handshake()
        shown = stream.getpeercert(binary_form=True) or b""
        head = f"GET {path} HTTP/1.1\r\nHost: h\r\nAccept: {accept}\r\nConnection: close\r\n\r\n"
        await stream.send_all(head.encode())
        data = b""
        with trio.fail_after(10):
            while part := await stream.receive_some():
                data += part
        return shown, data
    finally:
        await trio.aclose_forcefully(stream)


def der(pair: pki.KeyPair) -> bytes:
    """A certificate."""
    return ssl.PEM_cert_to_DER_cert(pair.cert.read_text())


async def reconsider(server: Server) -> None:
    """Look at all files now, as happens each few seconds."""
    for watched in server.assembly.reloader._watched:
        await server.assembly.reloader._reconsider(watched)


# ---------------------------------------------------------------- reload


async def test_a_new_serving_certificate_is_served(
    config: Config, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Once both files fit; a bad one is named in the log and a metric, and the old one stays."""
    first, second = another(tmp_path, "a").serving, another(tmp_path, "b").serving
    given = copied(first, tmp_path)
    async with open_server(serving(config, given)) as server:
        write_atomic(given.key, second.key.read_bytes())
        await reconsider(server)
        shown, page = await asked(server, "/metrics", accept="text/plain")
        assert shown == der(first)
        assert "a changed file is not used" in caplog.text
        assert b'kubetrio_file_reloads_total{file="--tls-cert-file",result="failure"} 1.0' in page
        write_atomic(given.cert, second.cert.read_bytes())
        await reconsider(server)
        shown, page = await asked(server, "/metrics", accept="text/plain")
        assert shown == der(second)
        assert b'kubetrio_file_reloads_total{file="--tls-cert-file",result="success"} 1.0' in page
        assert b"\napiserver_client_certificate_expiration_seconds_count 2.0\n" in page


async def test_new_authorities_of_clients_count_and_are_published(
    config: Config, tmp_path: Path
) -> None:
    """Those of before get 401; the ConfigMap keeps them, for other servers may believe them."""
    first, second = another(tmp_path, "a"), another(tmp_path, "b")
    given = tmp_path / "clients.pem"
    write_atomic(given, first.ca.cert.read_bytes())
    auth = Authentication(client_ca_file=given)
    async with open_server(replace(config, auth=auth)) as server:
        assert b" 200 OK\r\n" in (await asked(server, CONFIGMAP, first))[1]
        assert b" 401 Unauthorized\r\n" in (await asked(server, CONFIGMAP, second))[1]
        write_atomic(given, second.ca.cert.read_bytes())
        await reconsider(server)
        assert b" 401 Unauthorized\r\n" in (await asked(server, CONFIGMAP, first))[1]
        with trio.fail_after(10):
            while True:
                _, answer = await asked(server, CONFIGMAP, second)
                if json.loads(answer[answer.index(b"{") :])["data"][CLIENTS].count(BEGIN) == 2:
                    break


async def test_self_made_certificates_are_renewed_while_it_runs(
    config: Config, autojump_clock: trio.testing.MockClock
) -> None:
    """A month before they end, and shown from then on; the authority stays."""
    before = NOW - LEAF_LIFETIME + dt.timedelta(days=30, minutes=1)
    old = tlsfiles.own_certificates(config, seeded(1, start=before.timestamp()))
    shown, authority = der(old.serving), der(old.ca)
    env = replace(seeded(1, start=(NOW - dt.timedelta(minutes=30)).timestamp()), clients_now=None)
    async with open_server(config, env) as server:
        assert (await asked(server, "/healthz"))[0] == shown
        await trio.sleep(tlsfiles.RENEW_INTERVAL_S + SOON_S)
        assert der(server.pki.ca) == authority
        renewed, answer = await asked(server, "/healthz")
        assert b" 200 OK" in answer
    assert renewed == der(old.serving) != shown


async def test_what_cannot_be_renewed_is_told(
    config: Config, autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Each hour, while the server goes on."""
    env = seeded(1)
    made = tlsfiles.own_certificates(config, env)
    made.ca.key.unlink()
    made.serving.cert.unlink()
    with trio.move_on_after(2 * tlsfiles.RENEW_INTERVAL_S + 1):
        await tlsfiles.renew(config, env)
    said = [each for each in caplog.records if each.getMessage() == "cannot renew certificates"]
    assert len(said) == 2


async def test_certificates_for_kubelets_are_read_again(tmp_path: Path) -> None:
    """A bad file leaves the old ones, and where none was needed yet there is nothing to read."""
    made = another(tmp_path, "a")
    given = copied(made.admin, tmp_path)
    config = KubeletConfig(certificate=given.cert, key=given.key)
    backends = Backends(config, Env(), lambda: made.admin)
    backends.reload()
    first = await backends._context(PeerVerification.KUBELET_UNVERIFIED)
    good = given.cert.read_bytes()
    write_atomic(given.cert, b"nonsense")
    with pytest.raises(ssl.SSLError):
        backends.reload()
    assert await backends._context(PeerVerification.KUBELET_UNVERIFIED) is first
    write_atomic(given.cert, good)
    backends.reload()
    assert await backends._context(PeerVerification.KUBELET_UNVERIFIED) is not first


# ---------------------------------------------------------------- the kubeconfig


def chained(tmp_path: Path, made: pki.Pki) -> pki.KeyPair:
    """A serving certificate with its authority behind it."""
    pair = copied(made.serving, tmp_path)
    write_atomic(pair.cert, made.serving.cert.read_bytes() + made.ca.cert.read_bytes())
    return pair


def test_the_kubeconfig_verifies_a_certificate_of_another_authority(
    config: Config, tmp_path: Path
) -> None:
    """With what its file holds; the server's own authority would refuse it."""
    made, other = tlsfiles.own_certificates(config, Env()), another(tmp_path, "b")
    chosen = serving(config, chained(tmp_path, other))
    bundle = tlsfiles.root_bundle(chosen, made)
    assert verifies(bundle, other.serving.cert, other.serving.key)
    assert not verifies(made.ca.cert.read_bytes(), other.serving.cert, other.serving.key)
    assert tlsfiles.shown(chosen, made).server_name == ""


def test_the_own_authority_is_enough_for_what_it_signed(config: Config) -> None:
    """Whether the files were named or not."""
    made = tlsfiles.own_certificates(config, Env())
    own = made.ca.cert.read_bytes()
    assert tlsfiles.root_bundle(config, made) == own
    assert tlsfiles.root_bundle(serving(config, made.serving), made) == own
    assert tlsfiles.shown(config, made).server_name == ""


def test_a_certificate_without_the_address_is_asked_for_by_name(
    config: Config, tmp_path: Path
) -> None:
    """The kubeconfig says which; kubectl would refuse it otherwise."""
    made, other = tlsfiles.own_certificates(config, Env()), another(tmp_path, "b")
    chosen = serving(config, other.serving, advertise_address="192.0.2.7")
    name = tlsfiles.shown(chosen, made).server_name
    assert name in names_in(other.serving.cert.read_bytes())[1]
    assert "." not in name or not name.replace(".", "").isdigit()


async def test_the_written_kubeconfig_says_so(config: Config, tmp_path: Path) -> None:
    """As kubectl reads it."""
    other = another(tmp_path, "b")
    chosen = serving(config, chained(tmp_path, other), advertise_address="192.0.2.7")
    async with open_server(chosen) as server:
        (cluster,) = server.kubeconfig()["clusters"]  # type: ignore[misc]
        assert cluster["cluster"]["tls-server-name"]  # type: ignore[has-type]
        assert server.root_bundle().count(b"BEGIN CERTIFICATE") == 2


@pytest.mark.parametrize("names", [("127.0.0.1",), ("*.example.org",), ()])
async def test_the_kubeconfig_verifies_what_its_address_is_shown(
    config: Config, tmp_path: Path, names: tuple[str, ...]
) -> None:
    """Also where a certificate for names is that; another of its authority is not trusted for it.

    The default one is for localhost only, a name that the others may take.
    """
    default = another(tmp_path, "b", ["localhost"])
    named = another(tmp_path, "c", ["localhost", *ADDRESS])
    pair = NamedPair(chained(tmp_path, named).cert, named.serving.key, names)
    folder = tmp_path / "default"
    folder.mkdir()
    chosen = serving(config, chained(folder, default), tls_sni_cert_key=(pair,))
    async with open_server(chosen) as server:
        made = server.kubeconfig()["clusters"][0]["cluster"]  # type: ignore[index]
        context = ssl.create_default_context(
            cadata=base64.b64decode(made["certificate-authority-data"]).decode()
        )
        assert len(context.get_ca_certs()) == 1
        asked_for = made.get("tls-server-name") or "127.0.0.1"
        plain = await trio.open_tcp_stream("127.0.0.1", server.port)
        stream = trio.SSLStream(plain, context, server_hostname=asked_for, https_compatible=True)
        await stream.do_handshake()
        await stream.aclose()


# ---------------------------------------------------------------- flags


async def test_answers_carry_strict_transport_security(config: Config) -> None:
    """Errors too; without the flag there is no such header."""
    chosen = replace(config.serving, hsts_directives=("max-age=31536000", "includeSubDomains"))
    line = b"\r\nStrict-Transport-Security: max-age=31536000; includeSubDomains\r\n"
    async with open_server(replace(config, serving=chosen)) as server:
        for path in ("/version", "/nowhere", "/api/v1/namespaces/none"):
            assert line in (await asked(server, path))[1]
    async with open_server(config) as server:
        assert b"Strict-Transport" not in (await asked(server, "/version"))[1]


async def test_a_port_can_be_shared(config: Config, tmp_path: Path) -> None:
    """Two servers with data of their own, if both say so."""
    shared = replace(config, serving=replace(config.serving, permit_port_sharing=True))
    async with open_server(shared) as server:
        port = server.port
        chosen = replace(shared.serving, secure_port=port)
        other = replace(shared, data_dir=tmp_path / "other", serving=chosen)
        async with open_server(other) as beside:
            assert beside.port == port
        alone = replace(other, serving=replace(chosen, permit_port_sharing=False))
        with pytest.raises(StartError, match="Address already in use"):
            async with open_server(alone):
                pass


@pytest.mark.parametrize(("given", "told"), [(0, 250), (7, 7)])
async def test_streams_of_http2_have_the_bound_of_the_flag(
    config: Config, given: int, told: int
) -> None:
    """Clients are told it when they connect."""
    chosen = replace(config.serving, http2_max_streams=given)
    async with open_server(replace(config, serving=chosen)) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        tcp = await trio.open_tcp_stream("127.0.0.1", server.port)
        stream = trio.SSLStream(tcp, context, https_compatible=True)
        await stream.send_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
        data = b""
        with trio.fail_after(10):
            while len(data) < 60:
                data += await stream.receive_some()
        await trio.aclose_forcefully(stream)
        assert b"\0\3" + told.to_bytes(4) in data


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda p: NamedPair(p / "none", p / "none"),
            "failed to load SNI cert and key: cannot read",
        ),
        (lambda p: NamedPair(p / "a", p / "a"), "failed to load SNI cert and key: .* no PEM cert"),
    ],
)
async def test_a_bad_certificate_by_name_ends_the_start(
    config: Config, tmp_path: Path, make: Any, said: str
) -> None:
    """In one line that names the file and the flag."""
    write_atomic(tmp_path / "a", b"nonsense")
    chosen = replace(config.serving, tls_sni_cert_key=(make(tmp_path),))
    with pytest.raises(StartError, match=said):
        async with open_server(replace(config, serving=chosen)):
            pass


async def test_a_certificate_by_name_is_shown(config: Config, tmp_path: Path) -> None:
    """Over a real connection, and by the address for who names nobody."""
    other = another(tmp_path, "b").serving
    pair = NamedPair(other.cert, other.key, ("here.test", "127.0.0.1"))
    chosen = replace(config.serving, tls_sni_cert_key=(pair,))
    async with open_server(replace(config, serving=chosen)) as server:
        assert (await asked(server, "/healthz"))[0] == der(other)
        context = ssl.create_default_context(cafile=str(server.pki.ca.cert))
        tcp = await trio.open_tcp_stream("127.0.0.1", server.port)
        stream = trio.SSLStream(tcp, context, server_hostname="localhost", https_compatible=True)
        await stream.do_handshake()
        assert stream.getpeercert(binary_form=True) == der(server.pki.serving)
        await trio.aclose_forcefully(stream)
