"""The label of a Secret whose token was used: on that Secret, and on no successor of it."""

from __future__ import annotations

import pytest

from kubetrio.controllers.serviceaccounts.tokensecrets import LAST_USED, last_used_labels
from kubetrio.machinery.status import ApiError
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess

PATH = "/api/v1/namespaces/default/secrets"


async def test_the_day_is_a_label_beside_the_others(server: InProcess, client: Client) -> None:
    """Whoever owns them keeps them."""
    body = {"metadata": {"name": "s", "labels": {"z": "1", "a": "2"}}}
    uid = (await client.request("POST", PATH, json=body)).json()["metadata"]["uid"]
    label = last_used_labels(server.api.writes.operations, server.api.storage.registry)
    await label("default", "s", uid, "2027-01-15")
    await label("default", "s", uid, "2027-01-16")
    labels = (await client.request("GET", f"{PATH}/s")).json()["metadata"]["labels"]
    assert labels == {"a": "2", LAST_USED: "2027-01-16", "z": "1"}


async def test_a_successor_is_not_labelled(server: InProcess, client: Client) -> None:
    """Neither is one that is gone."""
    label = last_used_labels(server.api.writes.operations, server.api.storage.registry)
    with pytest.raises(ApiError) as caught:
        await label("default", "s", "u", "2027-01-15")
    assert caught.value.code == 404
    await client.request("POST", PATH, json={"metadata": {"name": "s"}})
    with pytest.raises(ApiError) as caught:
        await label("default", "s", "another", "2027-01-15")
    assert caught.value.code == 409
    assert "labels" not in (await client.request("GET", f"{PATH}/s")).json()["metadata"]
