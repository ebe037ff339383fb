"""Tokens that the server gives out, through the whole pipeline: made, used, bounded, noted."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.plugin import Base
from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse
from kubetrio.api.subresources.tokens import ISSUED
from kubetrio.auth.issuing import EXTENSION_S, TokenIssuer
from kubetrio.auth.serviceaccounts import CREDENTIAL_ID
from kubetrio.backend.dial import DialError
from kubetrio.config import Config, ServiceAccounts
from kubetrio.server.parts import Parts
from kubetrio.testing.client import Answer, Client, connect
from kubetrio.testing.server import InProcess, in_memory, open_api
from kubetrio.tls.pki import Pki

NS = "/api/v1/namespaces/default"
REQUEST = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
WHO = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
WHO_PATH = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def configured(directory: Path, keys: Pki, **chosen: Any) -> Config:
    accounts = ServiceAccounts(key_files=(keys.sa_pub,), signing_key_file=keys.sa_key, **chosen)
    return replace(in_memory(directory), service_accounts=accounts)


@pytest.fixture
async def issuing(tmp_path: Path, certificates: Pki) -> AsyncIterator[InProcess]:
    """A server with a key that signs."""
    async with open_api(config=configured(tmp_path / "data", certificates)) as server:
        yield server


async def made(client: Client, **spec: Any) -> Answer:
    """A token of an account, which is made first."""
    account = {"metadata": {"name": "a"}}
    await client.request("POST", f"{NS}/serviceaccounts", json=account)
    body = {**REQUEST, "spec": spec}
    return await client.request("POST", f"{NS}/serviceaccounts/a/token", json=body)


def text_of(answer: Answer) -> str:
    token: str = answer.json()["status"]["token"]
    return token


def life_of(answer: Answer) -> int:
    part = text_of(answer).split(".")[1]
    claims = orjson.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    life: int = claims["exp"] - claims["iat"]
    return life


async def user_of(server: InProcess, token: str) -> Answer:
    async with server.connect(certificate=None) as stranger:
        headers = {"Authorization": f"Bearer {token}"}
        return await stranger.request("POST", WHO_PATH, headers, json=WHO)


async def a_pod(client: Client) -> dict[str, Any]:
    spec = {"serviceAccountName": "a", "containers": [{"name": "c", "image": "i"}]}
    pod = {"metadata": {"name": "p"}, "spec": spec}
    answer = await client.request("POST", f"{NS}/pods", json=pod)
    assert answer.status == 201
    bound = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    return {"expirationSeconds": 3607, "boundObjectRef": bound}


async def test_a_token_opens_the_server_that_made_it(issuing: InProcess) -> None:
    """Until its account goes: then with the next request no longer."""
    async with issuing.connect() as client:
        token = text_of(await made(client))
        for _ in range(2):
            answer = await user_of(issuing, token)
            info = answer.json()["status"]["userInfo"]
            assert info["username"] == "system:serviceaccount:default:a"
        await client.request("DELETE", f"{NS}/serviceaccounts/a")
        assert (await user_of(issuing, token)).status == 401


@pytest.mark.parametrize(
    ("reference", "status", "words"),
    [
        ({}, 400, "cannot bind token to object of type /, Kind="),
        ({"apiVersion": "v1"}, 400, "cannot bind token to object of type /v1, Kind="),
        ({"name": "a"}, 400, "cannot bind token to object of type /, Kind="),
        ({"kind": "Secret"}, 400, "Name parameter required."),
        ({"apiVersion": "a/b/c", "kind": "Pod", "name": "x"}, 404, 'pods "x" not found'),
    ],
)
async def test_a_reference_to_nothing_is_refused(
    issuing: InProcess, reference: dict[str, str], status: int, words: str
) -> None:
    """Who asks for a token that is bound does not get one that is not."""
    async with issuing.connect() as client:
        answer = await made(client, boundObjectRef=reference)
        assert (answer.status, answer.json()["message"]) == (status, words)


class Audiences(Base):
    """Notes the audiences that plugins see."""

    name = "Audiences"
    operations = frozenset({Operation.CREATE})

    def __init__(self) -> None:
        self.seen: list[list[str] | None] = []

    async def mutate(self, attributes: Attributes) -> None:
        if attributes.subresource == "token":
            self.seen.append((attributes.obj or {})["spec"].get("audiences"))

    async def validate(self, attributes: Attributes) -> None:
        await self.mutate(attributes)


async def test_what_plugins_see_of_a_request(tmp_path: Path, certificates: Pki) -> None:
    """Mutating ones what was sent, validating ones what is filled in, and nothing that is wrong."""
    noted = Audiences()
    config, parts = configured(tmp_path, certificates), Parts(admission=[noted])
    async with open_api(config=config, parts=parts) as server, server.connect() as client:
        assert (await made(client)).status == 201
        assert (await made(client, expirationSeconds=1)).status == 422
    unsaid, filled = None, ["https://kubernetes.default.svc"]
    assert noted.seen == [unsaid, filled, unsaid]


async def test_the_audit_log_can_follow_a_token(issuing: InProcess) -> None:
    """Its id is noted where it is made, and is told of whoever uses it."""
    noted: list[dict[str, str]] = []

    async def watched(request: Request) -> AnyResponse:
        answer = await issuing.api.handle(request)
        noted.append(request.annotations)
        return answer

    async with connect(watched, issuing.env) as client:
        token = text_of(await made(client))
    answer = await user_of(issuing, token)
    (told,) = answer.json()["status"]["userInfo"]["extra"][CREDENTIAL_ID]
    assert noted[-1] == {ISSUED: told}
    assert told.startswith("JTI=")


async def test_tokens_of_pods_live_for_a_year(issuing: InProcess) -> None:
    """Those that kubelets ask for, for this API alone."""
    async with issuing.connect() as client:
        await made(client)
        spec = await a_pod(client)
        assert life_of(await made(client, **spec)) == EXTENSION_S
        assert life_of(await made(client, **spec, audiences=["vault"])) == 3607
        assert life_of(await made(client, **{**spec, "expirationSeconds": 3608})) == 3608


async def test_tokens_of_pods_are_not_extended_where_that_is_off(
    tmp_path: Path, certificates: Pki
) -> None:
    """They live for as long as they say."""
    config = configured(tmp_path / "data", certificates, extend_expiration=False)
    async with open_api(config=config) as server, server.connect() as client:
        await made(client)
        assert life_of(await made(client, **await a_pod(client))) == 3607


async def test_the_longest_life_of_a_token(tmp_path: Path, certificates: Pki) -> None:
    """Who asks for more gets that, and a warning; who asks for less gets what they ask for."""
    config = configured(tmp_path / "data", certificates, max_expiration_s=3600.0)
    async with open_api(config=config) as server, server.connect() as client:
        answer = await made(client, expirationSeconds=7200)
        assert (life_of(answer), answer.json()["spec"]["expirationSeconds"]) == (3600, 3600)
        told = answer.head.get(b"warning")
        assert b"requested expiration of 7200 seconds shortened to 3600 seconds" in told
        short = await made(client, expirationSeconds=600)
        assert (life_of(short), short.head.get(b"warning")) == (600, b"")


async def test_a_token_in_a_secret_is_dated(issuing: InProcess, certificates: Pki) -> None:
    """Its use is written on the Secret, and an account that names the Secret is warned."""
    async with issuing.connect() as client:
        await made(client)
        account = (await client.request("GET", f"{NS}/serviceaccounts/a")).json()
        start = "kubernetes.io/serviceaccount/"
        token = TokenIssuer(certificates.sa_key, "").sign(
            {
                "iss": "kubernetes/serviceaccount",
                "sub": "system:serviceaccount:default:a",
                start + "namespace": "default",
                start + "secret.name": "s",
                start + "service-account.name": "a",
                start + "service-account.uid": account["metadata"]["uid"],
            }
        )
        secret = {"metadata": {"name": "s"}, "data": {"token": _b64(token)}}
        await client.request("POST", f"{NS}/secrets", json=secret)
        assert (await user_of(issuing, token)).status == 201
        kept = (await client.request("GET", f"{NS}/secrets/s")).json()["metadata"]
        assert list(kept["labels"]) == ["kubernetes.io/legacy-token-last-used"]
        assert "kube-apiserver" in {entry["manager"] for entry in kept["managedFields"]}
        account["secrets"] = [{"name": "s"}]
        await client.request("PUT", f"{NS}/serviceaccounts/a", json=account)
        told = (await user_of(issuing, token)).head.get(b"warning")
        assert b"instead of auto-generated secret-based tokens" in told
        text = (await client.request("GET", "/metrics")).body
        assert b"serviceaccount_legacy_manual_token_uses_total 1" in text
        assert b"serviceaccount_legacy_auto_token_uses_total 1" in text


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def nobody(host: str, port: str, _tls: Any, _timeout_s: float) -> Any:
    """A machine on which nothing listens."""
    raise DialError(f"dial tcp {host}:{port}: connect: connection refused")


async def test_tokens_need_a_key(client: Client) -> None:
    """A server without one says that it cannot."""
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}
    await client.request("POST", accounts, json=body)
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
    assert (await client.request("POST", accounts + "/a/token", json=asked)).status == 501


@pytest.fixture
async def signing(certificates: Pki) -> AsyncIterator[Client]:
    """A connection to a server with a key."""
    issuer = TokenIssuer(certificates.sa_key)
    async with open_api(issuer=issuer) as server, server.connect() as client:
        yield client


async def test_tokens_of_service_accounts(signing: Client) -> None:
    """Ten minutes at least."""
    client = signing
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}
    account = (await client.request("POST", accounts, json=body)).json()
    uid = account["metadata"]["uid"]
    asked: dict[str, Any] = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
    path = accounts + "/a/token"
    made = await client.request("POST", path, json=asked)
    assert made.status == 201
    assert made.json()["spec"]["expirationSeconds"] == 3600
    assert made.json()["status"]["token"].count(".") == 2
    shown = made.json()["metadata"]
    assert list(shown) == ["name", "namespace", "uid", "creationTimestamp", "managedFields"]
    assert shown["uid"] == uid
    [entry] = shown["managedFields"]
    assert entry["fieldsV1"] == {"f:spec": {"f:expirationSeconds": {}}}
    elsewhere = await client.request("POST", path, json={**asked, "metadata": {"namespace": "x"}})
    assert (elsewhere.status, elsewhere.json()["message"]) == (
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
    )
    other = await client.request("POST", path, json={**asked, "metadata": {"uid": "gone"}})
    assert other.status == 409
    assert other.json()["message"] == (
        'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "a": the UID in the '
        f"token request (gone) does not match the UID of the service account ({uid})"
    )
    short = orjson.loads(orjson.dumps({**asked, "spec": {"expirationSeconds": 5}}))
    assert (await client.request("POST", path, json=short)).status == 422
    nobody = {**asked, "spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1"}}}
    unbound = await client.request("POST", path, json=nobody)
    assert (unbound.status, unbound.json()["message"]) == (400, "Name parameter required.")
