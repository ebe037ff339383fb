"""Tokens of service accounts in Secrets: filled in, deleted with their account, and cleaned up.

Source: docs "Managing Service Accounts" (token controller; legacy ServiceAccount token cleaner),
KEP-2799; k8s.io/kubernetes/pkg/controller/serviceaccount.
"""

from __future__ import annotations

import base64
import datetime as dt
from typing import Any, NamedTuple

import orjson

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.rivals import Rivals
from kubetrio.controllers.serviceaccounts.tokensecrets import LAST_USED
from kubetrio.machinery.identity import AUTHENTICATED, UserInfo
from kubetrio.machinery.status import OBJECT_MODIFIED, ApiError, conflict
from kubetrio.machinery.timestamps import format_time, parse_time
from kubetrio.observe.logs import Log
from kubetrio.plugins.serviceaccounts import secret_names
from kubetrio.resources import reading
from kubetrio.resources.ifunchanged import delete_if_unchanged, if_unchanged
from kubetrio.resources.writes import DeleteOptions, Target, WriteOptions
from kubetrio.store.model import Event, EventType, Range
from kubetrio.store.scan import scan

Object = dict[str, Any]
log = Log("kubetrio.controllers")

TYPE = "kubernetes.io/service-account-token"
NAME = "kubernetes.io/service-account.name"
UID = "kubernetes.io/service-account.uid"
INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"
ISSUER = "kubernetes/serviceaccount"
TRACKING = "/registry/configmaps/kube-system/kube-apiserver-legacy-service-account-token-tracking"
DAY_S = 24 * 3600.0
_IS_TOKEN = f'"type":"{TYPE}"'.encode()

# This controller has no account of its own: it makes those of the others work.
MANAGER = WriteOptions(
    user=UserInfo("system:kube-controller-manager", groups=(AUTHENTICATED,)),
    field_manager="kube-controller-manager",
)


class _Account(NamedTuple):
    """Whose token a Secret has.

    Args:
        name: of the account.
        uid: of the account; empty when the Secret does not say.
    """

    name: str
    uid: str


def account_of(secret: Object) -> _Account:
    """The account that a Secret names."""
    annotations = secret["metadata"].get("annotations") or {}
    return _Account(annotations.get(NAME) or "", annotations.get(UID) or "")


class TokensController(Controller):
    """Keeps Secrets with tokens; keys are their namespaces and names.

    Of these Secrets it remembers who they are for, of all others nothing.

    Args:
        context: what it is made of.
    """

    name = "serviceaccount-token-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._secrets = context.registry.resources["", "v1", "secrets"]
        self._accounts = context.registry.resources["", "v1", "serviceaccounts"]
        self._trust = context.trust
        self._known: dict[str, _Account] = {}  # by key
        self._gone: dict[str, _Account] = {}  # Secrets that an account may still name
        self._rivals = Rivals(self.name, "secrets")
        self.follow_events(self._secrets.storage_prefix, self._secret_changed)
        context.informers.dispatcher.subscribe(self._accounts.storage_prefix, self._account_changed)
        context.trust.root.listen(self._look_at_all)

    def _look_at_all(self) -> None:
        for key in self._known:
            self.queue.add(key)

    def _secret_changed(self, event: Event) -> None:
        if _IS_TOKEN not in event.value:
            return
        key = event.key.removeprefix(self._secrets.storage_prefix)
        account = account_of(orjson.loads(event.value))
        if event.type is EventType.DELETED:
            self._known.pop(key, None)
            self._gone[key] = account
        else:
            self._known[key] = account
        self.queue.add(key)

    def _account_changed(self, event: Event) -> None:
        if event.type is not EventType.DELETED:
            return
        namespace, _, name = event.key.removeprefix(self._accounts.storage_prefix).partition("/")
        for key, account in self._known.items():
            if account.name == name and key.startswith(f"{namespace}/"):
                self.queue.add(key)

    async def sync(self, key: str) -> None:
        """Fill a Secret in, or delete it when its account is gone.

        Raises:
            ApiError: it cannot be written.
            StoreError: it cannot be read.
        """
        namespace, _, name = key.partition("/")
        target = Target(self._secrets, namespace, name)
        stored = await self._store.get(target.key)
        secret: Object = {} if stored is None else orjson.loads(stored.value)
        gone = self._gone.get(key)
        if gone is not None:
            if stored is None:
                await self._forget(namespace, name, gone)
            self._gone.pop(key, None)
        if secret.get("type") != TYPE:
            return
        account_ref = account_of(secret)
        if not account_ref.name:
            return
        account = await self._account(namespace, account_ref)
        if account is not None:
            await self._fill(target, secret, account)
            return
        await delete_if_unchanged(self._operations, target, secret, MANAGER)

    async def _account(self, namespace: str, wanted: _Account) -> Object | None:
        stored = await self._store.get(self._accounts.key(namespace, wanted.name))
        if stored is None:
            return None
        account: Object = orjson.loads(stored.value)
        return account if wanted.uid in ("", account["metadata"]["uid"]) else None

    async def _forget(self, namespace: str, secret: str, named: _Account) -> None:
        """Have an account no longer name a Secret that is gone."""
        account = await self._account(namespace, named) if named.name else None
        if account is None or not names_secret(account, secret):
            return
        target = Target(self._accounts, namespace, named.name)
        uid = account["metadata"]["uid"]

        def without(stored: Object) -> Object:
            if stored["metadata"]["uid"] != uid:
                raise conflict(self._accounts.group_resource, named.name, OBJECT_MODIFIED)
            left = [ref for ref in stored.get("secrets") or () if ref.get("name") != secret]
            new = {member: value for member, value in stored.items() if member != "secrets"}
            new["metadata"] = dict(stored["metadata"])
            return {**new, "secrets": left} if left else new

        try:
            await self._operations.patch(target, without, MANAGER)
        except ApiError as error:
            if error.code != 404:
                raise

    async def _fill(self, target: Target, secret: Object, account: Object) -> None:
        lacking = self._lacking(secret)
        if not lacking:
            return
        meta, data = secret["metadata"], dict(secret.get("data") or {})
        if lacking.keys() == {"ca.crt"} and "ca.crt" in data:
            key = f"{meta['namespace']}/{meta['name']}"
            if wait_s := self._rivals.wait_s(key, lacking["ca.crt"]):
                self.queue.add_after(key, wait_s)
                return
        if "token" in lacking:
            if self._trust.issuer is None:
                raise AssertionError("without a key no token is lacking")
            claims = legacy_claims(account, meta["name"])
            token = await self._env.run_blocking(self._trust.issuer.sign, claims)
            lacking["token"] = token.encode()
        data.update((name, base64.b64encode(value).decode()) for name, value in lacking.items())
        owner = account["metadata"]
        annotations = {**(meta.get("annotations") or {}), NAME: owner["name"], UID: owner["uid"]}

        def filled(stored: Object) -> Object:
            new = {**stored["metadata"], "annotations": dict(sorted(annotations.items()))}
            return {**stored, "metadata": new, "data": dict(sorted(data.items()))}

        try:
            await self._operations.patch(target, if_unchanged(target, secret, filled), MANAGER)
        except ApiError as error:
            if error.code not in (404, 409):  # it comes again, if it is still there
                raise
        else:
            self._rivals.corrected(f"{meta['namespace']}/{meta['name']}")

    def _lacking(self, secret: Object) -> dict[str, bytes]:
        """Entries of a Secret that are to be written; the token has no value yet."""
        data = secret.get("data") or {}
        root = self._trust.root.pem.encode()
        lacking: dict[str, bytes] = {}
        if root and base64.b64decode(data.get("ca.crt") or "") != root:
            lacking["ca.crt"] = root
        if not data.get("namespace"):
            lacking["namespace"] = secret["metadata"]["namespace"].encode()
        if not data.get("token") and self._trust.issuer is not None:
            lacking["token"] = b""
        return lacking


def names_secret(account: Object, name: str) -> bool:
    """Whether an account names a Secret as one of its own."""
    return any(ref.get("name") == name for ref in account.get("secrets") or ())


def legacy_claims(account: Object, secret: str) -> Object:
    """What a token in a Secret says: no audience and no end.

    Args:
        account: whose it is.
        secret: name of the Secret.
    """
    meta = account["metadata"]
    return {
        "iss": ISSUER,
        "kubernetes.io/serviceaccount/namespace": meta["namespace"],
        "kubernetes.io/serviceaccount/secret.name": secret,
        "kubernetes.io/serviceaccount/service-account.name": meta["name"],
        "kubernetes.io/serviceaccount/service-account.uid": meta["uid"],
        "sub": f"system:serviceaccount:{meta['namespace']}:{meta['name']}",
    }


# ---------------------------------------------------------------------- unused ones


class LegacyServiceAccountTokenCleaner(Controller):
    """Deletes tokens in Secrets that were made by themselves once and are not used any more.

    They get a label first, which makes them invalid, and are deleted as much later again.  Each day
    counts, so it looks once a day.

    Args:
        context: what it is made of.
    """

    name = "legacy-serviceaccount-token-cleaner-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._secrets = context.registry.resources["", "v1", "secrets"]
        self._accounts = context.registry.resources["", "v1", "serviceaccounts"]
        self._pods = context.registry.resources["", "v1", "pods"]
        self._unused_s = context.config.certificates.unused_tokens_s
        self._who = as_service_account("legacy-service-account-token-cleaner")
        self.queue.add("")

    async def sync(self, key: str) -> None:
        """Look at all tokens, and again a day later.

        Raises:
            ApiError: one cannot be written.
            StoreError: they cannot be read.
        """
        await self._look()
        self.queue.add_after(key, DAY_S)

    async def _look(self) -> None:
        now = self._env.now()
        since = await self._tracked_since()
        if since is None or now < since + self._unused_s:
            return  # not tracked long enough
        before = now - self._unused_s
        used: dict[str, set[str]] = {}  # by namespace: Secrets that pods name
        keys = Range.prefix(self._secrets.storage_prefix)
        async for item in scan(self._store, keys):
            if _IS_TOKEN not in item.value:
                continue
            secret: Object = orjson.loads(item.value)
            if not await self._unused(secret, before):
                continue
            namespace = secret["metadata"]["namespace"]
            if namespace not in used:
                used[namespace] = {
                    name
                    for pod in await reading.read_all(self._store, self._pods, namespace)
                    for name in secret_names(pod.get("spec") or {})
                }
            if secret["metadata"]["name"] not in used[namespace]:
                await self._end(secret, now, before)

    async def _tracked_since(self) -> float | None:
        """From when on uses were noted for certain: the day after they began to be."""
        stored = await self._store.get(TRACKING)
        config: Object = {} if stored is None else orjson.loads(stored.value)
        first = _day((config.get("data") or {}).get("since") or "")
        return None if first is None else first + DAY_S

    async def _unused(self, secret: Object, before: float) -> bool:
        """Whether a token was made by itself, long ago, and was not used since then."""
        meta = secret["metadata"]
        if parse_time(meta["creationTimestamp"]) >= before or "deletionTimestamp" in meta:
            return False
        last = (meta.get("labels") or {}).get(LAST_USED)
        if last is not None and (_day(last) is None or last >= _date(before)):
            return False
        account_ref = account_of(secret)
        if not account_ref.name:
            return False
        stored = await self._store.get(self._accounts.key(meta["namespace"], account_ref.name))
        account: Object = {} if stored is None else orjson.loads(stored.value)
        uid = (account.get("metadata") or {}).get("uid")
        return account_ref.uid in ("", uid) and names_secret(account, meta["name"])

    async def _end(self, secret: Object, now: float, before: float) -> None:
        meta = secret["metadata"]
        target = Target(self._secrets, meta["namespace"], meta["name"])
        invalid = (meta.get("labels") or {}).get(INVALID_SINCE) or ""
        shown = f"{meta['namespace']}/{meta['name']}"
        try:
            if _day(invalid) is None:
                log.info("an unused token is invalid from now on", secret=shown)
                await self._operations.patch(target, self._invalid(meta["uid"], now), self._who)
            elif invalid < _date(before):
                log.info("an unused token is deleted", secret=shown, since=invalid)
                same = DeleteOptions(resource_version=meta["resourceVersion"])
                await self._operations.delete(target, same, self._who)
        except ApiError as error:
            if error.code not in (404, 409):
                log.warning("cannot end an unused token", secret=shown, error=str(error))

    def _invalid(self, uid: str, now: float) -> Any:
        def labelled(stored: Object) -> Object:
            meta = stored["metadata"]
            if meta["uid"] != uid:
                raise conflict(self._secrets.group_resource, meta["name"], OBJECT_MODIFIED)
            labels = {**(meta.get("labels") or {}), INVALID_SINCE: _date(now)}
            return {**stored, "metadata": {**meta, "labels": dict(sorted(labels.items()))}}

        return labelled


def _date(at: float) -> str:
    return format_time(at)[:10]


def _day(text: str) -> float | None:
    """The beginning of a day, None for what is no date."""
    try:
        day = dt.datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=dt.UTC)
    except ValueError:
        return None
    return day.timestamp() if len(text) == 10 else None
