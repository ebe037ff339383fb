"""Controllers of certificate signing requests: approve those of kubelets, sign, clean up.

They keep nothing of the requests that they do not have to do with.

Source: docs "Certificates and Certificate Signing Requests"; "TLS bootstrapping" (approval of
kubelets' client certificates); k8s.io/kubernetes/pkg/controller/certificates.
"""

from __future__ import annotations

import base64
import datetime as dt
from abc import abstractmethod
from typing import Any, NamedTuple

import orjson

from kubetrio.controllers.certificates.issuing import ends, issue, life
from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.identity import as_service_account
from kubetrio.informers.reconciler import Later
from kubetrio.informers.workqueue import RateLimiter, WorkQueue
from kubetrio.kinds.certificates.requests import (
    KUBELET_CLIENT,
    SIGNERS,
    Wanted,
    conditions_of,
    has,
    is_issued,
    is_true,
    kubelet_client,
    read_request,
    with_condition,
)
from kubetrio.machinery.asking import allowed
from kubetrio.machinery.identity import Attributes, UserInfo
from kubetrio.machinery.timestamps import format_time, parse_time
from kubetrio.observe.logs import Log
from kubetrio.resources.ifunchanged import delete_if_unchanged, if_unchanged
from kubetrio.resources.writes import Target
from kubetrio.store.model import Event, EventType

Object = dict[str, Any]
log = Log("kubetrio.controllers")

GROUP = "certificates.k8s.io"
ACCOUNT = "certificate-controller"
FIRST_DELAY_S = 0.2  # after a failure
HOUR_S = 3600.0
APPROVED_S, DENIED_S, PENDING_S = HOUR_S, HOUR_S, 24 * HOUR_S


class _Requests(Controller):
    """Looks at certificate signing requests; keys are their names.

    Args:
        context: what it is made of.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._kind = context.registry.resources[GROUP, "v1", "certificatesigningrequests"]
        self._who = as_service_account(ACCOUNT)
        self.follow_events(self._kind.storage_prefix, self._changed)
        self.queue = WorkQueue(self.name, RateLimiter(base_s=FIRST_DELAY_S))

    def _changed(self, event: Event) -> None:
        if event.type is not EventType.DELETED and self.concerns(event.value):
            self.queue.add(event.key.removeprefix(self._kind.storage_prefix))

    @abstractmethod
    def concerns(self, value: bytes) -> bool:
        """Whether a request, as it is stored, may need something."""

    async def sync(self, key: str) -> None:
        """Do what a request needs.

        Raises:
            ApiError: it cannot be written.
            StoreError: it cannot be read.
            Later: it does not get what it needs yet.
        """
        stored = await self._store.get(self._kind.key("", key))
        if stored is not None:
            await self.handle(orjson.loads(stored.value))

    @abstractmethod
    async def handle(self, request: Object) -> None:
        """Do what a stored request needs; see `sync`."""

    async def _write(self, request: Object, subresource: str, status: Object) -> None:
        """Write the status of a request, if it is still the one that was looked at."""
        target = Target(self._kind, "", request["metadata"]["name"], subresource)

        def changed(stored: Object) -> Object:
            return {**stored, "metadata": dict(stored["metadata"]), "status": status}

        await self._operations.patch(target, if_unchanged(target, request, changed), self._who)

    async def _read(self, request: Object) -> Wanted:
        return await self._env.run_blocking(read_request, request["spec"].get("request") or "")


# ---------------------------------------------------------------------- approving


class _Recognizer(NamedTuple):
    """Requests that are approved when who made them may do something.

    Args:
        subresource: that they may create.
        own: whether the certificate is for who made the request.
        message: of the condition.
    """

    subresource: str
    own: bool
    message: str


RECOGNIZERS = (
    _Recognizer(
        "selfnodeclient",
        True,
        "Auto approving self kubelet client certificate after SubjectAccessReview.",
    ),
    _Recognizer(
        "nodeclient",
        False,
        "Auto approving kubelet client certificate after SubjectAccessReview.",
    ),
)


class CSRApprover(_Requests):
    """Approves requests for client certificates of kubelets.

    Args:
        context: what it is made of.
    """

    name = "certificatesigningrequest-approving-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._authorize = context.trust.authorize

    def concerns(self, value: bytes) -> bool:
        """Whether it is for the signer of these certificates."""
        return f'"{KUBELET_CLIENT}"'.encode() in value

    async def handle(self, request: Object) -> None:
        """Approve a request, if it is one of a kubelet that may."""
        spec = request["spec"]
        decided = has(request, "Approved") or has(request, "Denied")
        if spec.get("signerName") != KUBELET_CLIENT or is_issued(request) or decided:
            return
        try:
            csr = await self._read(request)
            kubelet_client(csr, spec.get("usages") or ())
        except ValueError:
            return  # another controller decides
        tried: list[str] = []
        for one in RECOGNIZERS:
            if one.own and spec.get("username", "") != csr.common_name:
                continue
            tried.append(one.subresource)
            if await self._may(spec, one.subresource):
                condition = {
                    "type": "Approved",
                    "status": "True",
                    "reason": "AutoApproved",
                    "message": one.message,
                }
                approved = with_condition(request, condition)
                await self._write(request, "approval", approved["status"])
                return
        raise Later(
            f'recognized csr "{request["metadata"]["name"]}" as [{" ".join(tried)}] but subject '
            "access review was not approved"
        )

    async def _may(self, spec: Object, subresource: str) -> bool:
        user = UserInfo(
            spec.get("username", ""),
            spec.get("uid", ""),
            tuple(spec.get("groups") or ()),
            {key: tuple(values) for key, values in (spec.get("extra") or {}).items()},
        )
        return await allowed(
            self._authorize,
            Attributes(
                user=user,
                verb="create",
                api_group=GROUP,
                api_version="*",
                resource="certificatesigningrequests",
                subresource=subresource,
            ),
        )


# ---------------------------------------------------------------------- signing


class CSRSigner(_Requests):
    """Signs what is approved, for the signers of kubernetes.io.

    Args:
        context: what it is made of.
    """

    name = "certificatesigningrequest-signing-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._pair = context.trust.signing
        self._longest = dt.timedelta(seconds=context.config.certificates.signing_duration_s)
        if self._pair is None:
            log.info("certificate requests are not signed: no authority was named for that")

    def concerns(self, value: bytes) -> bool:
        """Whether it is approved."""
        return self._pair is not None and b'"Approved"' in value

    async def handle(self, request: Object) -> None:
        """Give a request its certificate, or say why it gets none."""
        spec = request["spec"]
        check = SIGNERS.get(spec.get("signerName", ""))
        if check is None or is_issued(request) or self._pair is None:
            return
        if not has(request, "Approved") or has(request, "Denied") or is_true(request, "Failed"):
            return
        usages = spec.get("usages") or ()
        try:
            csr = await self._read(request)
            check(csr, usages)
        except ValueError as error:
            condition = {
                "type": "Failed",
                "status": "True",
                "reason": "SignerValidationFailure",
                "message": str(error),
                "lastUpdateTime": format_time(self._env.now()),
            }
            await self._write(request, "status", with_condition(request, condition)["status"])
            return
        lives = life(spec.get("expirationSeconds"), self._longest)
        now, serial = self._env.utcnow(), self._env.rng.getrandbits(128)
        try:
            cert = await self._env.run_blocking(issue, csr, usages, lives, self._pair, now, serial)
        except (OSError, ValueError) as error:
            log.warning("error auto signing csr", csr=request["metadata"]["name"], error=str(error))
            raise Later(str(error)) from error
        certificate = base64.b64encode(cert).decode()
        status = {**(request.get("status") or {}), "certificate": certificate}
        await self._write(request, "status", status)


# ---------------------------------------------------------------------- cleaning up


class CSRCleaner(_Requests):
    """Deletes requests that are done with, or that were not decided for long.

    kube-controller-manager looks at all of them each hour; this looks at each when it is due.
    """

    name = "certificatesigningrequest-cleaner-controller"

    def concerns(self, value: bytes) -> bool:  # noqa: ARG002  (whatever it says)
        """Every request ends some day."""
        return True

    async def handle(self, request: Object) -> None:
        """Delete a request that is due, or come back when it is."""
        meta = request["metadata"]
        due = due_at(request)
        if is_issued(request) and has(request, "Approved"):
            pem = base64.b64decode(request["status"]["certificate"])
            end = await self._env.run_blocking(ends, pem)
            if end is not None:
                due.append(end.timestamp())
        if not due:
            return
        left_s = min(due) - self._env.now()
        if left_s >= 0:
            self.look_again_in(meta["name"], left_s + 1)  # stored times are whole seconds
            return
        target = Target(self._kind, "", meta["name"])
        await delete_if_unchanged(self._operations, target, request, self._who)


def due_at(request: Object) -> list[float]:
    """When a request may go, by its conditions; seconds since the epoch."""
    created = parse_time(request["metadata"]["creationTimestamp"])
    conditions = conditions_of(request)
    if not conditions:
        return [created + PENDING_S]
    lives = {
        "Approved": APPROVED_S if is_issued(request) else PENDING_S,
        "Denied": DENIED_S,
        "Failed": DENIED_S,
    }
    return [
        parse_time(item["lastUpdateTime"]) + lives[item["type"]]
        for item in conditions
        if item.get("type") in lives and item.get("lastUpdateTime")
    ]
