"""Bootstrap tokens: what is signed with them, and what becomes of those that have ended.

Source: docs "Authenticating with Bootstrap Tokens" (token format, ConfigMap signing, token
management); RFC 7515 appendix F (detached content).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from typing import Any

import orjson

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.rivals import Rivals
from kubetrio.machinery.timestamps import parse_time
from kubetrio.resources import reading
from kubetrio.resources.ifunchanged import delete_if_unchanged, if_unchanged
from kubetrio.resources.writes import Target
from kubetrio.store.model import Event, EventType

Object = dict[str, Any]

SYSTEM, PUBLIC = "kube-system", "kube-public"
TYPE = "bootstrap.kubernetes.io/token"
CLUSTER_INFO, KUBECONFIG, SIGNATURE = "cluster-info", "kubeconfig", "jws-kubeconfig-"
_NAME = re.compile(r"bootstrap-token-([a-z0-9]{6})")
_IS_TOKEN = f'"type":"{TYPE}"'.encode()


def _text(secret: Object, key: str) -> str:
    return base64.b64decode((secret.get("data") or {}).get(key) or "").decode(errors="replace")


def left_s(secret: Object, now: float) -> float | None:
    """How long a token lives, in seconds; 0 for one that has ended, None for one that never does.

    Args:
        secret: that has it.
        now: seconds since the epoch.
    """
    until = _text(secret, "expiration")
    if not until:
        return None
    try:
        return max(parse_time(until) - now, 0.0)
    except ValueError:
        return 0.0


def signature(content: str, token_id: str, token_secret: str) -> str:
    """A JSON web signature without the content, as a ConfigMap has it.

    Args:
        content: what is signed.
        token_id: the ``kid``.
        token_secret: the key.
    """

    def text(data: bytes) -> bytes:
        return base64.urlsafe_b64encode(data).rstrip(b"=")

    header = text(orjson.dumps({"alg": "HS256", "kid": token_id}))
    signed = header + b"." + text(content.encode())
    mac = hmac.new(token_secret.encode(), signed, hashlib.sha256).digest()
    return f"{header.decode()}..{text(mac).decode()}"


def signing_token(secret: Object, now: float) -> tuple[str, str] | None:
    """Id and secret of a token that signs; None if it does not.

    Args:
        secret: that has it.
        now: seconds since the epoch.
    """
    named = _NAME.fullmatch(secret["metadata"]["name"])
    token_id, token_secret = _text(secret, "token-id"), _text(secret, "token-secret")
    if secret.get("type") != TYPE or named is None or token_id != named[1] or not token_secret:
        return None
    if left_s(secret, now) == 0 or _text(secret, "usage-bootstrap-signing") != "true":
        return None
    return token_id, token_secret


class TokenCleaner(Controller):
    """Deletes bootstrap tokens that have ended; keys are names of Secrets in ``kube-system``.

    Args:
        context: what it is made of.
    """

    name = "token-cleaner-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._kind = context.registry.resources["", "v1", "secrets"]
        self._prefix = self._kind.prefix(SYSTEM)
        self._who = as_service_account("token-cleaner")
        self.follow_events(self._prefix, self._changed)

    def _changed(self, event: Event) -> None:
        if event.type is not EventType.DELETED and _IS_TOKEN in event.value:
            self.queue.add(event.key.removeprefix(self._prefix))

    async def sync(self, key: str) -> None:
        """Delete a token that has ended, or come back when it does.

        Raises:
            ApiError: it cannot be deleted.
            StoreError: it cannot be read.
        """
        target = Target(self._kind, SYSTEM, key)
        stored = await self._store.get(target.key)
        secret: Object = {} if stored is None else orjson.loads(stored.value)
        if secret.get("type") != TYPE:
            return
        left = left_s(secret, self._env.now())
        if left is None:
            return
        if left > 0:
            self.look_again_in(key, left)
            return
        await delete_if_unchanged(self._operations, target, secret, self._who)


class BootstrapSigner(Controller):
    """Signs the ConfigMap ``cluster-info`` with each token that is for signing.

    Args:
        context: what it is made of.
    """

    name = "bootstrap-signer-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        kinds = context.registry.resources
        self._secrets = kinds["", "v1", "secrets"]
        self._target = Target(kinds["", "v1", "configmaps"], PUBLIC, CLUSTER_INFO)
        self._who = as_service_account("bootstrap-signer")
        self._rivals = Rivals(self.name, "configmaps")
        self.follow_events(self._secrets.prefix(SYSTEM), self._token_changed)
        context.informers.dispatcher.subscribe(self._target.key, self._changed)
        self.queue.add(CLUSTER_INFO)

    def _token_changed(self, event: Event) -> None:
        if _IS_TOKEN in event.value or _IS_TOKEN in (event.previous or b""):
            self.queue.add(CLUSTER_INFO)

    def _changed(self, event: Event) -> None:
        if event.type is not EventType.DELETED:
            self.queue.add(CLUSTER_INFO)

    async def sync(self, key: str) -> None:  # noqa: ARG002  (there is one)
        """Give the ConfigMap the signatures that it should have.

        Raises:
            ApiError: it cannot be written.
            StoreError: it cannot be read.
        """
        config_map = await self._store.get(self._target.key)
        if config_map is None:
            return
        config: Object = orjson.loads(config_map.value)
        data = config.get("data") or {}
        content = data.get(KUBECONFIG)
        if content is None:
            return
        now = self._env.now()
        unsigned = {name: text for name, text in data.items() if not name.startswith(SIGNATURE)}
        ends: list[float] = []
        for secret in await reading.read_all(self._store, self._secrets, SYSTEM):
            token = signing_token(secret, now)
            if token is not None:
                unsigned[SIGNATURE + token[0]] = signature(content, *token)
                left = left_s(secret, now)
                ends += [] if left is None else [left]
        if ends:
            self.look_again_in(CLUSTER_INFO, min(ends))
        if unsigned == data:
            return
        if wait_s := self._rivals.wait_s(CLUSTER_INFO, orjson.dumps(sorted(unsigned.items()))):
            self.queue.add_after(CLUSTER_INFO, wait_s)
            return

        def signed(stored: Object) -> Object:
            new = {**stored, "metadata": dict(stored["metadata"])}
            return {**new, "data": dict(sorted(unsigned.items()))}

        change = if_unchanged(self._target, config, signed)
        await self._operations.patch(self._target, change, self._who)
        self._rivals.corrected(CLUSTER_INFO)
