"""MutatingAdmissionWebhook: webhooks are asked one after the other, and patch the object.

A change lets the in-tree plugins look at the object once more, and then those webhooks that ask for
it (``reinvocationPolicy: IfNeeded``) where something changed after them.  What a webhook sets is
without an owner.

Source: docs "Dynamic Admission Control" (reinvocation policy, side effects).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson

from kubetrio.admission.attributes import Attributes
from kubetrio.gotext.text import quote
from kubetrio.machinery.jsonvalues import copy_json
from kubetrio.machinery.managedfields import InvalidManagedFields, decode
from kubetrio.machinery.status import internal_error
from kubetrio.plugins.dynamic.objects import put_back, read_back, shown
from kubetrio.plugins.dynamic.patches import FailedPatch, UndecodablePatch, applied, operations_in
from kubetrio.plugins.webhooks.asking import (
    UNAVAILABLE,
    Asker,
    Call,
    CallFailed,
    WebhookEnvironment,
    off_loop,
)
from kubetrio.plugins.webhooks.reviews import JSON_PATCH, Response
from kubetrio.schema.kind import Kind

Object = dict[str, Any]
NAME = "MutatingAdmissionWebhook"
_INVALID_OWNERS = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an "
    "outdated mutating admission controller; please fix your requests: "
)


@dataclass(slots=True)
class _Memory:
    """What is known of the first time when mutating plugins look again.

    Args:
        invoked: what was asked and may be asked again.
        again: what has to be.
        last: the object as this plugin left it.
    """

    invoked: set[str] = field(default_factory=set)
    again: set[str] = field(default_factory=set)
    last: Object | None = None

    def changed(self) -> None:
        """Something changed: whatever was asked before and may be asked again has to be."""
        self.again |= self.invoked
        self.invoked.clear()


class MutatingWebhooks:
    """The webhooks of one server.

    Args:
        environment: the server.
        asker: asks them.
    """

    def __init__(self, environment: WebhookEnvironment, asker: Asker) -> None:
        self._environment = environment
        self._asker = asker

    async def mutate(self, attributes: Attributes) -> None:
        """Let webhooks change the object.

        Raises:
            ApiError: a refusal; 500, a webhook cannot be asked or its patch does not apply.
        """
        memory: _Memory = attributes.memory.setdefault(NAME, _Memory())
        if attributes.repeating and memory.last != attributes.obj:
            memory.changed()
        owners = _owners(attributes)
        asked = False
        for index, hook in enumerate(await self._asker.source.hooks()):
            matched = await self._asker.concerned(hook, attributes)
            if matched is None or (attributes.repeating and hook.uid not in memory.again):
                continue
            asked = True
            call = Call(hook=hook, matched=matched, place=index)
            if await self._ask(call, attributes):
                memory.changed()
                attributes.repeat = True
            if hook.spec.get("reinvocationPolicy") == "IfNeeded":
                memory.invoked.add(hook.uid)
        if asked and not attributes.repeating and (memory.invoked or memory.again):
            memory.last = copy_json(attributes.obj)
        if asked:
            _keep_owners(attributes, owners)

    async def _ask(self, call: Call, attributes: Attributes) -> bool:
        """Ask one webhook; whether it changed the object."""
        hook, matched = call.hook, call.matched
        changed = False
        try:
            try:
                before = await shown(attributes.obj, attributes, matched)
            except ValueError as error:
                raise internal_error(str(error)) from None
            patching = _Patching(self._environment, call, attributes, before)
            await self._asker.ask(call, attributes, before, patching.take)
            changed = patching.changed
            return changed
        finally:
            turn = _turn(attributes, call)
            noted = {"configuration": hook.configuration, "webhook": hook.name, "mutated": changed}
            attributes.annotations[f"mutation.{turn}"] = orjson.dumps(noted).decode()


def _turn(attributes: Attributes, call: Call) -> str:
    """The end of keys in the audit log: which time, and which webhook."""
    turn = 1 if attributes.repeating else 0
    return f"webhook.admission.k8s.io/round_{turn}_index_{call.place}"


@dataclass(slots=True)
class _Patching:
    """What a webhook's patch makes of an object.

    Args:
        environment: the server.
        call: the webhook.
        attributes: the request.
        before: the object as the webhook saw it.
        changed: whether it is another now.
    """

    environment: WebhookEnvironment
    call: Call
    attributes: Attributes
    before: Object | None
    changed: bool = False

    async def take(self, response: Response) -> None:
        """Apply the patch of a response.

        Raises:
            CallFailed: it is none.
            ApiError: 500, it does not apply.
        """
        hook = self.call.hook
        if not response.patch:
            return
        try:
            operations = operations_in(response.patch)
        except UndecodablePatch as error:
            why = f"received undecodable patch in webhook response: {error}"
            raise CallFailed(hook, why, UNAVAILABLE) from None
        if not operations:
            return
        if self.before is None:
            raise internal_error(
                f"admission webhook {quote(hook.name)} attempted to modify the object, which is "
                "not supported for this operation"
            )
        if response.patch_type != JSON_PATCH:
            why = f"unsupported patch type {quote(response.patch_type)}"
            raise CallFailed(hook, why, UNAVAILABLE)
        size = len(response.patch) + len(orjson.dumps(self.before, default=str))
        after, self.changed = await off_loop(
            self.environment,
            size,
            _patched,
            self.before,
            operations,
            self.attributes,
            self.call.matched,
        )
        self._note(operations)
        if self.changed:
            await put_back(after, self.attributes, self.call.matched)

    def _note(self, operations: list[Any]) -> None:
        hook = self.call.hook
        noted = {
            "configuration": hook.configuration,
            "webhook": hook.name,
            "patch": operations,
            "patchType": JSON_PATCH,
        }
        key = f"patch.{_turn(self.attributes, self.call)}"
        self.attributes.body_annotations[key] = orjson.dumps(noted, default=float).decode()


def _patched(
    before: Object, operations: list[Any], attributes: Attributes, matched: Kind
) -> tuple[Object, bool]:
    """The object after a patch, and whether it is another.

    Raises:
        ApiError: 500, the patch does not apply, or what comes of it does not fit.
    """
    try:
        result = applied(before, operations)
    except FailedPatch as error:
        raise internal_error(str(error)) from None
    after = read_back(result, attributes, matched)
    return after, after != read_back(copy_json(before), attributes, matched)


def _owners(attributes: Attributes) -> Any:
    return ((attributes.obj or {}).get("metadata") or {}).get("managedFields")


def _keep_owners(attributes: Attributes, before: Any) -> None:
    """Take back what webhooks did to managed fields, if it is nothing that can be read."""
    after = _owners(attributes)
    if not after or after == before or attributes.obj is None:
        return
    try:
        decode(after)
    except InvalidManagedFields as error:
        attributes.warn([_INVALID_OWNERS + str(error)])
        attributes.obj["metadata"]["managedFields"] = before
