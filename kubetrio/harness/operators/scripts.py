"""Scripts of what an operator and its users asked, to be replayed without the operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubetrio.harness.connecting import ADMIN
from kubetrio.harness.operators.calls import OPERATOR, Call
from kubetrio.harness.script import Request, Script
from kubetrio.harness.setup import Setup

IDENTITIES = frozenset({"uid", "resourceVersion"})


def script_of(calls: Sequence[Call], setup: Setup, before: Sequence[Request] = ()) -> Script:
    """Return the writes of a run as a script; the operator's are made by impersonation.

    What a fault refused is left out.  ResourceVersions and uids are references to the answers that
    told them; a resourceVersion that no answer told is left out.

    Args:
        calls: of the run.
        setup: how its server was made.
        before: requests made before it.
    """
    steps, references = list(before), dict[str, str]()
    for call in calls:
        if not (call.writes and call.done):
            continue
        steps.append(_request(call, references))
        meta = call.answer.get("metadata") if isinstance(call.answer, dict) else None
        if isinstance(meta, dict):
            for name in IDENTITIES & meta.keys():
                reference = f"{{{{{len(steps)}.metadata.{name}}}}}"
                references.setdefault(f"{name} {meta[name]}", reference)
    return Script(setup=setup, steps=tuple(steps))


def _request(call: Call, references: Mapping[str, str]) -> Request:
    by_operator = call.user != ADMIN.name
    headers = {"Content-Type": call.media} if call.media else {}
    body = _referring(call.sent, references)
    if call.verb == "create" and isinstance(body, dict) and call.place.name:
        body = {**body, "metadata": {**body.get("metadata", {}), "name": call.place.name}}
    return Request(
        method=call.method,
        path=call.path,
        headers=headers,
        body=body,
        user=call.user if by_operator else "",
        groups=OPERATOR.groups if by_operator else (),
    )


def _referring(value: Any, references: Mapping[str, str]) -> Any:
    """A body with references in place of uids and resourceVersions."""
    if isinstance(value, list):
        return [_referring(one, references) for one in value]
    if not isinstance(value, dict):
        return value
    referring = {}
    for name, one in value.items():
        if name == "resourceVersion" and f"{name} {one}" not in references:
            continue
        plain = name in IDENTITIES and isinstance(one, str)
        referring[name] = (
            references.get(f"{name} {one}", one) if plain else _referring(one, references)
        )
    return referring
