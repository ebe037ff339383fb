"""Keeps the ConfigMap ``kube-system/extension-apiserver-authentication``.

It tells extension servers, such as aggregated ones, whose client certificates to believe and how a
front proxy names users.  Several servers may share it: authorities and headers of others stay,
those of this server are added, authorities that have ended go.  It is made again when a
client deletes it, and looked at each minute.

Source: docs "Configure the Aggregation Layer" (Extension apiserver Authenticates the Request);
kube-apiserver's cluster authentication trust controller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import orjson
import trio

from kubetrio.auth.trust import RootBundle, SigningPair
from kubetrio.env import Env
from kubetrio.informers.dispatch import Dispatcher
from kubetrio.machinery.names import GroupVersionKind
from kubetrio.machinery.status import ApiError
from kubetrio.observe.logs import Log
from kubetrio.resources.operations import Operations
from kubetrio.resources.own import OWN
from kubetrio.resources.writes import DeleteOptions, Target
from kubetrio.schema.registry import LiveRegistry
from kubetrio.store.errors import StoreError
from kubetrio.store.model import Event, EventType
from kubetrio.tls.certificates import FRONT_PROXY_CLIENT, NO_CERTIFICATES, bundle
from kubetrio.tls.pem import certificates, printed

Object = dict[str, Any]

log = Log("kubetrio.bootstrap")
NAMESPACE, NAME = "kube-system", "extension-apiserver-authentication"
INTERVAL_S = 60.0
AGAIN_S = 5.0
CLIENT_CA = "client-ca-file"
PROXY_CA = "requestheader-client-ca-file"
USERNAMES = "requestheader-username-headers"
UIDS = "requestheader-uid-headers"
GROUPS = "requestheader-group-headers"
PREFIXES = "requestheader-extra-headers-prefix"
ALLOWED = "requestheader-allowed-names"
LISTS = (USERNAMES, UIDS, GROUPS, PREFIXES, ALLOWED)
TOO_LONG = "Too long"
WRITER = OWN._replace(own=False)  # checked as what others write: others add to it too


class Proxies(NamedTuple):
    """How front proxies name users.

    Args:
        ca: authorities of their certificates, PEM; empty when there are none.
        usernames: headers with the name of a user.
        uids: headers with the uid.
        groups: headers with groups.
        prefixes: what headers with extra fields begin with.
        allowed: common names that proxies may have; any when empty.
    """

    ca: str = ""
    usernames: tuple[str, ...] = ()
    uids: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()


def own_front_proxy(ca: str) -> Proxies:
    """How a server names users to aggregated ones by a certificate of an authority of its own.

    Args:
        ca: that authority, PEM.
    """
    return Proxies(
        ca=ca,
        usernames=("X-Remote-User",),
        uids=("X-Remote-Uid",),
        groups=("X-Remote-Group",),
        prefixes=("X-Remote-Extra-",),
        allowed=(FRONT_PROXY_CLIENT,),
    )


@dataclass(slots=True)
class Trusted:
    """Authorities that this server believes, now.

    Args:
        client_ca: authorities of client certificates, PEM; empty when there are none.
        proxies: how front proxies name users.
        root: the other way round: authorities by which clients believe this server.
        signing: signs certificates of clients that this server then believes; None without it.

    Attributes:
        changed: set when it changes.
    """

    client_ca: str = ""
    proxies: Proxies = field(default_factory=Proxies)
    root: RootBundle = field(default_factory=RootBundle)
    signing: SigningPair | None = None
    changed: trio.Event = field(default_factory=trio.Event)

    def set(self, client_ca: str, proxies: Proxies) -> None:
        """Believe others from now on."""
        if (client_ca, proxies) != (self.client_ca, self.proxies):
            self.client_ca, self.proxies = client_ca, proxies
            self.changed.set()


def combined(data: Mapping[str, str], trusted: Trusted, now: float) -> dict[str, str]:
    """What the ConfigMap should hold.

    Args:
        data: what it holds.
        trusted: what this server adds to it.
        now: seconds since the epoch.

    Raises:
        ValueError: what it holds cannot be read.
    """
    proxies = trusted.proxies
    own = dict(
        zip(
            LISTS,
            (proxies.usernames, proxies.uids, proxies.groups, proxies.prefixes, proxies.allowed),
            strict=True,
        )
    )
    lists = {
        name: list(dict.fromkeys((*_texts(name, data.get(name, "")), *own[name]))) for name in LISTS
    }
    config: dict[str, str] = {}
    if client_ca := _authorities(data.get(CLIENT_CA, ""), trusted.client_ca, now):
        config[CLIENT_CA] = client_ca
    if proxy_ca := _authorities(_of_proxies(data, trusted), proxies.ca, now):
        config[PROXY_CA] = proxy_ca
        for name, texts in lists.items():
            if texts or name != UIDS:
                config[name] = orjson.dumps(texts).decode()
    return config


def _of_proxies(data: Mapping[str, str], trusted: Trusted) -> str:
    """Return others' authorities of proxies.

    Earlier releases published the authority of clients there: what it signs for a client is no
    proxy, so it is taken out, unless it is named as one of proxies.
    """
    clients = set(certificates(trusted.client_ca.encode()))
    theirs = certificates(data.get(PROXY_CA, "").encode())
    if not clients.intersection(theirs):
        return data.get(PROXY_CA, "")
    return b"".join(printed(one) for one in theirs if one not in clients).decode()


def _texts(name: str, value: str) -> list[str]:
    if not value:
        return []
    try:
        texts = orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"{name} is not JSON: {error}") from error
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{name} is no list of texts")
    return texts


def _authorities(theirs: str, ours: str, now: float) -> str:
    if theirs and not certificates(theirs.encode()):
        raise ValueError(NO_CERTIFICATES)
    return bundle(f"{theirs}\n{ours}", now)


class PublishedAuthorities:
    """The keeper.

    Args:
        registry: what is served.
        operations: writes.
        dispatcher: the commit stream, which tells when it is made or deleted.
        env: wall clock.
        trusted: authorities that this server believes.
    """

    def __init__(
        self,
        registry: LiveRegistry,
        operations: Operations,
        dispatcher: Dispatcher,
        env: Env,
        trusted: Trusted,
    ) -> None:
        self._operations = operations
        self._store = dispatcher.store
        self._dispatcher = dispatcher
        self._env = env
        self._trusted = trusted
        kind = registry.by_kind[GroupVersionKind("", "v1", "ConfigMap")]
        self._target = Target(resource=kind, namespace=NAMESPACE, name=NAME)
        self._key = self._target.key

    async def publish(self) -> None:
        """Write the ConfigMap at the start; faults of its contents are logged.

        Raises:
            ApiError: the store takes no writes.
            StoreError: it cannot be read.
        """
        try:
            await self.keep()
        except (ApiError, ValueError) as error:
            if isinstance(error, ApiError) and error.code >= 500:
                raise
            log.warning("authorities not published", object=_SHOWN, reason=str(error))

    async def run(self) -> NoReturn:
        """Look when it was made or deleted, when this server believes others, and each minute."""
        unsubscribe = self._dispatcher.subscribe(self._key, self._written)
        try:
            while True:
                wait_s = INTERVAL_S
                # What is told from here on wakes the next look.
                self._trusted.changed = trio.Event()
                try:
                    await self.keep()
                except (ApiError, StoreError, ValueError) as error:
                    log.warning("authorities not published", object=_SHOWN, reason=str(error))
                    wait_s = AGAIN_S
                with trio.move_on_after(wait_s):
                    await self._trusted.changed.wait()
        finally:
            unsubscribe()

    def _written(self, event: Event) -> None:
        # Changes wait for the minute, as they do in kube-apiserver.
        if event.type is not EventType.UPDATED:
            self._trusted.changed.set()

    async def keep(self) -> None:
        """Make it what it should be.

        Raises:
            ApiError: it cannot be written.
            StoreError: it cannot be read.
            ValueError: what it holds, or what it should, cannot be read.
        """
        item = await self._store.get(self._key)
        stored: Object = {} if item is None else orjson.loads(item.value)
        data = combined(stored.get("data") or {}, self._trusted, self._env.now())
        if data == (stored.get("data") or {}):
            return  # also where there is nothing to say, and no ConfigMap
        if item is None:
            await self._create(data)
            return
        try:
            await self._operations.patch(self._target, lambda live: self._with(live, data), WRITER)
        except ApiError as error:
            if error.code == 413 or (error.code == 422 and TOO_LONG in error.message):
                # It is begun anew: this server and the others add what is right.
                await self._operations.delete(self._target, DeleteOptions(), WRITER)
            raise

    async def _create(self, data: Mapping[str, str]) -> None:
        obj: Object = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": NAME, "namespace": NAMESPACE},
            "data": dict(data),
        }
        try:
            await self._operations.create(self._target, obj, WRITER)
        except ApiError as error:
            if error.code != 409:
                raise

    @staticmethod
    def _with(live: Object, data: Mapping[str, str]) -> Object:
        return {**live, "data": dict(data), "metadata": dict(live["metadata"])}


_SHOWN = f"ConfigMap/{NAMESPACE}/{NAME}"
