"""Whether a webhook is asked about a request, the call, and what is noted of it.

Source: docs "Dynamic Admission Control"; the texts, codes and metrics are kube-apiserver's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import trio

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.measures import ADMIT, VALIDATING, Measures
from kubetrio.gotext.text import quote
from kubetrio.machinery.asking import Authorize
from kubetrio.machinery.names_validation import qualified_name
from kubetrio.machinery.status import ApiError, bad_request, forbidden, internal_error
from kubetrio.observe.logs import Log
from kubetrio.plugins.dynamic.objects import shown
from kubetrio.plugins.webhooks.answers import NoReview
from kubetrio.plugins.webhooks.calling import LARGE_BYTES, Caller, place_of
from kubetrio.plugins.webhooks.credentials import Credentials
from kubetrio.plugins.webhooks.hooks import Hook, HookSource
from kubetrio.plugins.webhooks.reviews import (
    InvalidAnswer,
    Response,
    review_of,
    verified,
    version_for,
)
from kubetrio.schema.kind import Kind
from kubetrio.wire import jsonwire

Object = dict[str, Any]

log = Log("kubetrio.admission")
BAD_REQUEST, INTERNAL, UNAVAILABLE = 400, 500, 503
LEAST_REFUSAL, MOST_CODE = 400, 999
_WITHOUT_EFFECTS = ("None", "NoneOnDryRun")


class CallFailed(Exception):
    """A webhook could not be asked; what follows is up to its ``failurePolicy``.

    Args:
        hook: the webhook.
        why: in kube-apiserver's words.
        code: HTTP status that stands for it in metrics.
    """

    def __init__(self, hook: Hook, why: str, code: int) -> None:
        super().__init__(f"failed calling webhook {quote(hook.name)}: {why}")
        self.code = code


class WebhookDenial(Exception):
    """A webhook does not allow a request.

    Args:
        error: what the client is told.
    """

    def __init__(self, error: ApiError) -> None:
        super().__init__(error.message)
        self.error = error


def refusal(hook: Hook, status: Object | None) -> ApiError:
    """What a client is told that a webhook refuses.

    Args:
        hook: the webhook.
        status: what it says of that, if it does.
    """
    answer = dict(status or {})
    code = int(answer.get("code") or 0)
    text = f"admission webhook {quote(hook.name)} denied the request"
    why = answer.get("message") or answer.get("reason")
    answer["message"] = f"{text}: {why}" if why else f"{text} without explanation"
    answer["code"] = min(max(code, LEAST_REFUSAL), MOST_CODE)
    return ApiError.of({name: value for name, value in answer.items() if value})


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookEnvironment:
    """What webhooks need of the server.

    Args:
        caller: calls them.
        measures: counts calls.
        authorize: the server's authorizers, for match conditions.
    """

    caller: Caller
    measures: Measures
    authorize: Authorize


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One webhook that is asked about a request.

    Args:
        hook: the webhook.
        matched: the resource as which it means the request.
        place: of it among the webhooks, for notes in the audit log.
    """

    hook: Hook
    matched: Kind
    place: int


class Asker:
    """Asks the webhooks of one kind.

    Args:
        environment: the server.
        source: the webhooks.
        credentials: who the server is to them.
        mutating: whether they may change objects.
    """

    def __init__(
        self,
        environment: WebhookEnvironment,
        source: HookSource,
        credentials: Credentials,
        *,
        mutating: bool,
    ) -> None:
        self.source = source
        self._environment = environment
        self._credentials = credentials
        self._mutating = mutating
        self._kind = ADMIT if mutating else VALIDATING
        self._prefix = f"failed-open.{'mutation' if mutating else 'validating'}."

    async def concerned(self, hook: Hook, attributes: Attributes) -> Kind | None:
        """The resource as which a webhook is asked about a request, None when it is not.

        Raises:
            ApiError: 403, its match conditions cannot be evaluated; 404, the namespace is gone;
                500, an object cannot be converted, or conditions need an engine.
        """
        matched = await self.source.match(hook, attributes)
        if matched is None or not hook.has_conditions:
            return matched
        return matched if await self._conditions_hold(hook, attributes, matched) else None

    async def _conditions_hold(self, hook: Hook, attributes: Attributes, matched: Kind) -> bool:
        from kubetrio.cel.engine import NOT_INSTALLED, available
        from kubetrio.plugins.dynamic.answers import answers_of
        from kubetrio.plugins.dynamic.inputs import inputs_of

        if not available():
            raise internal_error(f"webhook {hook.uid}: {NOT_INSTALLED}")
        measures, operation = self._environment.measures, attributes.operation
        begun = trio.current_time()
        thread = self._environment.caller.env.run_bodies
        answers = answers_of(attributes.memory, self._environment.authorize, thread)
        try:
            inputs = await inputs_of(
                attributes,
                matched,
                namespace=None,
                params=None,
                answers=answers,
            )
        except ValueError as error:
            raise internal_error(str(error)) from None
        verdict = await answers.decided(partial(hook.conditions().match, inputs))
        labels = (hook.name, "webhook", self._kind, operation.value)
        measures.conditions[labels].observe(trio.current_time() - begun)
        if verdict.error:
            measures.condition_failed(hook.name, self._kind, operation, 1)
            raise forbidden(attributes.resource.group_resource, attributes.name, verdict.error)
        if not verdict.matches:
            measures.excluded(hook.name, self._kind, operation)
        return verdict.matches

    async def ask(
        self,
        call: Call,
        attributes: Attributes,
        obj: Object | None,
        take: Callable[[Response], Awaitable[None]] | None = None,
    ) -> None:
        """Ask a webhook, count that, and take its notes.

        Args:
            call: the webhook.
            attributes: the request.
            obj: the object as the webhook sees it.
            take: takes what it answers, if it allows the request.

        Raises:
            ApiError: it refuses, or could not be asked.
        """
        hook, operation, measures = call.hook, attributes.operation, self._environment.measures
        begun = trio.current_time()
        rejected, code = True, 0
        try:
            response = await self._asked(call, attributes, obj)
            if take is not None:
                await take(response)
            rejected, code = False, 200
        except CallFailed as error:
            code, rejected = error.code, not hook.ignored
            if not rejected:
                log.warning(
                    "Failed calling webhook, failing open", webhook=hook.name, err=str(error)
                )
                measures.failed_open(hook.name, self._kind)
                self._note_open(call, attributes)
                return
            log.warning("Failed calling webhook, failing closed", webhook=hook.name, err=str(error))
            self._count(hook, operation, "calling_webhook_error", code)
            raise internal_error(str(error)) from None
        except WebhookDenial as error:
            code = error.error.code
            self._count(hook, operation, "no_error", code)
            raise error.error from None
        except ApiError:
            self._count(hook, operation, "apiserver_internal_error", 0)
            raise
        except trio.Cancelled:
            code = UNAVAILABLE
            raise
        finally:
            measures.called(
                hook.name,
                self._kind,
                operation,
                code=code,
                rejected=rejected,
                took_s=trio.current_time() - begun,
            )

    def _count(self, hook: Hook, operation: Operation, why: str, code: int) -> None:
        self._environment.measures.rejected(hook.name, self._kind, operation, why=why, code=code)

    def _note_open(self, call: Call, attributes: Attributes) -> None:
        turn = 1 if attributes.repeating and self._mutating else 0
        key = f"{self._prefix}webhook.admission.k8s.io/round_{turn}_index_{call.place}"
        attributes.annotations[key] = call.hook.name

    async def _asked(self, call: Call, attributes: Attributes, obj: Object | None) -> Response:
        hook = call.hook
        self._check_dry_run(hook, attributes)
        try:
            version = version_for(hook.spec.get("admissionReviewVersions"))
        except ValueError as error:
            why = f"could not create admission objects: {error}"
            raise CallFailed(hook, why, BAD_REQUEST) from None
        try:
            old = await shown(attributes.old, attributes, call.matched)
        except ValueError as error:
            raise internal_error(str(error)) from None
        uid = self._environment.caller.env.new_uid()
        review = review_of(version, uid, attributes, call.matched, obj=obj, old=old)
        try:
            place = place_of(hook.spec.get("clientConfig") or {}, self._credentials)
        except NoReview as error:
            raise CallFailed(hook, f"could not get REST client: {error}", error.code) from None
        try:
            answer = await self._environment.caller.ask(
                place, jsonwire.encode(review), version, timeout_s=hook.timeout_s
            )
        except NoReview as error:
            raise CallFailed(hook, f"failed to call webhook: {error}", error.code) from None
        try:
            response = verified(version, uid, answer, mutating=self._mutating)
        except InvalidAnswer as error:
            why = f"received invalid webhook response: {error}"
            raise CallFailed(hook, why, UNAVAILABLE) from None
        self._take_notes(hook, response, attributes)
        if not response.allowed:
            raise WebhookDenial(refusal(hook, response.status))
        return response

    @staticmethod
    def _check_dry_run(hook: Hook, attributes: Attributes) -> None:
        if not attributes.dry_run:
            return
        effects = hook.spec.get("sideEffects")
        if effects is None:
            raise CallFailed(hook, "Webhook SideEffects is nil", BAD_REQUEST)
        if effects not in _WITHOUT_EFFECTS:
            raise bad_request(f"admission webhook {quote(hook.name)} does not support dry run")

    @staticmethod
    def _take_notes(hook: Hook, response: Response, attributes: Attributes) -> None:
        for name, value in response.annotations.items():
            key = f"{hook.name}/{name}"
            if key.count("/") == 1 and not qualified_name(key):
                attributes.annotations[key] = value
            else:
                log.warning("audit annotation has no valid key", webhook=hook.name, key=key)
        if response.warnings:
            attributes.warn(response.warnings)


async def off_loop(environment: WebhookEnvironment, size: int, fn: Any, *args: Any) -> Any:
    """Call a function that works over an object, beside the event loop if that is large."""
    if size < LARGE_BYTES:
        return fn(*args)
    return await environment.caller.env.run_foreign(fn, *args)


class ValidatingWebhooks:
    """The webhooks of one server.

    Args:
        asker: asks them.
    """

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def validate(self, attributes: Attributes) -> None:
        """Refuse what a webhook refuses; of several, what the first says that answers.

        Raises:
            ApiError: the refusal; 500, a webhook cannot be asked.
        """
        calls: list[Call] = []
        for hook in await self._asker.source.hooks():
            matched = await self._asker.concerned(hook, attributes)
            if matched is not None:
                calls.append(Call(hook=hook, matched=matched, place=len(calls)))
        refusals: list[ApiError] = []
        if len(calls) == 1:
            await self._ask(calls[0], attributes, refusals)
        elif calls:
            async with trio.open_nursery() as nursery:
                for call in calls:
                    nursery.start_soon(self._ask, call, attributes, refusals)
        if refusals:
            raise refusals[0]

    async def _ask(self, call: Call, attributes: Attributes, refusals: list[ApiError]) -> None:
        try:
            obj = await shown(attributes.obj, attributes, call.matched)
            await self._asker.ask(call, attributes, obj)
        except ValueError as error:
            refusals.append(internal_error(str(error)))
        except ApiError as error:
            refusals.append(error)
