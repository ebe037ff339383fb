"""Controllers of certificate signing requests on a server in memory."""

from __future__ import annotations

import base64
import datetime as dt
import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import trio
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.auth.trust import ClusterAuthorities, RootBundle, SigningPair
from kubetrio.client.client import Client
from kubetrio.controllers.certificates import issuing
from kubetrio.kinds.certificates.requests import (
    API_CLIENT,
    KUBELET_CLIENT,
    KUBELET_SERVING,
    LEGACY,
    SIGNERS,
    UnsignableRequest,
    read_request,
)
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.status import ApiError
from kubetrio.server.parts import Parts
from kubetrio.testing.controllers import Writes, refused, running
from kubetrio.testing.server import InProcess, open_api
from kubetrio.tls import pki

Object = dict[str, Any]
APPROVING = "certificatesigningrequest-approving-controller"
SIGNING = "certificatesigningrequest-signing-controller"
CLEANING = "certificatesigningrequest-cleaner-controller"
V1 = "certificates.k8s.io/v1"
CLIENT_USES = ["digital signature", "client auth"]
SERVER_USES = ["digital signature", "server auth"]
NODE = UserInfo("system:node:n1", groups=("system:nodes",))
BOOTSTRAPPER = UserInfo("system:bootstrap:abcdef", groups=("system:bootstrappers:x",))

Subject = Sequence[tuple[x509.ObjectIdentifier, str]]
NODE_SUBJECT: Subject = (
    (NameOID.ORGANIZATION_NAME, "system:nodes"),
    (NameOID.COMMON_NAME, "system:node:n1"),
)
ALICE: Subject = ((NameOID.COMMON_NAME, "alice"),)


def pem_of(subject: Subject, *names: x509.GeneralName) -> str:
    """A signing request, as the API has it."""
    key = ec.generate_private_key(ec.SECP256R1())
    attributes = [x509.NameAttribute(oid, value) for oid, value in subject]
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(attributes))
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    csr = builder.sign(key, hashes.SHA256())
    return base64.b64encode(csr.public_bytes(serialization.Encoding.PEM)).decode()


def request(
    name: str,
    signer: str = KUBELET_CLIENT,
    usages: Sequence[str] = CLIENT_USES,
    subject: Subject | None = None,
    *names: x509.GeneralName,
    **spec: Any,
) -> Object:
    """A CertificateSigningRequest, of a node unless another signer is asked for."""
    if subject is None:
        subject = ALICE if signer == API_CLIENT else NODE_SUBJECT
    wanted = {"request": pem_of(subject, *names), "signerName": signer, "usages": list(usages)}
    return {
        "apiVersion": V1,
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": {**wanted, **spec},
    }


async def seen(server: InProcess, name: str) -> Object:
    """A request when all is quiet."""
    await wait_all_tasks_blocked()
    client = server.client()
    return await client.get(client.kind(V1, "CertificateSigningRequest"), name)


async def approve(client: Client, obj: Object, kind: str = "Approved") -> None:
    """Approve or deny a request."""
    condition = {"type": kind, "status": "True", "reason": "x", "message": "y"}
    await client.update({**obj, "status": {"conditions": [condition]}}, subresource="approval")


async def bind(client: Client, user: UserInfo, role: str) -> None:
    """Bind a user to a ClusterRole."""
    group = "rbac.authorization.k8s.io"
    await client.create(
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": role.replace(":", "-")},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": group, "kind": "User", "name": user.name}],
        }
    )


def trust_of(server: InProcess, made: pki.Pki) -> ClusterAuthorities:
    """A server that believes an authority and signs with it."""
    pair = SigningPair(made.ca.cert, made.ca.key)
    return ClusterAuthorities(RootBundle(), server.api.security.authorizer.authorize, signing=pair)


# ---------------------------------------------------------------------- approving


@pytest.mark.parametrize(
    ("user", "role", "message"),
    [
        (NODE, "selfnodeclient", "Auto approving self kubelet client certificate"),
        (BOOTSTRAPPER, "nodeclient", "Auto approving kubelet client certificate"),
    ],
)
async def test_kubelets_are_approved(
    server: InProcess, user: UserInfo, role: str, message: str
) -> None:
    """Those who may create the subresource, in kube-controller-manager's words."""
    client = server.client()
    await bind(client, user, f"system:certificates.k8s.io:certificatesigningrequests:{role}")
    async with running(server, APPROVING):
        made = request("a")
        await bind_creators(client, user)
        await server.client(user).create(made)
        [condition] = (await seen(server, "a"))["status"]["conditions"]
        told = {key: condition[key] for key in ("type", "status", "reason", "message")}
        assert told == {
            "type": "Approved", "status": "True", "reason": "AutoApproved",
            "message": f"{message} after SubjectAccessReview.",
        }  # fmt: skip


async def bind_creators(client: Client, user: UserInfo) -> None:
    """Let a user make requests."""
    await bind(client, user, "system:node-bootstrapper")


@pytest.mark.parametrize(
    "changed",
    [
        {"signer": API_CLIENT},
        {"usages": SERVER_USES},
        {"subject": ((NameOID.COMMON_NAME, "system:node:n1"),)},
        {"subject": (*NODE_SUBJECT[:1], (NameOID.COMMON_NAME, "somebody"))},
        {"subject": (*NODE_SUBJECT, (NameOID.ORGANIZATION_NAME, "system:nodes"))},
    ],
)
async def test_others_are_left_alone(server: InProcess, changed: Object) -> None:
    """Whoever asks for something else waits for people, even one who may do everything."""
    async with running(server, APPROVING) as [controller]:
        await server.client().create(request("a", **changed))
        assert not (await seen(server, "a")).get("status")
        assert controller.queue.limiter.failures("a") == 0


async def test_a_request_waits_for_its_right(autojump_clock: MockClock) -> None:
    """One that may not is looked at again, and approved when it may; a denied one never is."""
    async with open_api() as server, running(server, APPROVING):
        client = server.client()
        await bind_creators(client, NODE)
        await server.client(NODE).create(request("a"))
        denied = await server.client(NODE).create(request("b"))
        await approve(client, denied, "Denied")
        assert not (await seen(server, "a")).get("status")
        await bind(
            client, NODE, "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient"
        )
        await trio.sleep(1000)
        assert (await seen(server, "a"))["status"]["conditions"][0]["reason"] == "AutoApproved"
        assert [one["type"] for one in (await seen(server, "b"))["status"]["conditions"]] == [
            "Denied"
        ]


# ---------------------------------------------------------------------- signing


async def signed(server: InProcess, made: pki.Pki, obj: Object) -> x509.Certificate:
    """The certificate of an approved request."""
    async with running(server, SIGNING, trust=trust_of(server, made)):
        client = server.client()
        await approve(client, await client.create(obj))
        status = (await seen(server, obj["metadata"]["name"]))["status"]
    return x509.load_pem_x509_certificate(base64.b64decode(status["certificate"]))


async def test_what_is_signed(server: InProcess, certificates: pki.Pki) -> None:
    """Subject, names and usages of the request; none of its other extensions; for a year."""
    names = (
        x509.UniformResourceIdentifier("spiffe://a"),
        x509.IPAddress(ipaddress.ip_address("192.0.2.1")),
        x509.DNSName("a.example"),
        x509.RFC822Name("a@example.com"),
    )
    subject = (
        (NameOID.COMMON_NAME, "first"),
        (NameOID.COMMON_NAME, "alice"),
        (NameOID.ORGANIZATION_NAME, "b"),
        (NameOID.ORGANIZATION_NAME, "a"),
        (NameOID.USER_ID, "dropped"),
    )
    obj = request("a", API_CLIENT, [*CLIENT_USES, "key encipherment"], subject, *names)
    cert = await signed(server, certificates, obj)
    ca = x509.load_pem_x509_certificate(certificates.ca.cert.read_bytes())
    cert.verify_directly_issued_by(ca)
    told = [(one.oid, one.value) for one in cert.subject]
    assert sorted(told[:2], key=str) == sorted(
        [(NameOID.ORGANIZATION_NAME, "a"), (NameOID.ORGANIZATION_NAME, "b")], key=str
    )
    assert told[2:] == [(NameOID.COMMON_NAME, "alice")]
    lives = cert.not_valid_after_utc - cert.not_valid_before_utc
    assert lives == dt.timedelta(days=365)
    extensions = {one.oid.dotted_string: one for one in cert.extensions}
    usage = extensions["2.5.29.15"]
    assert usage.critical
    assert usage.value.digital_signature
    assert usage.value.key_encipherment
    assert not usage.value.key_cert_sign
    assert [one.dotted_string for one in extensions["2.5.29.37"].value] == ["1.3.6.1.5.5.7.3.2"]
    assert not extensions["2.5.29.19"].value.ca
    assert list(extensions["2.5.29.17"].value) == [names[2], names[3], names[1], names[0]]
    assert set(extensions) == {f"2.5.29.{last}" for last in (15, 37, 19, 35, 17)}


@pytest.mark.parametrize(
    ("asked_s", "minutes"),
    [(600, 10), (3600, 60), (8 * 3600, 8 * 60 - 5), (None, 365 * 24 * 60 - 5)],
)
async def test_how_long_it_lives(
    server: InProcess, certificates: pki.Pki, asked_s: int | None, minutes: int
) -> None:
    """As long as it asked for; long lives lose at their end what they got at the beginning."""
    more = {} if asked_s is None else {"expirationSeconds": asked_s}
    cert = await signed(server, certificates, request("a", API_CLIENT, **more))
    begins = cert.not_valid_before_utc + issuing.BACKDATE
    assert cert.not_valid_after_utc - begins == dt.timedelta(minutes=minutes)


def test_nobody_lives_longer_than_the_signer_says() -> None:
    """Nor shorter than ten minutes."""
    hour = dt.timedelta(hours=1)
    assert issuing.life(7200, hour) == hour
    assert issuing.life(None, hour) == hour
    assert issuing.life(60, hour) == issuing.LEAST


NO_NODE = "subject organization is not system:nodes"
NO_NAMES = "subjectAltNames are not allowed"
DNS, IP = x509.DNSName("n1"), x509.IPAddress(ipaddress.ip_address("192.0.2.1"))
MAIL, URI = x509.RFC822Name("a@example.com"), x509.UniformResourceIdentifier("a://b")


@pytest.mark.parametrize(
    ("signer", "usages", "subject", "names", "words"),
    [
        (KUBELET_CLIENT, CLIENT_USES, NODE_SUBJECT[1:], (), NO_NODE),
        (KUBELET_CLIENT, CLIENT_USES, NODE_SUBJECT, (DNS,), f"DNS {NO_NAMES}"),
        (KUBELET_CLIENT, CLIENT_USES, NODE_SUBJECT, (MAIL,), f"Email {NO_NAMES}"),
        (KUBELET_CLIENT, CLIENT_USES, NODE_SUBJECT, (IP,), f"IP {NO_NAMES}"),
        (KUBELET_CLIENT, CLIENT_USES, NODE_SUBJECT, (URI,), f"URI {NO_NAMES}"),
        (
            KUBELET_CLIENT, SERVER_USES, NODE_SUBJECT, (),
            "usages did not match [client auth digital signature key encipherment]",
        ),
        (KUBELET_SERVING, SERVER_USES, NODE_SUBJECT, (), "DNS or IP subjectAltName is required"),
        (KUBELET_SERVING, SERVER_USES, NODE_SUBJECT, (DNS, MAIL), f"Email {NO_NAMES}"),
        (KUBELET_SERVING, SERVER_USES, NODE_SUBJECT, (DNS, URI), f"URI {NO_NAMES}"),
        (
            KUBELET_SERVING, CLIENT_USES, NODE_SUBJECT, (IP,),
            "usages did not match [digital signature key encipherment server auth]",
        ),
        (
            KUBELET_SERVING, SERVER_USES, (*NODE_SUBJECT[:1], (NameOID.COMMON_NAME, "x")), (DNS,),
            "subject common name does not begin with system:node:",
        ),
        (
            API_CLIENT, ["client auth", "server auth"], NODE_SUBJECT, (),
            "invalid usage for client certificate: server auth",
        ),
        (
            API_CLIENT, ["digital signature"], NODE_SUBJECT, (),
            "missing required usage for client certificate: client auth",
        ),
    ],
)  # fmt: skip
async def test_what_is_not_signed(
    server: InProcess,
    certificates: pki.Pki,
    signer: str,
    usages: list[str],
    subject: Subject,
    names: tuple[x509.GeneralName, ...],
    words: str,
) -> None:
    """An approved request of the wrong kind fails, in kube-controller-manager's words."""
    async with running(server, SIGNING, trust=trust_of(server, certificates)):
        client = server.client()
        await approve(client, await client.create(request("a", signer, usages, subject, *names)))
        status = (await seen(server, "a"))["status"]
    failed = status["conditions"][-1]
    assert (failed["type"], failed["status"]) == ("Failed", "True")
    assert failed["reason"] == "SignerValidationFailure"
    assert failed["message"] == words
    assert "certificate" not in status


async def test_signers_of_others_are_not_ours(server: InProcess, certificates: pki.Pki) -> None:
    """Nor is what nobody approved, or somebody denied."""
    async with running(server, SIGNING, trust=trust_of(server, certificates)):
        client = server.client()
        await approve(client, await client.create(request("theirs", "example.com/x")))
        await client.create(request("pending", API_CLIENT))
        await approve(client, await client.create(request("denied", API_CLIENT)), "Denied")
        for name in ("theirs", "pending", "denied"):
            assert "certificate" not in (await seen(server, name)).get("status", {})


def test_the_legacy_signer_takes_anything() -> None:
    """Whoever approves that knows why; no version of the API that is served can ask for it."""
    SIGNERS[LEGACY](read_request(pem_of(())), ["any"])
    with pytest.raises(UnsignableRequest):
        SIGNERS[API_CLIENT](read_request(pem_of(())), ["any"])


def test_an_authority_that_cannot_sign(tmp_path: Path, certificates: pki.Pki) -> None:
    """Says why: ended, of another key, two of them, gone."""
    wanted, year = read_request(pem_of(NODE_SUBJECT)), dt.timedelta(days=365)
    now, own = dt.datetime.now(dt.UTC), SigningPair(certificates.ca.cert, certificates.ca.key)
    late = now + 12 * year
    with pytest.raises(issuing.CannotSign, match="the signer has expired: NotAfter=20"):
        issuing.issue(wanted, CLIENT_USES, year, own, late, 1)
    two = tmp_path / "two.crt"
    two.write_bytes(own.cert.read_bytes() * 2)
    with pytest.raises(issuing.CannotSign, match="expected 1 certificate, found 2"):
        issuing.issue(wanted, CLIENT_USES, year, own._replace(cert=two), now, 1)
    other = own._replace(key=certificates.admin.key)
    with pytest.raises(issuing.CannotSign, match="is not the key of"):
        issuing.issue(wanted, CLIENT_USES, year, other, now, 1)
    with pytest.raises(OSError):
        issuing.issue(wanted, CLIENT_USES, year, own._replace(key=tmp_path / "none"), now, 1)


async def test_no_certificate_outlives_its_authority(certificates: pki.Pki) -> None:
    """It ends with it."""
    wanted, own = read_request(pem_of(NODE_SUBJECT)), SigningPair(*_ca(certificates))
    now = dt.datetime.now(dt.UTC)
    pem = issuing.issue(wanted, CLIENT_USES, dt.timedelta(days=36500), own, now, 1)
    ca = x509.load_pem_x509_certificate(own.cert.read_bytes())
    assert issuing.ends(pem) == ca.not_valid_after_utc


def _ca(made: pki.Pki) -> tuple[Path, Path]:
    return made.ca.cert, made.ca.key


# ---------------------------------------------------------------------- cleaning up

HOUR_S = 3600


async def ends_after(server: InProcess, name: str, hours: float) -> None:
    """See that a request is there shortly before some hours are over, and not after them."""
    await trio.sleep(hours * HOUR_S - 30)
    await seen(server, name)
    await trio.sleep(60)
    with pytest.raises(ApiError):
        await seen(server, name)


async def test_a_request_that_nobody_decides_on_goes(autojump_clock: MockClock) -> None:
    """After a day."""
    async with open_api() as server, running(server, CLEANING):
        await server.client().create(request("a"))
        await ends_after(server, "a", 24)


@pytest.mark.parametrize(("kind", "hours"), [("Approved", 24), ("Denied", 1)])
async def test_a_request_without_certificate_goes(
    autojump_clock: MockClock, kind: str, hours: float
) -> None:
    """A denied one after an hour, an approved one a day after it was approved."""
    async with open_api() as server, running(server, CLEANING):
        client = server.client()
        made = await client.create(request("a"))
        await trio.sleep(10 * HOUR_S)
        await approve(client, made, kind)
        await ends_after(server, "a", hours)


async def test_a_request_with_its_certificate_goes(
    autojump_clock: MockClock, certificates: pki.Pki
) -> None:
    """An hour after it was approved, also when the cleaner was not there meanwhile."""
    async with open_api() as server:
        trust = trust_of(server, certificates)
        async with running(server, SIGNING, trust=trust):
            client = server.client()
            await approve(client, await client.create(request("a", API_CLIENT)))
            assert (await seen(server, "a"))["status"]["certificate"]
        async with running(server, CLEANING):
            await ends_after(server, "a", 1)


async def test_they_write_what_their_role_allows(
    autojump_clock: MockClock, certificates: pki.Pki
) -> None:
    """All three as one account."""
    writes = Writes()
    async with open_api(parts=Parts(admission=[writes])) as server:
        trust = trust_of(server, certificates)
        async with running(server, APPROVING, SIGNING, CLEANING, trust=trust):
            await server.client().create(request("a"))
            await trio.sleep(48 * HOUR_S)
            own = writes.by_controllers()
            assert [(str(one.operation), one.subresource) for one in own] == [
                ("UPDATE", "approval"), ("UPDATE", "status"), ("DELETE", ""),
            ]  # fmt: skip
            assert refused(server, own) == []


# ---------------------------------------------------------------------- one reading

EVIL: Subject = (
    (NameOID.ORGANIZATION_NAME, "system:masters"),
    (NameOID.COMMON_NAME, "eve"),
)


def _lines(pem: str) -> bytes:
    return base64.b64decode(pem)


def _beside(*parts: bytes) -> str:
    return base64.b64encode(b"".join(parts)).decode()


def _smuggled() -> dict[str, str]:
    """Requests that two readers could read in two ways, one of them for system:masters."""
    evil, good = _lines(pem_of(EVIL)), _lines(pem_of(ALICE))
    one_line = b"-----BEGIN CERTIFICATE REQUEST----- " + b"".join(evil.split(b"\n")[1:-2])
    return {
        "a block on one line before": _beside(
            one_line, b"-----END CERTIFICATE REQUEST-----\n", good
        ),
        "a second block behind": _beside(good, evil),
        "a first block before": _beside(evil, good),
        "within a line before": _beside(b"x ", evil, good),
        "another type before": _beside(b"-----BEGIN X-----\n-----END X-----\n", good),
        "text before": _beside(b"Certificate Request:\n", good),
        "text behind": _beside(good, b"and more\n"),
        "headers": _beside(good.replace(b"REQUEST-----\n", b"REQUEST-----\na: b\n\n", 1)),
        "carriage returns alone": _beside(evil.replace(b"\n", b"\r"), good),
    }


@pytest.mark.parametrize("how", list(_smuggled()))
async def test_a_request_that_can_be_read_in_two_ways_is_refused(how: str) -> None:
    smuggled = _smuggled()[how]
    with pytest.raises(ValueError, match="PEM block"):
        read_request(smuggled)
    async with open_api() as server:
        asked = request("one", API_CLIENT, subject=ALICE)
        asked["spec"]["request"] = smuggled
        with pytest.raises(ApiError) as error:
            await server.client().create(asked)
        assert error.value.code in (403, 422)


@pytest.mark.parametrize("signer", [API_CLIENT, LEGACY])
@pytest.mark.parametrize(
    "subject",
    [
        EVIL,
        NODE_SUBJECT,
        ((NameOID.COMMON_NAME, "system:node:n1"),),
        ((NameOID.COMMON_NAME, "front-proxy-client"),),
        ((NameOID.COMMON_NAME, "kube-apiserver-kubelet-client"),),
        ((NameOID.ORGANIZATION_NAME, "kubetrio:kubelet-api-admins"), *ALICE),
    ],
)
def test_signers_judge_the_subject_again(signer: str, subject: Subject) -> None:
    with pytest.raises(UnsignableRequest):
        SIGNERS[signer](read_request(pem_of(subject)), ["client auth"])


def test_what_was_judged_is_what_is_signed(certificates: pki.Pki) -> None:
    """The certificate has the subject of the request that was read, and its key."""
    wanted, own = read_request(pem_of(ALICE)), SigningPair(*_ca(certificates))
    now = dt.datetime.now(dt.UTC)
    cert = x509.load_pem_x509_certificate(
        issuing.issue(wanted, CLIENT_USES, dt.timedelta(days=1), own, now, 7)
    )
    assert cert.subject.rfc4514_string() == "CN=alice"
    assert cert.public_key() == wanted.csr.public_key()


def _der(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    size = len(content)
    length = bytes((size,)) if size < 128 else bytes((0x82, size >> 8, size & 0xFF))
    return bytes((tag,)) + length + content


def _odd_request(version: int, string: int) -> str:
    """A request of another version, or whose organization is of another type of strings."""
    key = ec.generate_private_key(ec.SECP256R1())
    spki = key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    named = _der(0x30, b"\x06\x03\x55\x04\x0a", _der(string, b"\0devs"))
    info = _der(0x30, _der(2, bytes((version,))), _der(0x30, _der(0x31, named)), spki, _der(0xA0))
    signature = key.sign(info, ec.ECDSA(hashes.SHA256()))
    algorithm = _der(0x30, b"\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x02")
    text = base64.encodebytes(_der(0x30, info, algorithm, _der(3, b"\0", signature)))
    begin, end = (f"-----{one} CERTIFICATE REQUEST-----\n".encode() for one in ("BEGIN", "END"))
    return base64.b64encode(begin + text + end).decode()


@pytest.mark.parametrize(("version", "string"), [(0, 0x03), (1, 0x0C), (3, 0x0C)])
async def test_a_request_that_the_parser_has_no_words_for_is_refused(
    version: int, string: int
) -> None:
    asked = request("one", "example.com/others")
    asked["spec"]["request"] = _odd_request(version, string)
    async with open_api() as server:
        with pytest.raises(ApiError, match="asn1: structure error") as error:
            await server.client().create(asked)
        assert error.value.code == 422
