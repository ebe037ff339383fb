"""Conversion of custom resources by a webhook.

Source: docs "Versions in CustomResourceDefinitions" (webhook conversion);
k8s.io/apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from kubetrio.env import Env
from kubetrio.gotext.text import quote
from kubetrio.machinery.jsonvalues import is_deeper
from kubetrio.machinery.status import ApiError
from kubetrio.plugins.webhooks.plugins import WebhookClientConfig
from kubetrio.schema.kind import Kind, WaitingConvert
from kubetrio.schema.structural import MAX_DEPTH
from kubetrio.structural import structure
from kubetrio.wire.jsonwire import encode

if TYPE_CHECKING:
    from kubetrio.plugins.webhooks.answers import ReviewType
    from kubetrio.plugins.webhooks.calling import Caller

Json = dict[str, Any]

GROUP: Final = "apiextensions.k8s.io"
KIND: Final = "ConversionReview"
VERSIONS: Final = ("v1", "v1beta1")
TIMEOUT_S: Final = 30.0
SUCCESS: Final = "Success"


class BadAnswer(Exception):
    """An answer cannot be used; the text says why in kube-apiserver's words."""


def converters(client_config: WebhookClientConfig) -> Callable[[Json], WaitingConvert | None]:
    """What says of a definition what converts its objects.

    Args:
        client_config: how webhooks are reached.
    """
    caller: Caller | None = None

    def calls() -> Caller:
        nonlocal caller
        if caller is None:
            from kubetrio.plugins.webhooks.calling import Caller

            caller = Caller(
                client_config.outgoing, client_config.resolve_service, client_config.env
            )
        return caller

    def converter(definition: Json) -> WaitingConvert | None:
        conversion = definition["spec"].get("conversion") or {}
        if conversion.get("strategy") != "Webhook":
            return None
        return WebhookConversion(conversion.get("webhook") or {}, calls, client_config.env)

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
        from kubetrio.plugins.webhooks.answers import NoReview

        uid = self._env.new_uid()
        review = {
            "kind": KIND,
            "apiVersion": f"{GROUP}/{version}",
            "request": {
                "uid": uid,
                "desiredAPIVersion": to.api_version,
                "objects": [_unversioned(obj) for obj in objects],
            },
        }
        try:
            answer = await self._ask(encode(review), version)
            converted = converted_in(answer, uid, version)
            for obj in converted:
                if type(obj) is dict:
                    structure.as_go_numbers(obj)
        except (BadAnswer, NoReview, ValueError) as error:
            raise ApiError(
                500, "", f"conversion webhook for {_shown(objects[0])} failed: {error}"
            ) from None
        return converted

    async def _ask(self, review: bytes, version: str) -> Json:
        """What the webhook answers.

        Raises:
            NoReview: no review.
        """
        from kubetrio.plugins.webhooks.calling import place_of
        from kubetrio.plugins.webhooks.credentials import NO_CREDENTIALS

        place = place_of(self._webhook.get("clientConfig") or {}, NO_CREDENTIALS)
        return await self._calls().ask(
            place, review, version, timeout_s=TIMEOUT_S, kind=_review_type()
        )


@cache
def _review_type() -> ReviewType:
    from kubetrio.plugins.webhooks.answers import ReviewType, result, text, unfit

    def objects(value: Any, place: str) -> Any:
        if not isinstance(value, list):
            raise unfit(value, place, "[]runtime.RawExtension")
        return value

    return ReviewType(
        group=GROUP,
        kind=KIND,
        response="ConversionResponse",
        members={"uid": text("types.UID"), "convertedObjects": objects, "result": result},
    )


def _unversioned(obj: Json) -> Json:
    """An object as it is converted: its resourceVersion is not a part of what is stored."""
    meta = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    return {**obj, "metadata": meta}


def _shown(obj: Json) -> str:
    return f"{obj['apiVersion']}, Kind={obj['kind']}"


def converted_in(review: Json, uid: str, version: str) -> list[Any]:
    """The objects that a review holds.

    Args:
        review: what came back, its types checked.
        uid: of the review that was sent.
        version: of that.

    Raises:
        BadAnswer: it holds none.
    """
    kind_answered = f"{review.get('apiVersion') or '/'}, Kind={review.get('kind') or ''}"
    kind_expected = f"{GROUP}/{version}, Kind={KIND}"
    if version == "v1" and kind_answered != kind_expected:
        raise BadAnswer(f"expected webhook response of {kind_expected}, got {kind_answered}")
    response = review.get("response")
    if response is None:
        raise BadAnswer("no response provided")
    if version == "v1" and (got := response.get("uid") or "") != uid:
        raise BadAnswer(f"expected response.uid={quote(uid)}, got {quote(got)}")
    result = response.get("result") or {}
    status = result.get("status") or ""
    if status != SUCCESS:
        text = result.get("message")
        raise BadAnswer(text or f"response.result.status was '{status}', not 'Success'")
    objects: list[Any] = response.get("convertedObjects") or []
    for at, obj in enumerate(objects):
        if is_deeper(obj, MAX_DEPTH):
            raise BadAnswer(f"response.convertedObjects[{at}] exceeded max depth")
    return objects
