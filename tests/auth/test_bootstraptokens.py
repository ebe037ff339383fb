"""Bootstrap tokens: Secrets in kube-system, and everything that makes one worthless."""

from __future__ import annotations

import base64
from inspect import isawaitable
from typing import Any

import pytest

from kubetrio.auth.bootstraptokens import BootstrapTokens
from kubetrio.auth.boundobjects import BOOTSTRAP_TYPE, Seen, bound_objects
from kubetrio.auth.tokens import Found
from kubetrio.env import Env, seeded
from kubetrio.informers.dispatch import Dispatcher
from kubetrio.informers.remembered import Remembered
from kubetrio.kinds.builtin import registry
from kubetrio.resources.objects import stamp
from kubetrio.schema.registry import LiveRegistry
from kubetrio.testing.store_model import MemoryStore

TOKEN = b"abcdef.0123456789abcdef"
KEY = "/registry/secrets/kube-system/bootstrap-token-abcdef"
DATA = {
    "token-id": "abcdef",
    "token-secret": "0123456789abcdef",
    "usage-bootstrap-authentication": "true",
}
NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z


class Nodes:
    """A store with one Secret at most, and the method."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        base = seeded(0)
        env = Env(now=lambda: NOW, rng=base.rng, run_blocking=base.run_blocking)
        self.objects: Remembered[Seen] = bound_objects(Dispatcher(self.store))
        self.method = BootstrapTokens(self.objects, LiveRegistry(registry()), env, ("api",))

    async def secret(self, meta: Any = None, kind: str = BOOTSTRAP_TYPE, **data: str) -> None:
        held = {
            name: base64.b64encode(value.encode()).decode()
            for name, value in {**DATA, **data}.items()
        }
        obj = {"kind": "Secret", "apiVersion": "v1", "type": kind, "data": held}
        obj["metadata"] = {"name": "b", "namespace": "kube-system", "uid": "u", **(meta or {})}
        found = await self.store.get(KEY)
        if found is not None:
            await self.store.delete(KEY, expected=found.revision)
        await self.store.create(KEY, stamp(obj))

    async def ask(self, token: bytes = TOKEN, audiences: tuple[str, ...] = ("api",)) -> Any:
        found = self.method.authenticate_token(token, audiences)
        return (await found) if isawaitable(found) else found


async def test_a_bootstrap_token_is_a_bootstrapper() -> None:
    """Name after the id, groups sorted and each once; the end is that of the Secret."""
    nodes = Nodes()
    groups = "system:bootstrappers:z,system:bootstrappers:a,system:bootstrappers:z"
    more = {"auth-extra-groups": groups, "expiration": "2027-01-15T08:00:01Z"}
    await nodes.secret(**more)
    found = await nodes.ask(audiences=("x", "api"))
    assert isinstance(found, Found)
    assert found.user.name == "system:bootstrap:abcdef"
    assert found.user.groups == (
        "system:bootstrappers",
        "system:bootstrappers:a",
        "system:bootstrappers:z",
    )
    assert (found.audiences, found.expires, found.lasting) == (("api",), NOW + 1, False)
    assert isinstance(nodes.method.authenticate_token(TOKEN, ("api",)), Found)


@pytest.mark.parametrize(
    "data",
    [
        {"token-secret": "0123456789abcdeg"},
        {"token-secret": ""},
        {"token-id": "abcdeg"},
        {"expiration": "2027-01-15T08:00:00Z"},
        {"expiration": "tomorrow"},
        {"expiration": "ü"},
        {"usage-bootstrap-authentication": "True"},
        {"usage-bootstrap-authentication": ""},
        {"auth-extra-groups": "system:masters"},
        {"auth-extra-groups": "system:bootstrappers:a,system:nodes"},
        {"auth-extra-groups": "system:bootstrappers:a,"},
        {"auth-extra-groups": "system:bootstrappers:a\n"},
        {"auth-extra-groups": "system:bootstrappers:A"},
    ],
)
async def test_a_secret_that_is_not_in_order_is_nobody(data: dict[str, str]) -> None:
    """Wrong secret or id, over, not for authentication, or groups that are not for bootstrap."""
    nodes = Nodes()
    await nodes.secret(**data)
    assert await nodes.ask() is None


async def test_a_secret_that_goes_or_is_of_another_type_is_nobody() -> None:
    """With the next request."""
    nodes = Nodes()
    assert await nodes.ask() is None
    await nodes.secret()
    assert await nodes.ask() is not None
    await nodes.secret({"deletionTimestamp": "2027-01-15T09:00:00Z"})
    assert await nodes.ask() is None
    await nodes.secret(kind="Opaque")
    assert await nodes.ask() is None
    await nodes.secret()
    assert await nodes.ask(audiences=("elsewhere",)) is None
    found = await nodes.store.get(KEY)
    assert found is not None
    await nodes.secret()
    removed = await nodes.store.get(KEY)
    assert removed is not None
    await nodes.store.delete(KEY, expected=removed.revision)
    assert await nodes.ask() is None


@pytest.mark.parametrize(
    "token",
    [
        b"",
        b"abcdef",
        b"abcdef.0123456789abcde",
        b"abcdef.0123456789abcdef ",
        b"abcdef.0123456789abcdef\n",
        b"ABCDEF.0123456789abcdef",
        b"../../.0123456789abcdef",
        b"abcdef.0123456789ABCDEF",
    ],
)
def test_other_tokens_are_not_looked_up(token: bytes) -> None:
    """What has another form is somebody else's; nothing waits for it."""
    assert Nodes().method.authenticate_token(token, ("api",)) is None


async def test_guesses_leave_nothing() -> None:
    """Ids that are not there are not remembered."""
    nodes = Nodes()
    for number in range(100):
        assert await nodes.ask(b"%06d.0123456789abcdef" % number) is None
    assert nodes.objects.remembered() == (0, 0)
