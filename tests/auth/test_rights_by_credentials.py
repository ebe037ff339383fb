"""Whatever way a request comes in, it has the rights of its user and groups, and no others.

Each namespace is open to one subject; which of them a request may read is known from the
documentation: docs "Authenticating" says who the holder of each credential is.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trio

from kubetrio.auth.oidckeys import WELL_KNOWN
from kubetrio.config import Authentication, Authenticators, ServiceAccounts
from kubetrio.env import Env
from kubetrio.machinery.identity import UserInfo
from kubetrio.testing.client import Client
from kubetrio.testing.rights import grant, rule
from kubetrio.testing.server import InProcess, in_memory, open_api
from kubetrio.tls.pki import Pki

NOW = 1_800_000_000.0
RBAC = "rbac.authorization.k8s.io"
ACCOUNT = "system:serviceaccount:default:robot"
IN = "system:authenticated"


class Way(NamedTuple):
    """A way to come in.

    Args:
        user: who comes in.
        groups: of which groups.
        headers: that are sent.
        certificate: that the connection has shown.
    """

    user: str
    groups: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    certificate: UserInfo | None = None


def bearer(token: str, *more: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    return (("Authorization", f"Bearer {token}"), *more)


BOOTSTRAP = "abcdef.0123456789abcdef"
CERTIFICATE = UserInfo("cert-user", groups=("cert-group",))
ACTS = (("Impersonate-User", "other-user"), ("Impersonate-Group", "other-group"))
WAYS = {
    "certificate": Way("cert-user", ("cert-group", IN), certificate=CERTIFICATE),
    "static token": Way("static-user", ("static-group", IN), bearer("static")),
    "issuer": Way("p:jane", (IN,), bearer("OIDC")),
    "webhook": Way("hook-user", ("hook-group", IN), bearer("hooked")),
    "service account": Way(
        ACCOUNT,
        ("system:serviceaccounts", "system:serviceaccounts:default", IN),
        bearer("ACCOUNT"),
    ),
    "bootstrap token": Way(
        "system:bootstrap:abcdef", ("system:bootstrappers", IN), bearer(BOOTSTRAP)
    ),
    "nothing": Way("system:anonymous", ("system:unauthenticated",)),
    "impersonation": Way("other-user", ("other-group", IN), bearer("actor", *ACTS)),
    "impersonation by certificate": Way("other-user", ("other-group", IN), ACTS, UserInfo("actor")),
    "certificate and token": Way("cert-user", ("cert-group", IN), bearer("static"), CERTIFICATE),
    "headers of a proxy that is none": Way(
        "cert-user",
        ("cert-group", IN),
        (("X-Remote-User", "other-user"), ("X-Remote-Group", "system:masters")),
        CERTIFICATE,
    ),
    "another scheme": Way(
        "system:anonymous", ("system:unauthenticated",), (("Authorization", "Basic YTpi"),)
    ),
}
REFUSED = {
    "wrong token": (401, Way("", headers=bearer("nonsense"))),
    "wrong secret": (401, Way("", headers=bearer("abcdef.fedcba9876543210"))),
    "signature of somebody else": (401, Way("", headers=bearer("FORGED"))),
    "issuer for others": (401, Way("", headers=bearer("OTHERS"))),
    "token of a certificate's name": (401, Way("", headers=bearer("cert-user"))),
    "who may not impersonate": (403, Way("", headers=bearer("static", *ACTS))),
    "who may impersonate another": (
        403,
        Way("", headers=bearer("actor", ("Impersonate-User", "static-user"))),
    ),
    "who asks for masters": (
        403,
        Way(
            "",
            headers=bearer("actor", ACTS[0], ("Impersonate-Group", "system:masters")),
        ),
    ),
    "a group without a user": (400, Way("", headers=bearer("actor", ACTS[1]))),
}
SUBJECTS = sorted(
    {("User", way.user) for way in WAYS.values()}
    | {("Group", group) for way in WAYS.values() for group in way.groups}
    | {("User", "nobody"), ("Group", "nobody"), ("Group", "cert-user"), ("User", "cert-group")}
    | {("ServiceAccount", "robot"), ("User", "robot"), ("Group", ACCOUNT)}
)  # fmt: skip


def readable(way: Way) -> list[tuple[str, str]]:
    """The subjects that the user of a way is."""
    mine = {("User", way.user), *(("Group", group) for group in way.groups)}
    if way.user == ACCOUNT:
        mine.add(("ServiceAccount", "robot"))
    return [subject for subject in SUBJECTS if subject in mine]


def home(subject: tuple[str, str]) -> str:
    return f"ns-{SUBJECTS.index(subject)}"


async def _open(admin: Client) -> None:
    """A namespace for each subject, which may read it."""
    rules = [rule("list", groups=("",), resources=("configmaps",))]
    body = {"metadata": {"name": "reader"}, "rules": rules}
    await admin.request("POST", f"/apis/{RBAC}/v1/clusterroles", json=body)
    for kind, name in SUBJECTS:
        space = home((kind, name))
        body = {"metadata": {"name": space}}
        assert (await admin.request("POST", "/api/v1/namespaces", json=body)).status == 201
        subject: dict[str, str] = {"kind": kind, "name": name}
        subject.update({"namespace": "default"} if kind == "ServiceAccount" else {"apiGroup": RBAC})
        binding = {
            "metadata": {"name": "readers"},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "reader"},
            "subjects": [subject],
        }
        path = f"/apis/{RBAC}/v1/namespaces/{space}/rolebindings"
        assert (await admin.request("POST", path, json=binding)).status == 201


async def _issue(admin: Client) -> str:
    """A token of the service account; and the Secret of a bootstrap token."""
    path = "/api/v1/namespaces/default/serviceaccounts"
    await admin.request("POST", path, json={"metadata": {"name": "robot"}})
    answer = await admin.request("POST", f"{path}/robot/token", json={"spec": {}})
    data = {
        "token-id": "abcdef", "token-secret": "0123456789abcdef",
        "usage-bootstrap-authentication": "true",
    }  # fmt: skip
    secret = {
        "metadata": {"name": "bootstrap-token-abcdef"},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": data,
    }
    path = "/api/v1/namespaces/kube-system/secrets"
    assert (await admin.request("POST", path, json=secret)).status == 201
    return str(answer.json()["status"]["token"])


def _hook(_: bytes, body: bytes) -> tuple[int, dict[str, str], bytes]:
    """A webhook that knows one token."""
    good = json.loads(body)["spec"]["token"] == "hooked"
    user = {"username": "hook-user", "groups": ["hook-group"]}
    status = {"authenticated": True, "user": user} if good else {"authenticated": False}
    said = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "status": status}
    return 200, {"Content-Type": "application/json"}, json.dumps(said).encode()


class World(NamedTuple):
    """A server, and tokens by the words that stand for them."""

    server: InProcess
    tokens: dict[str, str]

    async def statuses(self, way: Way) -> dict[tuple[str, str], int]:
        """What listing each namespace is answered with."""
        headers = {name: self._filled(text) for name, text in way.headers}
        async with self.server.connect(certificate=way.certificate) as client:
            return {
                subject: (
                    await client.request(
                        "GET", f"/api/v1/namespaces/{home(subject)}/configmaps", headers
                    )
                ).status
                for subject in SUBJECTS
            }

    def _filled(self, text: str) -> str:
        for word, token in self.tokens.items():
            text = text.replace(f"Bearer {word}", f"Bearer {token}")
        return text


@pytest.fixture
async def world(
    tmp_path: Path, certificates: Pki, peer: Any, make_signer: Any
) -> AsyncIterator[World]:
    """A server that knows all these ways."""
    signer, forger = make_signer(), make_signer()
    peer.say(WELL_KNOWN, {"issuer": peer.url, "jwks_uri": f"{peer.url}/keys"})
    peer.say("/keys", {"keys": [signer.public()]})
    peer.answers["/review"] = _hook
    ca = tmp_path / "ca.crt"
    ca.write_text(peer.ca)
    hook = tmp_path / "hook.yaml"
    cluster = {"cluster": {"server": f"{peer.url}/review", "certificate-authority": str(ca)}}
    hook.write_text(
        json.dumps(
            {
                "clusters": [{"name": "c", **cluster}],
                "users": [{"name": "u", "user": {}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
        )
    )
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('static,static-user,1,"static-group"\nactor,actor,2\n')
    config = replace(
        in_memory(tmp_path / "data"),
        auth=Authentication(token_auth_file=tokens),
        authenticators=Authenticators(
            oidc_issuer_url=peer.url,
            oidc_client_id="client",
            oidc_ca_file=ca,
            oidc_username_prefix="p:",
            oidc_signing_algs=("ES256",),
            token_webhook_config_file=hook,
            token_webhook_version="v1",
        ),
        service_accounts=ServiceAccounts(
            key_files=(certificates.sa_pub,),
            signing_key_file=certificates.sa_key,
            bootstrap_tokens=True,
        ),
    )
    async with open_api(env=Env(now=lambda: NOW), config=config, kept=True) as server:
        async with server.connect() as admin:
            await _open(admin)
            account = await _issue(admin)
        acts = [
            rule("impersonate", groups=("",), resources=("users",), names=("other-user",)),
            rule("impersonate", groups=("",), resources=("groups",), names=("other-group",)),
        ]
        await grant(server, UserInfo("actor"), *acts)
        claims = {"iss": peer.url, "aud": "client", "sub": "jane", "exp": NOW + 600}
        known = {
            "OIDC": signer.sign(claims).decode(),
            "OTHERS": signer.sign({**claims, "aud": "others"}).decode(),
            "FORGED": forger.sign(claims).decode(),
            "ACCOUNT": account,
        }
        made = World(server, known)
        with trio.fail_after(20):  # until the issuer has been asked for its keys
            way = Way("", headers=bearer("OIDC"))
            while set((await made.statuses(way)).values()) == {401}:  # noqa: ASYNC110  (as seen from outside)
                await trio.sleep(0.02)
        yield made


async def test_who_comes_in_has_the_rights_of_one_user(world: World) -> None:
    """By every credential there is: what its user and groups may read, and nothing else."""
    for name, way in WAYS.items():
        found = await world.statuses(way)
        assert [each for each, status in found.items() if status == 200] == readable(way), name
        assert set(found.values()) == {200, 403}, name


async def test_who_does_not_come_in_has_none(world: World) -> None:
    """Forged, foreign and wrong credentials, and acting as somebody without the right."""
    for name, (status, way) in REFUSED.items():
        assert set((await world.statuses(way)).values()) == {status}, name
