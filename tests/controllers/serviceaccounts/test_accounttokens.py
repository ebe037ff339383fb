"""Secrets with tokens of service accounts: filled in, deleted, cleaned up."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import orjson
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.auth.issuing import TokenIssuer
from kubetrio.auth.trust import ClusterAuthorities, RootBundle
from kubetrio.client.client import Client
from kubetrio.config import Config
from kubetrio.config.controllers import Certificates
from kubetrio.controllers.serviceaccounts.accounttokens import INVALID_SINCE, NAME, UID
from kubetrio.controllers.serviceaccounts.tokensecrets import LAST_USED
from kubetrio.machinery.status import ApiError
from kubetrio.machinery.timestamps import format_time
from kubetrio.server.parts import Parts
from kubetrio.testing.controllers import Writes, refused, running
from kubetrio.testing.server import InProcess, open_api
from kubetrio.tls import pki

Object = dict[str, Any]
TOKENS = "serviceaccount-token-controller"
CLEANER = "legacy-serviceaccount-token-cleaner-controller"
DAY_S = 24 * 3600
UNUSED = Config(data_dir=Path("unused"), certificates=Certificates(unused_tokens_s=2 * DAY_S))


def secret(name: str, account: str = "robot", **annotations: str) -> Object:
    """A Secret for the token of an account."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/service-account-token",
        "metadata": {
            "name": name, "namespace": "default", "annotations": {NAME: account, **annotations},
        },
    }  # fmt: skip


async def robot(client: Client, *secrets: str, name: str = "robot") -> Object:
    """A service account that names Secrets."""
    meta = {"name": name, "namespace": "default"}
    refs = [{"name": one} for one in secrets]
    return await client.create(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta, "secrets": refs}
    )


async def stored(server: InProcess, name: str, kind: str = "Secret") -> Object:
    """An object when all is quiet."""
    await wait_all_tasks_blocked()
    client = server.client()
    return await client.get(client.kind("v1", kind), name, "default")


async def gone(server: InProcess, name: str) -> bool:
    """Whether a Secret is not there when all is quiet."""
    try:
        await stored(server, name)
    except ApiError:
        return True
    return False


@pytest.fixture
def trust(certificates: pki.Pki) -> ClusterAuthorities:
    """What signs tokens, and authorities."""
    return ClusterAuthorities(RootBundle("PEM"), issuer=TokenIssuer(certificates.sa_key))


def read(secret: Object, key: str) -> str:
    """An entry of a Secret."""
    return base64.b64decode(secret["data"][key]).decode()


async def test_a_secret_is_filled_in(server: InProcess, trust: ClusterAuthorities) -> None:
    """With token, authorities and namespace; the token says whose it is, and never ends."""
    client = server.client()
    async with running(server, TOKENS, trust=trust):
        account = await robot(client)
        await client.create(secret("a"))
        filled = await stored(server, "a")
        uid = account["metadata"]["uid"]
        assert filled["metadata"]["annotations"] == {NAME: "robot", UID: uid}
        assert (read(filled, "ca.crt"), read(filled, "namespace")) == ("PEM", "default")
        payload = read(filled, "token").split(".")[1]
        claims = orjson.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        assert claims == {
            "iss": "kubernetes/serviceaccount",
            "kubernetes.io/serviceaccount/namespace": "default",
            "kubernetes.io/serviceaccount/secret.name": "a",
            "kubernetes.io/serviceaccount/service-account.name": "robot",
            "kubernetes.io/serviceaccount/service-account.uid": uid,
            "sub": "system:serviceaccount:default:robot",
        }


async def test_what_is_missing_is_added_and_the_rest_stays(
    server: InProcess, trust: ClusterAuthorities
) -> None:
    """A token that was taken out is made again, others' entries and other Secrets stay."""
    client = server.client()
    kind = client.kind("v1", "Secret")
    async with running(server, TOKENS, trust=trust):
        await robot(client)
        await client.create(secret("a"))
        token = read(await stored(server, "a"), "token")
        more = {"data": {"token": None, "mine": "eA==", "ca.crt": "eA==", "namespace": "eA=="}}
        await client.patch(kind, "a", more, "default")
        again = await stored(server, "a")
        assert read(again, "token").split(".")[1] == token.split(".")[1]
        assert (read(again, "ca.crt"), read(again, "namespace")) == ("PEM", "x")
        assert read(again, "mine") == "x"
        await client.create({**secret("b"), "type": "Opaque"})
        assert "data" not in await stored(server, "b")
        trust.root.set("NEW")
        assert read(await stored(server, "a"), "ca.crt") == "NEW"


async def test_a_secret_goes_with_its_account(server: InProcess, trust: ClusterAuthorities) -> None:
    """Also one whose account never was, or is another one of that name."""
    client = server.client()
    async with running(server, TOKENS, trust=trust):
        await robot(client)
        await robot(client, name="other")
        await client.create(secret("a"))
        await client.create(secret("b", "other"))
        await client.create(secret("c", "nobody"))
        await client.create(secret("d", **{UID: "11111111-1111-1111-1111-111111111111"}))
        assert await gone(server, "c")
        assert await gone(server, "d")
        await client.delete(client.kind("v1", "ServiceAccount"), "robot", "default")
        assert await gone(server, "a")
        assert not await gone(server, "b")


async def test_an_account_that_went_meanwhile(server: InProcess, trust: ClusterAuthorities) -> None:
    """A Secret of one that is there again under its name is not taken for the new one's."""
    client = server.client()
    async with running(server, TOKENS, trust=trust):
        await robot(client)
        await client.create(secret("a"))
        assert not await gone(server, "a")
    await client.delete(client.kind("v1", "ServiceAccount"), "robot", "default")
    await robot(client)
    async with running(server, TOKENS, trust=trust):
        assert await gone(server, "a")


async def test_an_account_forgets_a_secret_that_is_gone(
    server: InProcess, trust: ClusterAuthorities
) -> None:
    """The others that it names stay."""
    client = server.client()
    async with running(server, TOKENS, trust=trust):
        await robot(client, "a", "b")
        await client.create(secret("a"))
        await stored(server, "a")
        await client.delete(client.kind("v1", "Secret"), "a", "default")
        assert (await stored(server, "robot", "ServiceAccount"))["secrets"] == [{"name": "b"}]


async def test_what_the_manager_may(trust: ClusterAuthorities) -> None:
    """kube-controller-manager itself does this, by its own role."""
    writes = Writes()
    async with open_api(parts=Parts(admission=[writes])) as server:
        client = server.client()
        async with running(server, TOKENS, trust=trust):
            await robot(client, "a")
            await client.create(secret("a"))
            await client.create(secret("b", "nobody"))
            await wait_all_tasks_blocked()
            await client.delete(client.kind("v1", "Secret"), "a", "default")
            await wait_all_tasks_blocked()
        own = writes.by("system:kube-controller-manager")
        assert len(own) == 3
        assert refused(server, own) == []


# ---------------------------------------------------------------------- those nobody uses


async def legacy(server: InProcess, name: str, **labels: str) -> None:
    """A token that was made by itself once."""
    client = server.client()
    one = secret(name)
    one["metadata"]["labels"] = labels
    await client.create(one)


async def test_unused_tokens_end(autojump_clock: MockClock) -> None:
    """After a while they are invalid, as much later gone; by whole days, as uses are noted."""
    writes = Writes()
    async with open_api(parts=Parts(admission=[writes])) as server:
        client = server.client()
        await robot(client, "a", "mounted", "used", "odd")
        await legacy(server, "a")
        await legacy(server, "manual")
        await legacy(server, "mounted")
        await legacy(server, "used", **{LAST_USED: format_time(server.env.now() + 4 * DAY_S)[:10]})
        await legacy(server, "odd", **{LAST_USED: "yesterday"})
        pod = {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"},
            "spec": {
                "containers": [{"name": "c", "image": "i"}],
                "volumes": [{"name": "v", "secret": {"secretName": "mounted"}}],
                "serviceAccountName": "robot", "automountServiceAccountToken": False,
            },
        }  # fmt: skip
        await client.create(pod)
        async with running(server, CLEANER, config=UNUSED):
            await trio.sleep(1.5 * DAY_S)
            assert "labels" not in (await stored(server, "a"))["metadata"]
            await trio.sleep(2.5 * DAY_S)
            marked = (await stored(server, "a"))["metadata"]["labels"][INVALID_SINCE]
            assert marked in {
                format_time(server.env.now() - days * DAY_S)[:10] for days in (0, 1, 2)
            }
            for name in ("manual", "mounted", "used", "odd"):
                assert INVALID_SINCE not in (await stored(server, name))["metadata"].get(
                    "labels", {}
                )
            await trio.sleep(4 * DAY_S)
            assert await gone(server, "a")
            assert INVALID_SINCE in (await stored(server, "used"))["metadata"]["labels"]
        own = writes.by_controllers()
        assert own
        assert refused(server, own) == []


async def test_nothing_ends_before_it_is_known_what_is_used(autojump_clock: MockClock) -> None:
    """Uses are noted since the date of a ConfigMap; without it nobody is judged."""
    async with open_api() as server:
        client = server.client()
        await robot(client, "a")
        await legacy(server, "a")
        name = "kube-apiserver-legacy-service-account-token-tracking"
        await client.delete(client.kind("v1", "ConfigMap"), name, "kube-system")
        async with running(server, CLEANER, config=UNUSED):
            await trio.sleep(6 * DAY_S)
            assert "labels" not in (await stored(server, "a"))["metadata"]
