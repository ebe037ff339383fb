"""ImagePolicyWebhook: a webhook says which images may run.

Source: docs "Admission Control in Kubernetes" (ImagePolicyWebhook).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
import trio

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.chain import Plugin
from kubetrio.admission.configuration import (
    BOOLEAN,
    DURATION,
    TEXT,
    ConfigurationError,
    declared,
    decode_unversioned,
)
from kubetrio.admission.plugin import Base, denied
from kubetrio.env import Env
from kubetrio.gotext.durations import duration_text
from kubetrio.outgoing.client import Answer, CallError, Outgoing
from kubetrio.outgoing.target import Target, TargetError, from_kubeconfig
from kubetrio.schema.wellknown import POD_RESOURCE as PODS

if TYPE_CHECKING:
    from kubetrio.plugins.context import PluginContext

Object = dict[str, Any]
VERSION = "imagepolicy.k8s.io/v1alpha1"
NOTES = "imagepolicywebhook.image-policy.k8s.io/"  # of the audit log
PASSED_ON = ".image-policy.k8s.io/"  # in names of annotations that the webhook is told
FAILED_OPEN = "alpha.image-policy.k8s.io/failed-open"
REMEMBERED = 1024  # answers
LARGE = 16 * 1024  # characters; larger ones are not
UNUSABLE = "the answer of the webhook is no ImageReview"
TIMEOUT_S = 30.0
ATTEMPTS = 5
FACTOR, JITTER = 1.5, 0.2  # of the time between attempts
_SECOND, _MILLISECOND = 1_000_000_000, 1_000_000  # nanoseconds

_SHAPE = declared(
    "imagepolicy.AdmissionConfig",
    imagePolicy=declared(
        "imagepolicy.imagePolicyWebhookConfig",
        kubeConfigFile=TEXT,
        allowTTL=DURATION,
        denyTTL=DURATION,
        retryBackoff=DURATION,
        defaultAllow=BOOLEAN,
    ),
)


class Configuration(NamedTuple):
    """The plugin's configuration.

    Args:
        target: the webhook.
        allow_s: seconds for which an approval is remembered.
        deny_s: the same of a refusal.
        backoff_s: seconds before a failed call is made again.
        default_allow: whether images may run while the webhook fails.
    """

    target: Target
    allow_s: float = 300.0
    deny_s: float = 30.0
    backoff_s: float = 0.5
    default_allow: bool = False


def configured(data: bytes | None) -> Configuration:
    """Read the plugin's configuration, without which it cannot be on.

    Raises:
        ConfigurationError: it is none.
    """
    if data is None:
        raise ConfigurationError("no config specified")
    value = decode_unversioned(data, _SHAPE).get("imagePolicy") or {}
    minutes = 60 * _SECOND
    backoff = _time(value, "retryBackoff", _MILLISECOND, 1, 5 * minutes, _SECOND // 2)
    allow = _time(value, "allowTTL", _SECOND, _SECOND, 30 * minutes, 5 * minutes)
    deny = _time(value, "denyTTL", _SECOND, _SECOND, 30 * minutes, 30 * _SECOND)
    file = value.get("kubeConfigFile") or ""
    if not file:
        raise ConfigurationError(
            "invalid configuration: no configuration has been provided, "
            "try setting KUBERNETES_MASTER environment variable"
        )
    if not Path(file).exists():
        raise ConfigurationError(f"stat {file}: no such file or directory")
    try:
        target = from_kubeconfig(Path(file))
    except TargetError as error:
        raise ConfigurationError(str(error)) from error
    return Configuration(target, allow, deny, backoff, bool(value.get("defaultAllow")))


def _time(value: Object, name: str, scale: int, least: int, most: int, default: int) -> float:
    """Seconds; 0 means the default and -1 none."""
    given = value.get(name) or 0
    if given == -1:
        return 0.0
    nanoseconds = given * scale
    if given and not least <= nanoseconds <= most:
        between = f"{_shown(least)} and {_shown(most)}"
        raise ConfigurationError(f"valid value is between {between}, got {_shown(nanoseconds)}")
    return (nanoseconds if given else default) / _SECOND


def _shown(nanoseconds: int) -> str:
    return duration_text(nanoseconds / _SECOND)


class Review(NamedTuple):
    """What the webhook said.

    Args:
        allowed: whether the images may run.
        reason: why not.
        notes: for the audit log.
    """

    allowed: bool
    reason: str
    notes: dict[str, str]

    @property
    def size(self) -> int:
        """Characters that it takes to remember."""
        return len(self.reason) + sum(len(key) + len(text) for key, text in self.notes.items())


class ReviewError(Exception):
    """The webhook failed; the text says how."""


class ImagePolicyWebhook(Base):
    """The plugin.

    Args:
        outgoing: calls the webhook.
        configuration: which one, and what holds while it fails.
        env: its clock says how old answers are, its randomness spreads attempts.
    """

    name = "ImagePolicyWebhook"
    resources = frozenset({PODS})
    operations = frozenset({Operation.CREATE, Operation.UPDATE})

    def __init__(
        self,
        outgoing: Outgoing,
        configuration: Configuration,
        env: Env,
    ) -> None:
        self._outgoing = outgoing
        self._chosen = configuration
        self._env = env
        self._known: OrderedDict[bytes, tuple[float, Review]] = OrderedDict()

    async def validate(self, attributes: Attributes) -> None:
        """Refuse images that the webhook does.

        Raises:
            ApiError: 403.
        """
        pod = attributes.obj
        if attributes.subresource not in ("", "ephemeralcontainers") or pod is None:
            return
        members: Sequence[str] = ("containers", "initContainers")
        if attributes.subresource:
            members = ("ephemeralContainers",)
        images = [
            {"image": container.get("image") or ""} if container.get("image") else {}
            for member in members
            for container in pod["spec"].get(member) or ()
        ]
        annotations = pod["metadata"].get("annotations") or {}
        passed = {key: annotations[key] for key in sorted(annotations) if PASSED_ON in key}
        spec: Object = {"containers": images} if images else {}
        if passed:
            spec["annotations"] = passed
        if attributes.namespace:
            spec["namespace"] = attributes.namespace
        try:
            review = await self._review(spec)
        except ReviewError as error:
            if not self._chosen.default_allow:
                raise denied(attributes, str(error)) from None
            attributes.annotations[f"{NOTES}failed-open"] = "true"
            # Plugins behind this one see it; what is stored is another copy.
            noted = dict(sorted({**annotations, FAILED_OPEN: "true"}.items()))
            attributes.obj = {**pod, "metadata": {**pod["metadata"], "annotations": noted}}
            return
        for key, text in review.notes.items():
            attributes.annotations[NOTES + key] = text
        if not review.allowed:
            why = "one or more images rejected by webhook backend"
            if review.reason:
                why = f"image policy webhook backend denied one or more images: {review.reason}"
            raise denied(attributes, why)

    async def _review(self, spec: Object) -> Review:
        key = sha256(orjson.dumps(spec)).digest()  # pods with many images have long ones
        known = self._known.get(key)
        if known is not None:
            if known[0] > self._env.now():
                self._known.move_to_end(key)
                return known[1]
            del self._known[key]
        review = await self._ask(spec)
        seconds = self._chosen.allow_s if review.allowed else self._chosen.deny_s
        if seconds and review.size <= LARGE:
            self._known[key] = (self._env.now() + seconds, review)
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return review

    async def _ask(self, spec: Object) -> Review:
        """Call the webhook, again where that may help.

        Raises:
            ReviewError: it gave no answer that can be used.
        """
        body = orjson.dumps(
            {
                "kind": "ImageReview",
                "apiVersion": VERSION,
                "metadata": {},
                "spec": spec,
                "status": {"allowed": False},
            }
        )
        pause, problem = self._chosen.backoff_s, ""
        for attempt in range(ATTEMPTS):
            if attempt:
                await trio.sleep(pause * (1 + JITTER * self._env.rng.random()))
                pause *= FACTOR
            try:
                answer = await self._outgoing.call(
                    self._chosen.target,
                    body=body,
                    headers=[("Content-Type", "application/json"), ("Accept", "application/json")],
                    timeout_s=TIMEOUT_S,
                )
            except CallError as error:
                problem = str(error)
                if "reset by peer" not in problem:
                    break
                continue
            if 200 <= answer.status < 300:
                return _review_of(answer)
            problem = _refusal(answer)
            if answer.status not in (429, 500, 504) and "retry-after" not in answer.headers:
                break
        raise ReviewError(problem)


def _refusal(answer: Answer) -> str:
    """What an answer that is none says."""
    try:
        status = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status":
        return str(status.get("message") or "unknown")
    text = answer.body.decode("utf-8", "replace")[:2048].strip() or "unknown"
    return _WORDS.get(answer.status) or (
        f'an error on the server ("{text}") has prevented the request from succeeding'
        if answer.status >= 500
        else f"the server responded with the status code {answer.status} but did not return more "
        "information"
    )


_WORDS = {
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    429: "the server has received too many requests and has asked us to try again later",
}


def _review_of(answer: Answer) -> Review:
    """What an answer says.

    Raises:
        ReviewError: nothing that can be used.
    """
    try:
        value = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        raise ReviewError("couldn't get version/kind; json parse error") from None
    if not isinstance(value, dict):
        raise ReviewError("couldn't get version/kind; json parse error")
    type_named = (value.get("apiVersion", VERSION), value.get("kind", "ImageReview"))
    if type_named != (VERSION, "ImageReview"):
        raise ReviewError(f'no kind "{type_named[1]}" is registered for version "{type_named[0]}"')
    status = {} if value.get("status") is None else value["status"]
    if not isinstance(status, dict):
        raise ReviewError(UNUSABLE)
    allowed: Any = status.get("allowed") or False
    reason: Any = status.get("reason") or ""
    notes: Any = status.get("auditAnnotations") or {}
    if (
        not isinstance(allowed, bool)
        or not isinstance(reason, str)
        or not isinstance(notes, dict)
        or not all(isinstance(one, str) for one in notes.values())
    ):
        raise ReviewError(UNUSABLE)
    return Review(allowed, reason, notes)


def image_policy(context: PluginContext) -> Plugin:
    """Make the plugin ImagePolicyWebhook."""
    configuration = context.configurations["ImagePolicyWebhook"]
    server = context.server
    return ImagePolicyWebhook(server.outgoing, configuration, server.env)
