"""Conversion of custom resources by a webhook.

Source: docs "Versions in CustomResourceDefinitions" (webhook conversion);
k8s.io/apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from kubetrio.env import Env
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.kinds.admissionregistration.webhooks.plugins import Reach
from kubetrio.machinery.status import ApiError
from kubetrio.schema.kind import Kind, WaitingConvert
from kubetrio.schema.registry import LiveRegistry
from kubetrio.wire import gojson
from kubetrio.wire.jsonwire import encode

if TYPE_CHECKING:
    from kubetrio.kinds.admissionregistration.webhooks.calling import Caller

Json = dict[str, Any]

GROUP: Final = "apiextensions.k8s.io"
VERSIONS: Final = ("v1", "v1beta1")
TIMEOUT_S: Final = 30.0
SUCCESS: Final = "Success"


class BadAnswer(Exception):
    """An answer cannot be used; the text says why in kube-apiserver's words."""


def converters(
    reach: Reach, informers: SharedInformerFactory, registry: LiveRegistry
) -> Callable[[Json], WaitingConvert | None]:
    """What says of a definition what converts its objects.

    Args:
        reach: how webhooks are reached.
        informers: of the server.
        registry: what is served.
    """
    caller: Caller | None = None

    def calls() -> Caller:
        nonlocal caller
        if caller is None:
            from kubetrio.admission.objectcache import ObjectCache
            from kubetrio.kinds.admissionregistration.webhooks.calling import Caller
            from kubetrio.kinds.common.servicelookup import Services

            resolve = reach.resolve_service
            if resolve is None:
                resolve = Services(ObjectCache(informers.dispatcher), registry, reach.env).resolve
            caller = Caller(reach.outgoing, resolve, reach.env)
        return caller

    def converter(definition: Json) -> WaitingConvert | None:
        conversion = definition["spec"].get("conversion") or {}
        if conversion.get("strategy") != "Webhook":
            return None
        return WebhookConversion(conversion.get("webhook") or {}, calls, reach.env)

    return converter


class WebhookConversion:
    """Has a webhook convert objects; a `WaitingConvert`.

    Args:
        webhook: ``spec.conversion.webhook``.
        calls: gives what calls webhooks.
        env: identities of reviews.
    """

    def __init__(self, webhook: Json, calls: Callable[[], Caller], env: Env) -> None:
        self._webhook = webhook
        self._calls = calls
        self._env = env

    async def __call__(self, objects: Sequence[Json], to: Kind) -> Sequence[Json]:
        """See `WaitingConvert`.

        Raises:
            ApiError: 500, they cannot be converted.
        """
        if not objects:
            return []
        accepted = self._webhook.get("conversionReviewVersions") or ()
        version = next((one for one in accepted if one in VERSIONS), None)
        if version is None:
            raise ApiError(500, "", "no supported conversion review versions")
        from kubetrio.kinds.admissionregistration.webhooks.answers import NoReview

        uid = self._env.new_uid()
        review = {
            "kind": "ConversionReview",
            "apiVersion": f"{GROUP}/{version}",
            "request": {
                "uid": uid,
                "desiredAPIVersion": to.api_version,
                "objects": list(objects),
            },
        }
        try:
            body = await self._ask(encode(review))
            made = converted_in(body, uid, version)
        except (BadAnswer, NoReview) as error:
            raise ApiError(
                500, "", f"conversion webhook for {_shown(objects[0])} failed: {error}"
            ) from None
        for obj in made:
            obj.setdefault("metadata", {})
        return made

    async def _ask(self, review: bytes) -> bytes:
        """What the webhook answers.

        Raises:
            NoReview: no review.
        """
        from kubetrio.kinds.admissionregistration.webhooks.answers import check_status
        from kubetrio.kinds.admissionregistration.webhooks.calling import place_of
        from kubetrio.kinds.admissionregistration.webhooks.credentials import NOBODY

        place = place_of(self._webhook.get("clientConfig") or {}, NOBODY)
        answer = await self._calls().post(place, review, timeout_s=TIMEOUT_S)
        check_status(answer.status, answer.headers.get("content-type", ""), answer.body)
        return answer.body


def _shown(obj: Json) -> str:
    return f"{obj['apiVersion']}, Kind={obj['kind']}"


def converted_in(body: bytes, uid: str, version: str) -> list[Json]:
    """The objects that a review holds.

    Args:
        body: the review as it was answered.
        uid: of the review that was sent.
        version: of that.

    Raises:
        BadAnswer: it holds none.
    """
    try:
        review = gojson.parse(body).value
    except ValueError as error:
        raise BadAnswer(f"couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(review, dict):
        raise BadAnswer("couldn't get version/kind; json parse error: not an object")
    said = (review.get("apiVersion") or f"{GROUP}/{version}", review.get("kind") or "")
    wanted = (f"{GROUP}/{version}", "ConversionReview")
    if version == "v1" and said != wanted:
        raise BadAnswer(f"expected webhook response of {_kind(*wanted)}, got {_kind(*said)}")
    response = review.get("response")
    if not isinstance(response, dict):
        raise BadAnswer("no response provided")
    if version == "v1" and response.get("uid") != uid:
        got = response.get("uid") or ""
        raise BadAnswer(f'expected response.uid="{uid}", got "{got}"')
    result = response.get("result") or {}
    status = result.get("status") or ""
    if status != SUCCESS:
        text = result.get("message")
        raise BadAnswer(text or f"response.result.status was '{status}', not 'Success'")
    made = response.get("convertedObjects") or []
    if not isinstance(made, list) or not all(isinstance(obj, dict) for obj in made):
        raise BadAnswer("invalid converted objects")
    return made


def _kind(version: str, kind: str) -> str:
    return f"{version}, Kind={kind}"
