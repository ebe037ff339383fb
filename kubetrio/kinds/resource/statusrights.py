"""Who may write which part of a claim's status: schedulers bind, drivers tell of their devices.

The right to ``resourceclaims/status`` alone changes neither.  ``status.allocation`` and
``status.reservedFor`` need ``resourceclaims/binding`` in the whole cluster.  ``status.devices``
needs ``resourceclaims/driver`` with the driver as name, and with a verb that says whether the
driver writes from the node of the claim (``associated-node:``) or from anywhere
(``arbitrary-node:``).

Source: feature DRAResourceClaimGranularStatusAuthorization (KEP-4817);
k8s.io/kubernetes/pkg/registry/resource/utils.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubetrio.auth.authorize import forbidden as refusal
from kubetrio.auth.impersonate import NODE_NAME
from kubetrio.auth.serviceaccounts import USER_PREFIX
from kubetrio.machinery.asking import Client
from kubetrio.machinery.fielderrors import forbidden
from kubetrio.machinery.identity import Decision, UserInfo
from kubetrio.machinery.names_validation import long_name
from kubetrio.machinery.status import Cause
from kubetrio.schema.rules import Json

BINDING, DRIVER = "binding", "driver"
ASSOCIATED, ARBITRARY = "associated-node:", "arbitrary-node:"
_KEY = ("driver", "pool", "device", "shareID")


async def status_rights(
    client: Client, subresource: str, new: Json, old: Json | None
) -> list[Cause]:
    """Check the rights that the change of a claim's status needs; see `RightsCheck`."""
    if subresource != "status" or old is None:
        return []
    after, before = new.get("status") or {}, old.get("status") or {}
    causes = []
    bound = ("allocation", "reservedFor")
    if not all(_same(after.get(member), before.get(member)) for member in bound):
        causes += await _binding(client)
    if after.get("allocation") is not None:
        for driver in sorted(_changed_drivers(after, before)):
            causes += await _device(client, driver, after["allocation"])
    return causes


async def _binding(client: Client) -> list[Cause]:
    why = await _refused(client, subresource=BINDING, namespace="", name="")
    if why is None:
        return []
    verb = client.attributes().verb
    return [
        forbidden(
            "status.allocation",
            "changing status.allocation or status.reservedFor requires "
            f'resource="resourceclaims/binding", verb="{verb}" permission: {why}',
        )
    ]


async def _device(client: Client, driver: str, allocation: Mapping[str, Any]) -> list[Cause]:
    asked = client.attributes()
    prefixes: Sequence[str] = (ARBITRARY,)
    if _on_node(asked.user, _node_of(allocation)):
        prefixes = (ASSOCIATED, ARBITRARY)
    first: str | None = None
    for prefix in prefixes:
        verb = prefix + asked.verb
        why = await _refused(client, verb=verb, subresource=DRIVER, name=driver)
        if why is None:
            return []
        first = first or why
    verbs = " ".join(prefix + asked.verb for prefix in prefixes)
    return [
        forbidden(
            "status.devices",
            'changing status.devices requires resource="resourceclaims/driver", '
            f'verb="[{verbs}]" permission: {first}',
        )
    ]


async def _refused(client: Client, **other: str) -> str | None:
    """Why the client may not; None if it may."""
    asked, verdict = await client.verdict(**other)
    if verdict.decision is Decision.ALLOW:
        return None
    reason = ": ".join(text for text in (verdict.error, verdict.reason) if text)
    return refusal(asked, reason).message


def _changed_drivers(after: Json, before: Json) -> set[str]:
    """The drivers of which something was added, changed or taken away."""
    there = {_key(device): device for device in before.get("devices") or ()}
    changed = set()
    for device in after.get("devices") or ():
        was = there.pop(_key(device), None)
        if was is None or not _same(was, device):
            changed.add(device.get("driver") or "")
    changed.update(device.get("driver") or "" for device in there.values())
    return changed


def _key(device: Json) -> tuple[str, ...]:
    return tuple(device.get(member) or "" for member in _KEY)


def _node_of(allocation: Mapping[str, Any]) -> str:
    """The node of a claim that is for one node, else nothing."""
    terms: Sequence[Json] = (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms") or ()
    if len(terms) != 1 or terms[0].get("matchExpressions"):
        return ""
    fields: Sequence[Json] = terms[0].get("matchFields") or ()
    if len(fields) != 1:
        return ""
    values: Sequence[str] = fields[0].get("values") or ()
    named = (fields[0].get("key"), fields[0].get("operator")) == ("metadata.name", "In")
    return values[0] if named and len(values) == 1 else ""


def _on_node(user: UserInfo, node: str) -> bool:
    """Whether a user is a service account whose token is bound to a pod on this node."""
    if not node or len(user.name.removeprefix(USER_PREFIX).split(":")) != 2:
        return False
    if not user.name.startswith(USER_PREFIX) or user.extra.get(NODE_NAME) != (node,):
        return False
    return not long_name(node)


def _same(one: Any, two: Any) -> bool:
    """Semantic equality all the way down: no list and an empty one are equal."""
    if isinstance(one, dict) and isinstance(two, dict):
        return all(_same(one.get(key), two.get(key)) for key in one.keys() | two.keys())
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(_same, one, two))
    return one == two or (one in (None, []) and two in (None, []))
