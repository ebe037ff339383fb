"""Server-side apply over HTTP."""

from __future__ import annotations

from kubetrio.testing.client import Answer, Client
from kubetrio.testing.server import InProcess

ONE = "/api/v1/namespaces/default/configmaps/one"


async def apply(client: Client, body: str, query: str = "fieldManager=me") -> Answer:
    media = {"Content-Type": "application/apply-patch+yaml"}
    return await client.request("PATCH", f"{ONE}?{query}", media, body.encode())


CONFIG = "apiVersion: v1\nkind: ConfigMap\ndata: {a: '1'}\n"


async def test_apply_creates(client: Client) -> None:
    """201 with the name and namespace of the path, and the manager as the owner."""
    answer = await apply(client, CONFIG)
    assert answer.status == 201
    meta = answer.json()["metadata"]
    assert (meta["name"], meta["namespace"]) == ("one", "default")
    (entry,) = meta["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("me", "Apply")
    assert entry["fieldsV1"] == {"f:data": {"f:a": {}}}


async def test_applying_again_writes_nothing(server: InProcess, client: Client) -> None:
    """The same object comes back."""
    made = await apply(client, CONFIG)
    revision = server.api.store.revision
    again = await apply(client, CONFIG)
    assert (again.status, again.json()) == (200, made.json())
    assert server.api.store.revision == revision


async def test_what_is_no_longer_applied_goes(client: Client) -> None:
    """As nobody else wants it."""
    await apply(client, CONFIG)
    answer = await apply(client, CONFIG.replace("{a", "{b"))
    assert answer.json()["data"] == {"b": "1"}


async def test_a_field_of_somebody_else_is_a_conflict(client: Client) -> None:
    """409 names the owner; force takes it over."""
    await apply(client, CONFIG)
    other = CONFIG.replace("'1'", "'2'")
    refused = await apply(client, other, "fieldManager=you")
    assert refused.status == 409
    assert 'conflict with "me"' in refused.json()["message"]
    forced = await apply(client, other, "fieldManager=you&force=true")
    assert forced.json()["data"] == {"a": "2"}
    managers = [entry["manager"] for entry in forced.json()["metadata"]["managedFields"]]
    assert managers == ["you"]


async def test_apply_needs_a_manager(client: Client) -> None:
    """422."""
    assert (await apply(client, CONFIG, "force=true")).status == 422


async def test_a_configuration_that_is_none(client: Client) -> None:
    """400 for what is not YAML, or not an object."""
    for body in ("{", "[]", "a: [", "text"):
        assert (await apply(client, body)).status == 400, body


async def test_repeated_keys(client: Client) -> None:
    """Refused when that is asked for; else the last one counts, and no header is broken."""
    twice = CONFIG + "data: {a: '2'}\n"
    strict = await apply(client, twice, "fieldManager=me&fieldValidation=Strict")
    assert strict.status == 400
    answer = await apply(client, twice)
    assert answer.json()["data"] == {"a": "2"}
    # The message has two lines, so it is no warning, as in kube-apiserver.
    assert answer.head.get(b"warning") == b""
