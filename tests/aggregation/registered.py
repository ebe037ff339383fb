"""Steps that tests of aggregated API servers have in common."""

from __future__ import annotations

from typing import Any

import trio

from kubetrio.testing.aggregated import NAME, SERVICE, OtherServer, api_service
from kubetrio.testing.client import Client

Object = dict[str, Any]
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"


async def condition(client: Client, name: str = NAME) -> Object:
    """The condition of an APIService, empty when there is none."""
    found = (await client.request("GET", f"{SERVICES}/{name}")).json()
    conditions = (found.get("status") or {}).get("conditions") or [{}]
    shown: Object = conditions[0]
    return shown


async def until(client: Client, reason: str, name: str = NAME) -> Object:
    """The condition as soon as it has a reason."""
    found: Object = {}
    with trio.move_on_after(15):
        while found.get("reason") != reason:
            await trio.sleep(0.02)
            found = await condition(client, name)
    assert found.get("reason") == reason, found
    return found


async def post(client: Client, path: str, body: Object) -> Object:
    """Create an object."""
    answer = await client.request("POST", path, json=body)
    assert answer.status == 201, answer.json()
    made: Object = answer.json()
    return made


async def register(client: Client, other: OtherServer, **spec: Any) -> None:
    """Have another server serve its version, and wait until it is there."""
    await post(client, "/api/v1/namespaces/default/services", SERVICE)
    await post(client, SERVICES, api_service(other.port, other.ca, **spec))
    await until(client, "Passed")
