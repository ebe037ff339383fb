"""Whole servers with issuers, a webhook, proxies and conditions of anonymity."""

from __future__ import annotations

import json
import ssl
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio
import trio.testing

from kubetrio.auth.oidckeys import WELL_KNOWN
from kubetrio.config import Authentication, Authenticators, Config, Serving
from kubetrio.env import Env
from kubetrio.server import Server, open_server
from kubetrio.server.files import StartError
from kubetrio.testing.server import InProcess, in_memory, open_api
from kubetrio.tls import pki

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"
NOW = 1_800_000_000.0


def configuration(peer: Any, audience: str = "client", more: str = "") -> str:
    """A file with the peer as its issuer."""
    ca = textwrap.indent(peer.ca, "      ")
    return (
        f"{HEAD}jwt:\n- issuer:\n    url: {peer.url}\n    audiences: [{audience}]\n"
        f"    certificateAuthority: |\n{ca}\n  claimMappings:\n"
        f"    username: {{claim: sub, prefix: 'p:'}}\n{more}"
    )


@asynccontextmanager
async def serving(directory: Path, **given: Any) -> AsyncIterator[InProcess]:
    """A server without sockets, on the real clock of the event loop."""
    auth = given.pop("auth", Authentication())
    config = replace(in_memory(directory), authenticators=Authenticators(**given), auth=auth)
    async with open_api(env=Env(now=lambda: NOW), config=config, kept=True) as server:
        yield server


async def asks(server: InProcess, token: bytes, path: str = WHO, body: Any = None) -> Any:
    """The answer to a holder of a token, and its status."""
    body = body or {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}
    async with server.connect(certificate=None) as client:
        headers = {"Authorization": f"Bearer {token.decode()}"}
        return await client.request("POST", path, headers, json=body)


async def name_of(server: InProcess, token: bytes) -> str:
    """Who the holder of a token is; the status when it is nobody."""
    answer = await asks(server, token)
    if answer.status != 201:
        return str(answer.status)
    return str(answer.json()["status"]["userInfo"]["username"])


async def comes(server: InProcess, token: bytes, wanted: str) -> None:
    """Wait until the holder of a token is somebody."""
    with trio.fail_after(10):
        while await name_of(server, token) != wanted:  # noqa: ASYNC110  (it is seen from outside)
            await trio.sleep(0.01)


@pytest.fixture
def signer(peer: Any, make_signer: Any) -> Any:
    """The key of the peer, which is an issuer."""
    made = make_signer()
    peer.say(WELL_KNOWN, {"issuer": peer.url, "jwks_uri": f"{peer.url}/keys"})
    peer.say("/keys", {"keys": [made.public()]})
    return made


def token_of(peer: Any, signer: Any, **more: Any) -> bytes:
    claims = {"iss": peer.url, "aud": "client", "sub": "jane", "exp": NOW + 60, **more}
    return bytes(signer.sign(claims))


async def test_an_issuer_of_a_file_is_believed(tmp_path: Path, peer: Any, signer: Any) -> None:
    """Also by TokenReview, which tells why a token is not good."""
    file = tmp_path / "auth.yaml"
    file.write_text(configuration(peer))
    async with serving(tmp_path / "data", authentication_config=file) as server:
        await comes(server, token_of(peer, signer), "p:jane")
        assert await name_of(server, token_of(peer, signer, aud="other")) == "401"
        assert await name_of(server, b"e30.e30.e30") == "401"


async def test_an_issuer_of_flags_is_believed(tmp_path: Path, peer: Any, signer: Any) -> None:
    """With the prefix that upstream gives names, and RS256 alone unless others are chosen."""
    ca = tmp_path / "ca.crt"
    ca.write_text(peer.ca)
    flags = {"oidc_issuer_url": peer.url, "oidc_client_id": "client", "oidc_ca_file": ca}
    async with serving(tmp_path / "a", **flags, oidc_signing_algs=("ES256",)) as server:
        await comes(server, token_of(peer, signer), f"{peer.url}#jane")
    async with serving(tmp_path / "b", **flags, oidc_signing_algs=()) as server:
        with trio.fail_after(10):
            while WELL_KNOWN not in peer.asked[2:]:  # noqa: ASYNC110  (it is seen from outside)
                await trio.sleep(0.01)
        assert await name_of(server, token_of(peer, signer)) == "401"


async def test_a_changed_file_takes_over_when_its_issuers_are_there(
    tmp_path: Path, peer: Any, signer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bad one changes nothing; who was good for the old one only is then refused."""
    monkeypatch.setattr("kubetrio.reloading.INTERVAL_S", 0.02)
    file = tmp_path / "auth.yaml"
    file.write_text(configuration(peer))
    ours, others = token_of(peer, signer), token_of(peer, signer, aud="second")
    async with serving(tmp_path / "data", authentication_config=file) as server:
        await comes(server, ours, "p:jane")
        families = server.api.edge.metrics.gathered.collect
        for bad in (
            "no: yaml", configuration(peer, "''"), configuration(peer, more="anonymous: {}\n"), "",
        ):  # fmt: skip
            file.write_text(bad)
            before = reloads(families(), "failure")
            with trio.fail_after(10):
                while reloads(families(), "failure") == before:  # noqa: ASYNC110  (it is seen from outside)
                    await trio.sleep(0.01)
            assert await name_of(server, ours) == "p:jane"
        file.write_text(configuration(peer, "second"))
        await comes(server, others, "p:jane")
        assert await name_of(server, ours) == "401"
        assert reloads(families(), "success") == 1


def reloads(families: Any, status: str) -> float:
    name = "apiserver_authentication_config_controller_automatic_reloads_total"
    return sum(
        sample.value
        for family in families
        for sample in family.samples
        if sample.name == name and sample.labels["status"] == status
    )


async def test_a_webhook_is_asked_last_and_its_answer_kept(
    tmp_path: Path, peer: Any, certificates: pki.Pki
) -> None:
    """Who it names may ask, also through TokenReview; a wrong token is asked about once."""

    def answer(head: bytes, body: bytes) -> Any:
        asked = json.loads(body)
        status: Any = {"authenticated": asked["spec"]["token"] == "good"}
        if status["authenticated"]:
            status["user"] = {"username": "hooked", "groups": ["system:masters"]}
        elif asked["spec"]["token"] == "explained":
            status["error"] = "not today"
        return 200, {}, json.dumps({**asked, "status": status}).encode()

    peer.answers["/"] = answer
    hook = tmp_path / "hook.yaml"
    cluster = {"server": peer.url + "/", "certificate-authority": str(certificates.ca.cert)}
    hook.write_text(
        json.dumps(
            {
                "clusters": [{"name": "a", "cluster": cluster}],
                "contexts": [{"name": "c", "context": {"cluster": "a"}}],
                "current-context": "c",
            }
        )
    )
    async with serving(
        tmp_path / "data", token_webhook_config_file=hook, token_webhook_version="v1"
    ) as server:
        for _ in range(3):
            assert await name_of(server, b"good") == "hooked"
            assert await name_of(server, b"wrong") == "401"
        assert len(peer.asked) == 2
        for token, error in (("good", None), ("wrong", "invalid bearer token"),
                             ("explained", "not today")):  # fmt: skip
            body = {
                "kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1",
                "spec": {"token": token},
            }  # fmt: skip
            answered = await asks(server, b"good", REVIEWS, body)
            told = answered.json()["status"].get("error")
            assert told is None if error is None else error in told


@pytest.mark.parametrize(
    ("path", "status"), [("/livez", 200), ("/healthz", 401), ("/livez/ping", 401), ("/api", 401)]
)
async def test_only_some_paths_are_open_to_nobody(tmp_path: Path, path: str, status: int) -> None:
    """Conditions of the anonymous are paths, exactly."""
    file = tmp_path / "auth.yaml"
    file.write_text(f"{HEAD}anonymous: {{enabled: true, conditions: [{{path: /livez}}]}}\n")
    async with (
        serving(tmp_path / "data", authentication_config=file) as server,
        server.connect(certificate=None) as client,
    ):
        assert (await client.request("GET", path)).status == status


async def test_a_file_can_shut_out_the_anonymous(tmp_path: Path) -> None:
    """``enabled: false``: without credentials there is no answer."""
    file = tmp_path / "auth.yaml"
    file.write_text(f"{HEAD}anonymous: {{enabled: false}}\n")
    async with (
        serving(tmp_path / "data", authentication_config=file) as server,
        server.connect(certificate=None) as client,
    ):
        assert (await client.request("GET", "/livez")).status == 401


@pytest.mark.parametrize(
    ("file", "flags", "why"),
    [
        (None, {}, "failed to load authentication configuration from file"),
        ("", {}, "empty config data"),
        (f"{HEAD}foo: 1\n", {}, 'strict decoding error: unknown field "foo"'),
        (f"{HEAD}jwt: [{{}}]\n", {}, "jwt[0].issuer.url: Required value"),
        (f"{HEAD}anonymous: {{enabled: true}}\n", {"anonymous_auth": True}, "cannot be set when"),
    ],
)
async def test_a_file_that_cannot_be_used_ends_the_start(
    tmp_path: Path, file: str | None, flags: dict[str, Any], why: str
) -> None:
    """With upstream's words."""
    path = tmp_path / "auth.yaml"
    if file is not None:
        path.write_text(file)
    with pytest.raises(StartError) as caught:
        async with serving(
            tmp_path / "data", authentication_config=path, auth=Authentication(**flags)
        ):
            pass
    assert why in str(caught.value)


@pytest.mark.parametrize("version", ["v2", ""])
async def test_a_version_of_the_webhook_that_is_not_there_ends_the_start(
    tmp_path: Path, version: str
) -> None:
    """As does a file that names no server."""
    hook = tmp_path / "hook.yaml"
    with pytest.raises(StartError, match="token-webhook-config-file"):
        async with serving(tmp_path / "data", token_webhook_config_file=hook):
            pass
    hook.write_text(
        '{"clusters":[{"name":"a","cluster":{"server":"https://x"}}],"current-context":"c",'
        '"contexts":[{"name":"c","context":{"cluster":"a"}}]}'
    )
    with pytest.raises(StartError, match="unsupported authentication webhook version"):
        async with serving(
            tmp_path / "data", token_webhook_config_file=hook, token_webhook_version=version
        ):
            pass


# ---------------------------------------------------------------------- proxies over TLS


@pytest.fixture
def proxies(tmp_path: Path) -> pki.Pki:
    """Another authority, whose ``kubernetes-admin`` is the proxy."""
    return pki.ensure(tmp_path / "proxies", now=Env().utcnow(), hosts=["127.0.0.1"])


@asynccontextmanager
async def listening(directory: Path, proxies: pki.Pki, **given: Any) -> AsyncIterator[Server]:
    chosen = {
        "requestheader_client_ca_file": proxies.ca.cert,
        "requestheader_allowed_names": ("kubernetes-admin",),
        "requestheader_username_headers": ("X-Remote-User",),
        "requestheader_group_headers": ("X-Remote-Group",),
        "requestheader_uid_headers": ("X-Remote-Uid",),
        "requestheader_extra_headers_prefix": ("X-Remote-Extra-",),
        **given,
    }
    config = Config(
        data_dir=directory,
        serving=Serving(secure_port=0),
        authenticators=Authenticators(**chosen),
    )
    async with open_server(config) as server:
        yield server


async def who(
    server: Server, pair: pki.KeyPair | None, headers: list[tuple[str, str]], *, http2: bool
) -> Any:
    """The user of a request over TLS, or the status of its refusal."""
    context = ssl.create_default_context(cafile=str(server.pki.ca.cert))
    if pair is not None:
        context.load_cert_chain(pair.cert, pair.key)
    async with httpx2.AsyncClient(
        http2=http2, http1=not http2, verify=context, trust_env=False
    ) as client:
        body = {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}
        answer = await client.post(server.url + WHO, json=body, headers=headers)
        assert answer.http_version == ("HTTP/2" if http2 else "HTTP/1.1")
        if answer.status_code != 201:
            return answer.status_code
        return answer.json()["status"]["userInfo"]


@pytest.mark.e2e
@pytest.mark.parametrize("http2", [False, True])
async def test_a_proxy_over_tls_names_users_and_nobody_else_does(
    tmp_path: Path, proxies: pki.Pki, http2: bool
) -> None:
    """By the authority of its certificate, over both protocols."""
    jane = [
        ("X-Remote-User", "jane"), ("X-Remote-Group", "a"), ("x-remote-group", "b,c"),
        ("X-Remote-Uid", "7"), ("X-Remote-Extra-Acme.io%2Fp", "q"),
    ]  # fmt: skip
    async with listening(tmp_path / "data", proxies) as server:
        user = await who(server, proxies.admin, jane, http2=http2)
        assert user == {
            "username": "jane", "uid": "7", "groups": ["a", "b,c", "system:authenticated"],
            "extra": {"acme.io/p": ["q"]},
        }  # fmt: skip
        own = await who(server, server.pki.admin, jane, http2=http2)
        assert own["username"] == "kubernetes-admin"
        assert "system:masters" in own["groups"]
        assert await who(server, proxies.admin, [], http2=http2) == 401
        smuggled = [("X_Remote_User", "jane"), ("X-Remote-Group", "system:masters")]
        assert await who(server, proxies.admin, smuggled, http2=http2) == 401
        assert await who(server, None, jane, http2=http2) == 403  # anonymous, and may not ask


@pytest.mark.e2e
async def test_a_proxy_of_another_name_is_refused(tmp_path: Path, proxies: pki.Pki) -> None:
    """Its authority is right, its name is not in the list."""
    async with listening(
        tmp_path / "data", proxies, requestheader_allowed_names=("front",)
    ) as server:
        said = await who(server, proxies.admin, [("X-Remote-User", "jane")], http2=False)
        assert said == 401


@pytest.mark.e2e
async def test_the_certificates_of_the_proxies_authority_are_no_users(
    tmp_path: Path, proxies: pki.Pki
) -> None:
    """Not even of ``system:masters``, which its subject says it is in."""
    async with listening(tmp_path / "data", proxies) as server:
        assert await who(server, proxies.admin, [], http2=False) == 401


@pytest.mark.e2e
async def test_one_authority_for_both_needs_names(tmp_path: Path, proxies: pki.Pki) -> None:
    """Else each client could be whom it likes."""
    config = Config(
        data_dir=tmp_path / "data",
        serving=Serving(secure_port=0),
        auth=Authentication(client_ca_file=proxies.ca.cert),
        authenticators=Authenticators(requestheader_client_ca_file=proxies.ca.cert),
    )
    with pytest.raises(StartError, match="overlapping certificates"):
        async with open_server(config):
            pass
