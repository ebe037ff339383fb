"""Flow control's configuration: what is kept, what is left alone, what takes effect."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from kubetrio.api.flowcontrol import PriorityAndFairness
from kubetrio.bootstrap.flowconfig import (
    AUTO_UPDATE,
    MAINTENANCE_PERIOD_S,
    FlowConfig,
    desired,
    obsolete,
)
from kubetrio.machinery.identity import UserInfo
from kubetrio.store.sqlite.revisions import SqliteStore
from kubetrio.testing.server import InProcess, open_api

BASE = "/apis/flowcontrol.apiserver.k8s.io/v1"
SCHEMAS, LEVELS = f"{BASE}/flowschemas", f"{BASE}/prioritylevelconfigurations"
ALICE = UserInfo("alice", groups=("system:authenticated",))
Object = dict[str, Any]


def thing(spec: str, annotation: str | None, generation: int = 2) -> Object:
    annotations = {} if annotation is None else {"annotations": {AUTO_UPDATE: annotation}}
    return {"metadata": {"name": "x", "generation": generation, **annotations}, "spec": spec}


WANTED = {"metadata": {"name": "x", "annotations": {AUTO_UPDATE: "true"}}, "spec": "ours"}


@pytest.mark.parametrize(
    ("stored", "spec", "annotation"),
    [
        (thing("theirs", "true"), "ours", "true"),
        (thing("theirs", "false"), "theirs", "false"),
        (thing("theirs", "1"), "ours", "1"),
        (thing("theirs", "0"), "theirs", "0"),
        (thing("theirs", None), "theirs", "false"),
        (thing("ours", None, generation=1), "ours", "true"),
        (thing("theirs", "perhaps"), "theirs", "false"),
    ],
)
def test_suggested(stored: Object, spec: str, annotation: str) -> None:
    """The annotation says whose the spec is; where it does not, the generation decides."""
    new = desired(stored, WANTED, mandatory=False) or stored
    assert (new["spec"], new["metadata"]["annotations"][AUTO_UPDATE]) == (spec, annotation)


@pytest.mark.parametrize("annotation", ["true", "false", None, "perhaps"])
def test_mandatory(annotation: str | None) -> None:
    """A mandatory object is ours whatever it says."""
    new = desired(thing("theirs", annotation), WANTED, mandatory=True)
    assert new is not None
    assert (new["spec"], new["metadata"]["annotations"][AUTO_UPDATE]) == ("ours", "true")


@pytest.mark.parametrize("annotation", ["1", "t", "T", "TRUE", "True"])
@pytest.mark.parametrize("mandatory", [True, False])
def test_a_users_spelling_stays(annotation: str, mandatory: bool) -> None:
    """Any text that reads as the right boolean is right."""
    assert desired(thing("ours", annotation), WANTED, mandatory=mandatory) is None


SHIPPED_EXEMPT = {"nominalConcurrencyShares": 0, "lendablePercent": 0}
CHOSEN_EXEMPT = {"nominalConcurrencyShares": 7, "lendablePercent": 50}


@pytest.mark.parametrize(
    ("stored", "kept"),
    [
        ({"type": "Exempt", "exempt": CHOSEN_EXEMPT}, True),
        ({"type": "Limited", "exempt": CHOSEN_EXEMPT}, False),
        ({"type": "Exempt"}, False),
    ],
)
def test_shares_of_the_exempt_level_are_the_users(stored: Object, kept: bool) -> None:
    """All else of it is ours."""
    shipped = {"type": "Exempt", "exempt": SHIPPED_EXEMPT}
    new = desired(
        {**thing("", "true"), "spec": stored}, {**WANTED, "spec": shipped}, mandatory=True
    )
    assert (new is None) is kept
    assert new is None or new["spec"] == shipped


def test_right_as_it_is() -> None:
    """Nothing is written that is right already."""
    assert desired(thing("ours", "true"), WANTED, mandatory=False) is None
    assert desired(thing("ours", "true"), WANTED, mandatory=True) is None
    assert desired(thing("theirs", "false"), WANTED, mandatory=False) is None


def test_obsolete() -> None:
    """Only what is kept automatically and no longer shipped goes."""
    assert obsolete(thing("s", "true"), ["y"])
    assert not obsolete(thing("s", "true"), ["x"])
    assert not obsolete(thing("s", "false"), ["y"])
    assert not obsolete(thing("s", None), ["y"])


def keeper(server: InProcess) -> FlowConfig:
    api = server.api
    assert isinstance(api.edge.flow, PriorityAndFairness)
    return FlowConfig(
        api.storage.registry,
        api.writes.operations,
        api.storage.informers,
        api.edge.flow.gate,
        api.edge.env,
    )


async def test_fresh_server() -> None:
    """All mandatory and suggested objects exist, in force, with their conditions."""
    async with open_api() as server, server.connect() as client:
        schemas = (await client.request("GET", SCHEMAS)).json()["items"]
        levels = (await client.request("GET", LEVELS)).json()["items"]
        assert (len(schemas), len(levels)) == (11, 8)
        for one in schemas:
            condition = one["status"]["conditions"][0]
            assert (condition["type"], condition["status"]) == ("Dangling", "False")
        uids = {one["metadata"]["name"]: one["metadata"]["uid"] for one in schemas}
        answer = await client.request("GET", "/version")
        assert answer.head.get(b"x-kubernetes-pf-flowschema-uid") == uids["exempt"].encode()


PRODUCER = "api-priority-and-fairness-config-producer-v1"
CONSUMER = "api-priority-and-fairness-config-consumer-v1"
DANGLING = 'k:{"type":"Dangling"}'
OF_CONDITION = {"lastTransitionTime", "message", "reason", "status", "type"}


def owners(obj: Object) -> dict[tuple[str, str, str], Object]:
    """Owned fields by manager, operation and subresource."""
    return {
        (entry["manager"], entry["operation"], entry.get("subresource", "")): entry["fieldsV1"]
        for entry in obj["metadata"]["managedFields"]
    }


async def test_producer_and_consumer_are_field_managers() -> None:
    """One updates objects, the other applies a condition."""
    async with open_api() as server, server.connect() as client:
        level = (await client.request("GET", f"{LEVELS}/exempt")).json()
        assert owners(level).keys() == {(PRODUCER, "Update", "")}
        found = owners((await client.request("GET", f"{SCHEMAS}/exempt")).json())
        made, told = found[PRODUCER, "Update", ""], found[CONSUMER, "Apply", "status"]
        assert len(found) == 2
        assert made.keys() == {"f:metadata", "f:spec"}
        condition = told["f:status"]["f:conditions"][DANGLING]
        assert condition.keys() == {".", *(f"f:{name}" for name in OF_CONDITION)}


async def test_what_is_set_back_changes_hands() -> None:
    """The producer takes what it changes from who changed it before."""
    async with open_api() as server, server.connect() as client:
        patch = b'{"spec":{"limited":{"nominalConcurrencyShares":77}}}'
        media = {"Content-Type": "application/merge-patch+json"}
        path = f"{LEVELS}/system"
        answer = await client.request("PATCH", f"{path}?fieldManager=me", media, patch)
        assert ("me", "Update", "") in owners(answer.json())
        await keeper(server).produce()
        assert owners((await client.request("GET", path)).json()).keys() == {
            (PRODUCER, "Update", "")
        }


async def test_conditions_of_others_stay_where_they_are() -> None:
    """The condition of ours is changed in its place, and taken from who wrote it."""
    async with open_api() as server, server.connect() as client:
        path = f"{SCHEMAS}/probes/status"
        schema = (await client.request("GET", path)).json()
        (ours,) = schema["status"]["conditions"]
        other = {**ours, "type": "Other"}
        schema["status"]["conditions"] = [{**ours, "status": "True"}, other]
        answer = await client.request("PUT", f"{path}?fieldManager=me", json=schema)
        assert answer.status == 200
        await keeper(server).consume()
        schema = (await client.request("GET", path)).json()
        shown = [(one["type"], one["status"]) for one in schema["status"]["conditions"]]
        assert shown == [("Dangling", "False"), ("Other", "False")]
        found = owners(schema)
        assert DANGLING in found[CONSUMER, "Apply", "status"]["f:status"]["f:conditions"]
        mine = found["me", "Update", "status"]["f:status"]["f:conditions"]
        assert mine.keys() == {'k:{"type":"Other"}'}


async def test_maintenance() -> None:
    """Deleted objects come back, changed suggested ones are set back unless they are a user's."""
    async with open_api() as server, server.connect() as client:
        for path in (f"{SCHEMAS}/catch-all", f"{LEVELS}/exempt", f"{SCHEMAS}/probes"):
            assert (await client.request("DELETE", path)).status == 200

        async def change(name: str, *, automatic: bool) -> None:
            level = (await client.request("GET", f"{LEVELS}/{name}")).json()
            level["spec"]["limited"]["nominalConcurrencyShares"] = 77
            level["metadata"]["annotations"][AUTO_UPDATE] = "true" if automatic else "false"
            assert (await client.request("PUT", f"{LEVELS}/{name}", json=level)).status == 200

        exempt = b'{"spec":{"exempt":{"nominalConcurrencyShares":7,"lendablePercent":50}}}'
        media = {"Content-Type": "application/merge-patch+json"}
        await keeper(server).start()
        assert (await client.request("PATCH", f"{LEVELS}/exempt", media, exempt)).status == 200
        await change("system", automatic=True)
        await change("workload-low", automatic=False)
        old = {
            "metadata": {"name": "old", "annotations": {AUTO_UPDATE: "true"}},
            "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}},
        }
        assert (await client.request("POST", LEVELS, json=old)).status == 201
        await keeper(server).start()
        levels = (await client.request("GET", LEVELS)).json()["items"]
        shares = {
            one["metadata"]["name"]: one["spec"].get("limited", {}).get("nominalConcurrencyShares")
            for one in levels
        }
        assert shares["system"] == 30
        assert shares["workload-low"] == 77
        assert [one["spec"]["exempt"] for one in levels if "exempt" in one["spec"]] == [
            {"nominalConcurrencyShares": 7, "lendablePercent": 50}
        ]
        assert "old" not in shares
        assert len((await client.request("GET", SCHEMAS)).json()["items"]) == 11


async def test_changes_take_effect(autojump_clock: trio.testing.MockClock) -> None:
    """New objects govern the next request; a level deleted leaves its schema dangling."""
    async with open_api() as server, server.connect() as client, trio.open_nursery() as nursery:
        nursery.start_soon(keeper(server).run)
        await trio.testing.wait_all_tasks_blocked()
        limited = {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
        level = {"metadata": {"name": "mine"}, "spec": limited}
        assert (await client.request("POST", LEVELS, json=level)).status == 201
        schema = {
            "metadata": {"name": "mine"},
            "spec": {
                "priorityLevelConfiguration": {"name": "mine"},
                "matchingPrecedence": 5,
                "rules": [
                    {
                        "subjects": [{"kind": "Group", "group": {"name": "system:authenticated"}}],
                        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["/version"]}],
                    }
                ],
            },
        }
        made = await client.request("POST", SCHEMAS, json=schema)
        assert made.status == 201, made.body
        await trio.sleep(1)
        async with server.connect(certificate=ALICE) as other:
            answer = await other.request("GET", "/version")
        uid = made.json()["metadata"]["uid"].encode()
        assert answer.head.get(b"x-kubernetes-pf-flowschema-uid") == uid
        await client.request("DELETE", f"{LEVELS}/mine")
        await trio.sleep(1)
        stored = (await client.request("GET", f"{SCHEMAS}/mine")).json()
        condition = stored["status"]["conditions"][0]
        assert (condition["status"], condition["reason"]) == ("True", "NotFound")
        await client.request("DELETE", f"{LEVELS}/exempt")
        await trio.sleep(MAINTENANCE_PERIOD_S + 1)
        assert (await client.request("GET", f"{LEVELS}/exempt")).status == 200
        nursery.cancel_scope.cancel()


async def test_a_store_that_takes_no_writes_is_told_and_outlived(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Several writes fail at a time; the keeper goes on, and puts all in order afterwards."""
    async with open_api() as server, server.connect() as client:
        path = f"{LEVELS}/system"
        assert (await client.request("DELETE", path)).status == 200
        store = server.api.storage.store
        assert isinstance(store, SqliteStore)
        connection = store._writer.connection
        with caplog.at_level("WARNING", "kubetrio"):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(keeper(server).run)
                connection.pragma("query_only", True)
                await trio.sleep(MAINTENANCE_PERIOD_S * 2.5)
                said = [record.getMessage() for record in caplog.records]
                assert said.count("flow control objects not maintained") == 2
                connection.pragma("query_only", False)
                await trio.sleep(MAINTENANCE_PERIOD_S)
                nursery.cancel_scope.cancel()
        assert (await client.request("GET", path)).status == 200
