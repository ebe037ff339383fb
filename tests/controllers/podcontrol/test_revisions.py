"""What ControllerRevisions hold, and their order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from kubetrio.controllers.podcontrol.claims import Controlling
from kubetrio.controllers.podcontrol.revisions import (
    NewRevision,
    Revisions,
    data_text,
    in_order,
    name_of,
    next_number,
    template_data,
    template_in,
)
from kubetrio.machinery.labels import from_label_selector
from kubetrio.machinery.status import ApiError
from kubetrio.testing.controllers import context_of
from kubetrio.testing.server import open_api
from kubetrio.testing.workloads import LABELS, template, workload

Object = dict[str, Any]


def test_data_is_printed_as_kube_controller_manager_does() -> None:
    """It computed the text, which has letters that Go escapes."""
    known = json.loads((Path(__file__).parent / "template.json").read_text())
    data = template_data(known["template"])
    assert data_text(data).decode() == known["data"]
    assert template_in({"data": data}) == known["template"]


def test_nulls_of_older_releases_are_no_difference() -> None:
    """They had a time that was not set."""
    old = {"$patch": "replace", "metadata": {"creationTimestamp": None, "labels": {"a": "b"}}}
    found = template_in({"data": {"spec": {"template": old}}})
    assert found == {"metadata": {"labels": {"a": "b"}}}


def test_order_and_names() -> None:
    """By number, then by age and name."""

    def revision(number: int, time: str, name: str) -> Object:
        return {"revision": number, "metadata": {"name": name, "creationTimestamp": time}}

    ordered = [revision(1, "2", "z"), revision(2, "0", "b"), revision(2, "1", "a")]
    assert in_order(reversed(ordered)) == ordered
    assert (next_number(ordered), next_number([])) == (3, 1)
    assert name_of("a" * 230, "x") == f"{'a' * 223}-x"


async def test_revisions_are_made_renumbered_adopted_and_deleted() -> None:
    """As an owner's."""
    async with open_api() as server:
        context, client = context_of(server), server.client()
        kind = context.registry.resources["apps", "v1", "controllerrevisions"]
        informer = context.informers.informer_for(kind)
        await informer.sync()
        revisions = Revisions(context, informer, "statefulset-controller")
        obj = await client.create(workload("StatefulSet", serviceName="s"))
        owner = Controlling("apps/v1", "StatefulSet", obj)
        selector = from_label_selector({"matchLabels": LABELS})
        new = NewRevision("w-1", dict(LABELS), {}, template_data(template()), 1)
        made = await revisions.create(owner, new)
        assert made["data"] == new.data
        in_order_of_keys = orjson.dumps(new.data, option=orjson.OPT_SORT_KEYS)
        assert orjson.dumps(made["data"]) == in_order_of_keys != orjson.dumps(new.data)
        with pytest.raises(ApiError, match="already exists"):
            await revisions.create(owner, new)
        assert (await revisions.renumber(made, 5))["revision"] == 5
        labelled = await revisions.label(made, "a", "b")
        assert labelled["metadata"]["labels"] == {**LABELS, "a": "b"}
        orphan = {"metadata": {"ownerReferences": None}}
        await client.patch(client.kind("apps/v1", "ControllerRevision"), "w-1", orphan, "default")
        (adopted,) = await revisions.of(owner, selector)
        assert adopted["metadata"]["ownerReferences"] == [owner.reference()]
        await revisions.delete(adopted)
        await revisions.delete(adopted)
        assert await revisions.of(owner, selector) == []
