"""A world of service accounts, and tokens for them."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from inspect import isawaitable
from pathlib import Path
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from kubetrio.auth.authenticate import BadCredentials
from kubetrio.auth.boundobjects import bound_objects
from kubetrio.auth.issuing import TokenIssuer, claims_of
from kubetrio.auth.keys import KeySet
from kubetrio.auth.serviceaccounts import ServiceAccountTokens
from kubetrio.auth.tokens import Found
from kubetrio.env import seeded
from kubetrio.informers.dispatch import Dispatcher
from kubetrio.kinds.builtin import registry
from kubetrio.resources.objects import stamp
from kubetrio.schema.registry import LiveRegistry
from kubetrio.testing.store_model import MemoryStore

ISSUER, OLD_ISSUER = "https://i.example", "https://old.example"


AUDIENCES = ("api", "other")


NOW = 1_800_000_000


Object = dict[str, Any]


KEYS = {
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "ES384": ec.generate_private_key(ec.SECP384R1()),
    "ES512": ec.generate_private_key(ec.SECP521R1()),
    "RS256": rsa.generate_private_key(65537, 2048),
}


def private_pem(key: Any) -> bytes:
    return key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())


def public_pem(key: Any) -> bytes:
    pem = form.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(form.Encoding.PEM, pem)


class World:
    """A store, a clock and the method; objects come and go."""

    def __init__(
        self, directory: Path, keys: Sequence[Any] = tuple(KEYS.values()), **more: Any
    ) -> None:
        self.directory = directory
        self.now = float(NOW)
        self.store = MemoryStore()
        self.labelled: list[tuple[str, ...]] = []
        self.uids = 0
        self.registry = LiveRegistry(registry())
        self.env = seeded(0)
        object.__setattr__(self.env, "now", lambda: self.now)
        files = []
        for index, key in enumerate(keys):
            files.append(directory / f"{index}.pub")
            files[-1].write_bytes(public_pem(key))
        self.method = ServiceAccountTokens(
            KeySet(files),
            (ISSUER, OLD_ISSUER),
            AUDIENCES,
            bound_objects(Dispatcher(self.store)),
            self.registry,
            self.env,
            label_used=self.label,
            **more,
        )

    async def label(self, *what: str) -> None:
        self.labelled.append(what)

    def key(self, plural: str, name: str) -> str:
        kind = self.registry.resources["", "v1", plural]
        return kind.key("ns" if kind.namespaced else "", name)

    async def add(self, plural: str, name: str, meta: Object | None = None, **more: Any) -> str:
        """Make an object; returns its uid."""
        self.uids += 1
        uid = f"uid-{self.uids}"
        namespace = {} if plural == "nodes" else {"namespace": "ns"}
        metadata = {"name": name, **namespace, "uid": uid, **(meta or {})}
        await self.store.create(
            self.key(plural, name),
            stamp({"kind": "K", "apiVersion": "v1", "metadata": metadata, **more}),
        )
        return uid

    async def change(self, plural: str, name: str, meta: Object) -> None:
        key = self.key(plural, name)
        found = await self.store.get(key)
        assert found is not None
        obj = orjson.loads(found.value)
        obj["metadata"].update(meta)
        obj["metadata"].pop("resourceVersion", None)
        await self.store.update(key, stamp(obj), expected=found.revision)

    async def remove(self, plural: str, name: str) -> None:
        key = self.key(plural, name)
        found = await self.store.get(key)
        assert found is not None
        await self.store.delete(key, expected=found.revision)

    def claims(self, uid: str, bound: Object | None = None, **changed: Any) -> Object:
        claims = claims_of(
            {"metadata": {"name": "a", "namespace": "ns", "uid": uid}},
            issuer=ISSUER,
            audiences=["api"],
            now=NOW,
            life_s=3600,
            warn_after_s=0,
            token_id="tid",
            bound=bound or {},
        )
        claims.update(changed)
        return {name: value for name, value in claims.items() if value is not ...}

    def sign(self, claims: Object, key: Any = KEYS["ES256"]) -> str:
        file = self.directory / "signing.key"
        file.write_bytes(private_pem(key))
        return TokenIssuer(file).sign(claims)

    async def ask(self, token: str | bytes, audiences: tuple[str, ...] = AUDIENCES) -> Found | None:
        raw = token.encode() if isinstance(token, str) else token
        found = self.method.authenticate_token(raw, audiences)
        if isawaitable(found):
            found = await found
        assert found is None or isinstance(found, Found)
        return found

    async def refused(self, token: str | bytes, **how: Any) -> str:
        """Why a token is not taken; nothing of it is kept."""
        before = self.method.remembered()
        with pytest.raises(BadCredentials) as caught:
            await self.ask(token, **how)
        assert self.method.remembered()[0] <= before[0]
        return str(caught.value)


class Legacy:
    """A Secret with a token."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.token = ""

    async def make(self, labels: Object | None = None, **account: Any) -> str:
        self.uid = await self.world.add("serviceaccounts", "a", **account)
        self.token = self.world.sign(self.claims(self.uid))
        data = {"token": base64.b64encode(self.token.encode()).decode()}
        meta = {"labels": labels or {}}
        await self.world.add("secrets", "s", meta, data=data)
        return self.token

    def claims(self, uid: str, **changed: Any) -> Object:
        start = "kubernetes.io/serviceaccount/"
        claims = {
            "iss": "kubernetes/serviceaccount",
            "sub": "system:serviceaccount:ns:a",
            start + "namespace": "ns",
            start + "secret.name": "s",
            start + "service-account.name": "a",
            start + "service-account.uid": uid,
        }
        claims.update({start + name if "." in name else name: one for name, one in changed.items()})
        return claims
