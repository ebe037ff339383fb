"""Keys and certificates on disk."""

import datetime as dt
import errno
import json
import os
import socket
import ssl
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from cryptography import x509

from kubetrio.auth.certificates import Subject, user_of_peer
from kubetrio.runtime.files import write_atomic
from kubetrio.tls import certificates
from kubetrio.tls.certificates import LEAF_LIFETIME
from kubetrio.tls.pki import (
    KeyPair,
    Pki,
    PkiError,
    ensure,
    ensure_front_proxy_client,
    ensure_kubelet_client,
    load_user_supplied,
)

# The handshakes below are checked against the machine's clock.
NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)
DAY = dt.timedelta(days=1)
ALL = {
    "ca.crt",
    "ca.key",
    "front-proxy-ca.crt",
    "front-proxy-ca.key",
    "apiserver.crt",
    "apiserver.key",
    "admin.crt",
    "admin.key",
    "sa.key",
    "sa.pub",
}


def _ensure(directory: Path, *hosts: str, now: dt.datetime = NOW) -> Pki:
    return ensure(directory, now=now, hosts=hosts)


def _names(pki: Pki) -> set[str]:
    cert = x509.load_pem_x509_certificate(pki.serving.cert.read_bytes())
    sans = cert.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {
        *sans.get_values_for_type(x509.DNSName),
        *map(str, sans.get_values_for_type(x509.IPAddress)),
    }


def _handshake(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> ssl.SSLObject:
    """Run a handshake in memory and return the server's side."""
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    serving = server.wrap_bio(up, down, server_side=True)
    asking = client.wrap_bio(down, up, server_hostname=name)
    waiting = [asking, serving]
    for _ in range(10):
        for side in list(waiting):
            try:
                side.do_handshake()
                waiting.remove(side)
            except ssl.SSLWantReadError:
                continue
    assert not waiting
    return serving


def _contexts(pki: Pki) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pki.serving.cert, pki.serving.key)
    server.load_verify_locations(pki.ca.cert)
    server.verify_mode = ssl.CERT_OPTIONAL
    client = ssl.create_default_context(cafile=str(pki.ca.cert))
    client.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
    client.load_cert_chain(pki.admin.cert, pki.admin.key)
    return server, client


@pytest.mark.parametrize(
    "name", ["localhost", "127.0.0.1", "::1", "10.0.0.1", "kubernetes.default.svc"]
)
def test_handshake_identifies_the_administrator(tmp_path: Path, name: str) -> None:
    """A strict client trusts the server by any of its names, and the server knows the client."""
    serving = _handshake(*_contexts(_ensure(tmp_path / "pki")), name)
    peer, der = serving.getpeercert(), serving.getpeercert(binary_form=True)
    assert peer is not None
    assert der is not None
    subject: Subject = peer["subject"]  # type: ignore[assignment]  # typeshed is wider
    user = user_of_peer(subject, der)
    assert user is not None
    assert (user.name, user.groups) == ("kubernetes-admin", ("system:masters",))


def test_an_unlisted_name_is_not_trusted(tmp_path: Path) -> None:
    """The serving certificate is for its names only."""
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        _handshake(*_contexts(_ensure(tmp_path / "pki")), "elsewhere.example")


def test_a_serving_certificate_is_no_client_certificate(tmp_path: Path) -> None:
    """Only the admin certificate is good for clients."""
    pki = _ensure(tmp_path / "pki")
    server, client = _contexts(pki)
    client.load_cert_chain(pki.serving.cert, pki.serving.key)
    with pytest.raises(ssl.SSLCertVerificationError, match="purpose"):
        _handshake(server, client, "localhost")


def test_first_start_makes_everything_private(tmp_path: Path) -> None:
    """All files are made, readable by their owner alone."""
    pki = _ensure(tmp_path / "a" / "pki", "Example.COM", "192.0.2.7")
    directory = pki.ca.cert.parent
    assert set(pki.issued) == ALL
    assert {path.name for path in directory.iterdir()} == {*ALL, "pki.json"}
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}


def test_names_of_the_serving_certificate(tmp_path: Path) -> None:
    """Fixed names, the host's and those asked for, each in one spelling."""
    pki = _ensure(
        tmp_path, "Example.COM.", "192.0.2.7", "2001:DB8::0:1", "fe80::1%eth0", "*.x.test"
    )
    expected = {
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        "localhost",
        "127.0.0.1",
        "::1",
        "10.0.0.1",
        "example.com",
        "192.0.2.7",
        "2001:db8::1",
        "fe80::1",
        "*.x.test",
    }
    assert expected <= _names(pki) <= expected | {socket.gethostname().lower()}


@pytest.mark.parametrize("host", ["", "[::1]", "host:6443", "höst", "a b", "https://x"])
def test_bad_hosts_are_refused(tmp_path: Path, host: str) -> None:
    """What is neither address nor name is an error before anything is written."""
    with pytest.raises(PkiError, match="neither an IP address nor a DNS name"):
        _ensure(tmp_path / "pki", host)
    assert not (tmp_path / "pki").exists()


def test_a_second_start_changes_nothing(tmp_path: Path) -> None:
    """What is there and fits is used, with the stamp and without it."""
    _ensure(tmp_path, "example.com")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert _ensure(tmp_path, now=NOW + 100 * DAY).issued == ()
    (tmp_path / "pki.json").unlink()
    assert _ensure(tmp_path).issued == ()
    assert {name: (tmp_path / name).read_bytes() for name in ALL} == {n: before[n] for n in ALL}


def test_the_fast_path_does_not_import_cryptography(tmp_path: Path) -> None:
    """A start with everything in place reads the stamp only."""
    _ensure(tmp_path)
    script = (
        "import sys, datetime, pathlib; from kubetrio.tls.pki import ensure;"
        f"p = ensure(pathlib.Path({str(tmp_path)!r}), now=datetime.datetime.fromtimestamp("
        f"{NOW.timestamp()}, datetime.timezone.utc), hosts=());"
        "assert p.issued == (); assert not any(m.startswith('cryptography') for m in sys.modules)"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


def test_a_new_host_renews_the_serving_certificate_only(tmp_path: Path) -> None:
    """A missing name is added by issuing again, under the same authority."""
    _ensure(tmp_path)
    pki = _ensure(tmp_path, "192.0.2.7")
    assert set(pki.issued) == {"apiserver.crt", "apiserver.key"}
    assert "192.0.2.7" in _names(pki)


@pytest.mark.parametrize("days", [336, 400])
def test_leaves_are_renewed_in_time(tmp_path: Path, days: int) -> None:
    """Thirty days before the end and after it, both leaves are issued again."""
    _ensure(tmp_path)
    pki = _ensure(tmp_path, now=NOW + days * DAY)
    assert set(pki.issued) == {"apiserver.crt", "apiserver.key", "admin.crt", "admin.key"}


def test_leaves_do_not_outlive_the_authority(tmp_path: Path) -> None:
    """Close to the authority's end leaves end with it and are not issued at every start."""
    _ensure(tmp_path)
    late = NOW + 3640 * DAY
    assert _ensure(tmp_path, now=late).issued
    assert _ensure(tmp_path, now=late + DAY).issued == ()


def test_an_expired_authority_is_an_error(tmp_path: Path) -> None:
    """The authority is never replaced; the message says which file and what to do."""
    _ensure(tmp_path)
    before = (tmp_path / "ca.crt").read_bytes()
    with pytest.raises(PkiError, match=r"ca\.crt is valid from .* move .* away"):
        _ensure(tmp_path, now=NOW + 3651 * DAY)
    assert (tmp_path / "ca.crt").read_bytes() == before


@pytest.mark.parametrize("name", ["ca.crt", "ca.key", "sa.key"])
def test_damaged_identities_are_errors(tmp_path: Path, name: str) -> None:
    """An authority or token key that cannot be read is named and left alone."""
    _ensure(tmp_path)
    (tmp_path / name).write_bytes(b"garbage")
    with pytest.raises(PkiError, match=f"{name} holds no usable .*; restore it from a backup"):
        _ensure(tmp_path)
    assert (tmp_path / name).read_bytes() == b"garbage"


@pytest.mark.parametrize("name", ["apiserver.crt", "apiserver.key", "admin.crt", "admin.key"])
def test_damaged_leaves_are_issued_again(tmp_path: Path, name: str) -> None:
    """A leaf that cannot be used is replaced with its key, even behind a stamp."""
    _ensure(tmp_path)
    (tmp_path / name).write_bytes(b"garbage")
    stem = name.partition(".")[0]
    assert set(_ensure(tmp_path).issued) == {f"{stem}.crt", f"{stem}.key"}


def test_leaves_of_another_authority_are_issued_again(tmp_path: Path) -> None:
    """An authority put there by hand signs its own leaves."""
    _ensure(tmp_path / "a")
    _ensure(tmp_path / "b")
    for name in ("ca.crt", "ca.key"):
        write_atomic(tmp_path / "a" / name, (tmp_path / "b" / name).read_bytes())
    pki = _ensure(tmp_path / "a")
    assert set(pki.issued) == {"apiserver.crt", "apiserver.key", "admin.crt", "admin.key"}
    _handshake(*_contexts(pki), "localhost")


def test_mismatched_authority_is_an_error(tmp_path: Path) -> None:
    """A key that is not the authority's is refused."""
    _ensure(tmp_path / "a")
    _ensure(tmp_path / "b")
    (tmp_path / "a" / "ca.key").write_bytes((tmp_path / "b" / "ca.key").read_bytes())
    with pytest.raises(PkiError, match=r"ca\.key is not the key of .*ca\.crt"):
        _ensure(tmp_path / "a")


def test_the_authority_key_may_be_elsewhere(tmp_path: Path) -> None:
    """Without ca.key everything works until something has to be signed."""
    _ensure(tmp_path)
    (tmp_path / "ca.key").unlink()
    assert _ensure(tmp_path).issued == ()
    with pytest.raises(PkiError, match=r"apiserver\.crt has to be issued and .*ca\.key is missing"):
        _ensure(tmp_path, "192.0.2.7")
    assert not (tmp_path / "ca.key").exists()


def test_a_lost_authority_certificate_is_made_again(tmp_path: Path) -> None:
    """From the same key comes a certificate that leaves and clients accept."""
    _ensure(tmp_path)
    (tmp_path / "ca.crt").unlink()
    pki = _ensure(tmp_path)
    assert pki.issued == ("ca.crt",)
    _handshake(*_contexts(pki), "localhost")


def test_the_public_token_key_is_derived(tmp_path: Path) -> None:
    """A missing sa.pub is written again, byte for byte."""
    before = _ensure(tmp_path).sa_pub.read_bytes()
    (tmp_path / "sa.pub").unlink()
    pki = _ensure(tmp_path)
    assert pki.issued == ("sa.pub",)
    assert pki.sa_pub.read_bytes() == before


def test_a_lost_token_key_is_an_error(tmp_path: Path) -> None:
    """With sa.pub alone, tokens are out there that a new key would void."""
    _ensure(tmp_path)
    (tmp_path / "sa.key").unlink()
    with pytest.raises(PkiError, match=r"sa\.key is missing; restore it"):
        _ensure(tmp_path)


def test_a_foreign_public_token_key_is_an_error(tmp_path: Path) -> None:
    """The two halves must fit."""
    _ensure(tmp_path / "a")
    other = _ensure(tmp_path / "b").sa_pub.read_bytes()
    (tmp_path / "a" / "sa.pub").write_bytes(other)
    with pytest.raises(PkiError, match=r"sa\.pub is not the public half of .*sa\.key"):
        _ensure(tmp_path / "a")


@pytest.mark.parametrize("stamp", [b"", b"[]", b"{}", b'{"version": 0}', b"\xff"])
def test_a_useless_stamp_is_replaced(tmp_path: Path, stamp: bytes) -> None:
    """A stamp that cannot be read costs time and nothing else."""
    _ensure(tmp_path)
    (tmp_path / "pki.json").write_bytes(stamp)
    assert _ensure(tmp_path).issued == ()
    assert json.loads((tmp_path / "pki.json").read_bytes())["version"] == 3


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    """A directory that is a file gives one line with the next step."""
    (tmp_path / "pki").write_text("")
    with pytest.raises(
        PkiError, match=r"cannot use .*pki: .*; make .* or choose another --cert-dir"
    ):
        _ensure(tmp_path / "pki")


def test_time_needs_a_zone(tmp_path: Path) -> None:
    """A naive time is a mistake of the caller."""
    with pytest.raises(ValueError, match="time zone"):
        ensure(tmp_path, now=NOW.replace(tzinfo=None), hosts=())


def test_user_supplied_pair_is_accepted(tmp_path: Path) -> None:
    """A pair that fits is returned as it is."""
    pki = _ensure(tmp_path)
    assert load_user_supplied(pki.serving.cert, pki.serving.key) == pki.serving


_PEM = "-----BEGIN {0}-----\nAAAA\n-----END {0}-----\n"


@pytest.mark.parametrize(
    ("which", "content", "message"),
    [
        ("cert", None, "cannot read .*cert: No such file"),
        ("key", None, "cannot read .*key: No such file"),
        ("cert", "text", "cert holds no PEM certificate"),
        ("key", "text", "key holds no PEM private key"),
        ("cert", _PEM.format("CERTIFICATE"), "cert: a certificate is damaged"),
        ("key", _PEM.format("PRIVATE KEY"), "key holds an unusable key"),
        ("key", _PEM.format("ENCRYPTED PRIVATE KEY"), "key is encrypted"),
        ("key", "other", "key in .*key does not belong to the certificate in .*cert"),
    ],
)
def test_user_supplied_failures(
    tmp_path: Path, which: str, content: str | None, message: str
) -> None:
    """Each failure is one line that names the file."""
    pki = _ensure(tmp_path / "pki")
    files = {"cert": tmp_path / "cert", "key": tmp_path / "key"}
    files["cert"].write_bytes(pki.serving.cert.read_bytes())
    files["key"].write_bytes(pki.serving.key.read_bytes())
    if content is None:
        files[which].unlink()
    else:
        files[which].write_text(pki.admin.key.read_text() if content == "other" else content)
    with pytest.raises(PkiError, match=message) as caught:
        load_user_supplied(files["cert"], files["key"])
    assert "\n" not in str(caught.value)


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    """A directory where a file should be cannot be read."""
    pki = _ensure(tmp_path / "pki")
    with pytest.raises(PkiError, match=r"cannot read .*: Is a directory"):
        load_user_supplied(tmp_path, pki.serving.key)


def test_a_certificate_for_kubelets_is_made_when_asked_for(tmp_path: Path) -> None:
    """Of the same authority, used again, and not counted among the files checked at start."""
    now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    ensure(tmp_path, now=now, hosts=[])
    stamp = (tmp_path / "pki.json").read_bytes()
    pair = ensure_kubelet_client(tmp_path, now=now)
    first = pair.cert.read_bytes()
    certificate = x509.load_pem_x509_certificate(first)
    assert certificate.subject.rfc4514_string() == (
        "CN=kube-apiserver-kubelet-client,O=kubetrio:kubelet-api-admins"
    )
    ensure_kubelet_client(tmp_path, now=now)
    assert pair.cert.read_bytes() == first
    later = now + LEAF_LIFETIME - dt.timedelta(days=1)
    ensure_kubelet_client(tmp_path, now=later)
    assert pair.cert.read_bytes() != first
    assert (tmp_path / "pki.json").read_bytes() == stamp


def test_a_certificate_of_a_front_proxy_is_made_when_asked_for(tmp_path: Path) -> None:
    """Of an authority of its own, for the one name that is published as that of a front proxy."""
    now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    made = ensure(tmp_path, now=now, hosts=[])
    pair = ensure_front_proxy_client(tmp_path, now=now)
    certificate = x509.load_pem_x509_certificate(pair.cert.read_bytes())
    assert certificate.subject.rfc4514_string() == "CN=front-proxy-client"
    authority = x509.load_pem_x509_certificate(made.front_proxy_ca.cert.read_bytes())
    certificate.verify_directly_issued_by(authority)
    clients = x509.load_pem_x509_certificate(made.ca.cert.read_bytes())
    with pytest.raises(ValueError, match="issuer"):
        certificate.verify_directly_issued_by(clients)


def test_a_directory_of_an_earlier_release_gets_an_authority_of_proxies(tmp_path: Path) -> None:
    """And the certificate of the proxy is made again by it."""
    made = _ensure(tmp_path)
    former = ensure_front_proxy_client(tmp_path, now=NOW).cert.read_bytes()
    for name in ("front-proxy-ca.crt", "front-proxy-ca.key"):
        (tmp_path / name).unlink()
    stamp = json.loads((tmp_path / "pki.json").read_bytes())
    (tmp_path / "pki.json").write_text(json.dumps(stamp | {"version": 2}))
    assert set(_ensure(tmp_path).issued) == {"front-proxy-ca.crt", "front-proxy-ca.key"}
    assert ensure_front_proxy_client(tmp_path, now=NOW).cert.read_bytes() != former
    assert made.ca.cert.exists()


def test_a_certificate_for_kubelets_needs_the_authority(tmp_path: Path) -> None:
    """Whose key may be elsewhere."""
    now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    ensure(tmp_path, now=now, hosts=[])
    (tmp_path / "ca.key").unlink()
    with pytest.raises(PkiError, match=r"ca\.key is missing"):
        ensure_kubelet_client(tmp_path, now=now)


def _as_before(directory: Path, monkeypatch: pytest.MonkeyPatch) -> KeyPair:
    """A data directory of a release whose certificate for kubelets was a master's."""
    ensure(directory, now=NOW, hosts=[])
    with monkeypatch.context() as patch:
        former = ("kube-apiserver-kubelet-client", "system:masters")
        patch.setitem(certificates.SUBJECTS, "apiserver-kubelet-client", former)
        pair = ensure_kubelet_client(directory, now=NOW)
    stamp = json.loads((directory / "pki.json").read_bytes())
    (directory / "pki.json").write_text(json.dumps(stamp | {"version": 1}))
    assert "system:masters" in _subject(pair)
    return pair


def _subject(pair: KeyPair) -> str:
    return x509.load_pem_x509_certificate(pair.cert.read_bytes()).subject.rfc4514_string()


def test_a_masters_certificate_for_kubelets_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the next start, by the same authority, which kubelets trust already."""
    pair = _as_before(tmp_path, monkeypatch)
    made = ensure(tmp_path, now=NOW, hosts=[])
    assert set(made.issued) == {"apiserver-kubelet-client.crt", "apiserver-kubelet-client.key"}
    assert "system:masters" not in _subject(pair)
    cert = x509.load_pem_x509_certificate(pair.cert.read_bytes())
    cert.verify_directly_issued_by(x509.load_pem_x509_certificate(made.ca.cert.read_bytes()))


def test_a_masters_certificate_for_kubelets_stays_without_the_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Starting and kubelets go on; nobody is that user at this server in any case."""
    pair = _as_before(tmp_path, monkeypatch)
    (tmp_path / "ca.key").unlink()
    assert not ensure(tmp_path, now=NOW, hosts=[]).issued
    ensure_kubelet_client(tmp_path, now=NOW)
    assert "system:masters" in _subject(pair)


@pytest.mark.parametrize(
    ("number", "step"),
    [(errno.EMFILE, "raise the limit of open files"), (errno.ENOSPC, "make room on the disk")],
)
def test_what_the_system_lacks_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, step: str
) -> None:
    """No mode of a file helps there."""

    def mkstemp(**_: object) -> tuple[int, str]:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(tempfile, "mkstemp", mkstemp)
    with pytest.raises(PkiError, match=f"{os.strerror(number)}; {step}$"):
        _ensure(tmp_path / "pki")
