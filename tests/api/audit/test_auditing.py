"""Events of requests: which there are, and what stands in them, as kube-apiserver writes them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
import trio
from trio.testing import MockClock

from kubetrio.api import outlines
from kubetrio.config import Admission, Config, Requests, Serving, Storage
from kubetrio.config.audit import Audit
from kubetrio.machinery.identity import UserInfo
from kubetrio.resources.listing import Listing
from kubetrio.testing.client import Client
from kubetrio.testing.server import ACCOUNTS, InProcess, open_api

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
ALLOWED = {"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": ""}
ALICE = UserInfo("alice", groups=("devs", "system:authenticated"))
Events = Callable[[], list[dict[str, Any]]]


@asynccontextmanager
async def audited(
    tmp_path: Path,
    level: str = "Metadata",
    who: UserInfo | None = None,
    timeout_s: float = 60.0,
    more: str = "",
    **given: Any,
) -> AsyncIterator[tuple[InProcess, Client, Events]]:
    """A server that notes everything at a level, a connection, and the events since asked last."""
    policy, log = tmp_path / "policy.yaml", tmp_path / "audit.log"
    policy.write_text(
        f"apiVersion: audit.k8s.io/v1\nkind: Policy\n{more}rules: [{{level: {level}}}]\n"
    )
    config = Config(
        data_dir=tmp_path / "data",
        storage=Storage(durability="normal"),
        serving=Serving(secure_port=6443),
        admission=Admission(disable_plugins=ACCOUNTS),
        requests=Requests(request_timeout_s=timeout_s),
        audit=Audit(**{"policy_file": policy, "log_path": str(log), **given}),
    )
    read = 0

    def events() -> list[dict[str, Any]]:
        nonlocal read
        lines = log.read_bytes().splitlines()[read:]
        read += len(lines)
        return [orjson.loads(line) for line in lines]

    async with open_api(config=config) as server:
        connection = server.connect(certificate=who) if who else server.connect()
        async with connection as client:
            yield server, client, events


def named(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **more}


def stages(events: list[dict[str, Any]]) -> list[str]:
    return [event["stage"] for event in events]


async def test_a_request_has_two_events(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Both have the fields of kube-apiserver in its order, and one identity."""
    async with audited(tmp_path) as (_, client, events):
        answer = await client.request(
            "GET", f"{CONFIGMAPS}/none", headers={"user-agent": "me/1", "x-real-ip": "10.1.1.1"}
        )
        first, last = events()
    assert list(first) == [
        "kind", "apiVersion", "level", "auditID", "stage", "requestURI", "verb", "user",
        "sourceIPs", "userAgent", "objectRef", "requestReceivedTimestamp", "stageTimestamp",
    ]  # fmt: skip
    assert first["auditID"] == last["auditID"] == answer.head.get(b"audit-id").decode()
    assert (first["stage"], last["stage"]) == ("RequestReceived", "ResponseComplete")
    assert first["stageTimestamp"] == first["requestReceivedTimestamp"]
    assert last["objectRef"] == {
        "resource": "configmaps", "namespace": "default", "name": "none", "apiVersion": "v1",
    }  # fmt: skip
    assert last["responseStatus"] == {
        "metadata": {}, "status": "Failure", "message": 'configmaps "none" not found',
        "reason": "NotFound", "details": {"name": "none", "kind": "configmaps"}, "code": 404,
    }  # fmt: skip
    assert last["annotations"] == ALLOWED
    assert first["sourceIPs"][0] == "10.1.1.1"


async def test_levels_decide_what_is_told(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Objects of requests and answers come with the levels that name them, and no sooner."""
    for level in ("Metadata", "Request", "RequestResponse"):
        place = tmp_path / level
        place.mkdir()
        async with audited(place, level) as (_, client, events):
            await client.request("POST", CONFIGMAPS, json=named("a", data={"k": "<secret>"}))
            last = events()[-1]
        assert ("requestObject" in last) is (level != "Metadata")
        assert ("responseObject" in last) is (level == "RequestResponse")
        assert last["responseStatus"] == {"metadata": {}, "code": 201}
        assert last["objectRef"]["name"] == "a"
        raw = (place / "audit.log").read_bytes()
        assert (b"secret" in raw) is (level != "Metadata")
        assert b"<" not in raw  # as Go prints it


@pytest.mark.parametrize(
    ("accept", "noted"),
    [
        ("application/json;as=Table;g=meta.k8s.io;v=v1", False),
        ("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", False),
        ("application/json;as=Table;g=meta.k8s.io;v=v1,application/json", True),
        ("application/json", True),
    ],
)
async def test_a_failure_is_told_to_whoever_takes_a_status(
    tmp_path: Path, autojump_clock: MockClock, accept: str, noted: bool
) -> None:
    """Who takes tables only gets it all the same, and the event has the code alone."""
    async with audited(tmp_path, "RequestResponse") as (_, client, events):
        answer = await client.request("GET", f"{CONFIGMAPS}/none", headers={"accept": accept})
        assert answer.status == 404
        last = events()[-1]
    assert ("responseObject" in last) is noted
    assert (last["responseStatus"] == {"metadata": {}, "code": 404}) is not noted


async def test_a_request_for_a_token_is_told_with_its_defaults(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Kubernetes sets them when it decodes it."""
    accounts = CONFIGMAPS.replace("configmaps", "serviceaccounts")
    async with audited(tmp_path, "Request") as (_, client, events):
        await client.request("POST", accounts, json={"metadata": {"name": "a"}})
        await client.request("POST", f"{accounts}/a/token", json={})
        last = events()[-1]
    assert last["requestObject"]["spec"]["expirationSeconds"] == 3600


async def test_a_name_that_is_generated_stays_out(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """What the request is about is told by the request alone."""
    async with audited(tmp_path) as (_, client, events):
        body = named("x")
        body["metadata"] = {"generateName": "gen-"}
        await client.request("POST", CONFIGMAPS, json=body)
        assert "name" not in events()[-1]["objectRef"]


async def test_patches_are_told_as_they_came(tmp_path: Path, autojump_clock: MockClock) -> None:
    """One that is no JSON leaves no object, and its event is there all the same."""
    async with audited(tmp_path, "Request") as (_, client, events):
        await client.request("POST", CONFIGMAPS, json=named("a"))
        merge = {"content-type": "application/merge-patch+json"}
        path = f"{CONFIGMAPS}/a"
        await client.request("PATCH", path, headers=merge, body=b'{ "data": {"x": "y"} }')
        assert events()[-1]["requestObject"] == {"data": {"x": "y"}}
        await client.request("PATCH", path, headers=merge, body=b"{not json")
        last = events()[-1]
        assert last["responseStatus"]["code"] == 400
        assert "requestObject" not in last


async def test_managed_fields_are_dropped_on_demand(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Of objects and of lists."""
    more = "omitManagedFields: true\n"
    async with audited(tmp_path, "RequestResponse", more=more) as (_, client, events):
        await client.request("POST", CONFIGMAPS, json=named("a", data={"k": "v"}))
        await client.request("GET", CONFIGMAPS)
        found = events()
    assert found[1]["responseObject"]["data"] == {"k": "v"}
    assert found[3]["responseObject"]["kind"] == "ConfigMapList"
    assert b"managedFields" not in (tmp_path / "audit.log").read_bytes()


async def test_answers_in_protobuf_are_told_as_json(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Whatever representation the client took."""
    async with audited(tmp_path, "RequestResponse") as (_, client, events):
        await client.request("POST", CONFIGMAPS, json=named("a", data={"k": "v"}))
        for media in ("application/vnd.kubernetes.protobuf", "application/yaml"):
            events()
            await client.request("GET", f"{CONFIGMAPS}/a", headers={"accept": media})
            assert events()[-1]["responseObject"]["data"] == {"k": "v"}
            await client.request("GET", f"{CONFIGMAPS}/none", headers={"accept": media})
            assert events()[-1]["responseStatus"]["reason"] == "NotFound"


async def test_who_is_not_let_in_has_one_event(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Of nobody, at the stage that kube-apiserver gives it."""
    async with audited(tmp_path) as (server, _, events), server.connect(certificate=None) as client:
        await client.request("GET", CONFIGMAPS, headers={"authorization": "Bearer wrong"})
        (one,) = events()
    assert (one["stage"], one["user"]) == ("ResponseStarted", {})
    assert one["responseStatus"]["code"] == 401
    assert "annotations" not in one
    assert b"wrong" not in (tmp_path / "audit.log").read_bytes()


async def test_a_limit_that_is_none_has_one_event(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """It is refused before anybody is asked who they are."""
    async with audited(tmp_path) as (_, client, events):
        await client.request("GET", f"{CONFIGMAPS}?timeout=bogus")
        (one,) = events()
    assert (one["stage"], one["user"], one["responseStatus"]["code"]) == (
        "ResponseStarted", {}, 400,
    )  # fmt: skip


async def test_refusals_are_told_with_the_decision(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """403 of somebody without rights."""
    async with audited(tmp_path, who=ALICE) as (_, client, events):
        await client.request("GET", CONFIGMAPS)
        last = events()[-1]
    assert last["responseStatus"]["code"] == 403
    assert last["annotations"]["authorization.k8s.io/decision"] == "forbid"


async def test_both_users_are_told_of_impersonation(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Who asks, and from the decision on who that acts for."""
    async with audited(tmp_path) as (_, client, events):
        await client.request("GET", CONFIGMAPS, headers={"impersonate-user": "bob"})
        first, last = events()
    assert first["user"] == last["user"]
    assert "impersonatedUser" not in first
    assert last["impersonatedUser"] == {"username": "bob", "groups": ["system:authenticated"]}


async def test_who_asked_is_told_of_long_requests_too(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """The log has the sender as the user, as of short ones."""
    async with audited(tmp_path) as (_, client, events):
        for query, headers in (
            ("x=1", {"impersonate-user": "bob"}),
            (f"x={'a' * outlines.SHORT_CHARS}", {"impersonate-user": "bob"}),
            (f"timeout=1&x={'a' * outlines.SHORT_CHARS}", {}),
        ):
            await client.request("GET", f"{CONFIGMAPS}?{query}", headers=headers)
        found = events()
    short, long, refused = found[0:2], found[2:4], found[4:]
    for one, other in zip(short, long, strict=True):
        for name in ("user", "impersonatedUser", "verb", "objectRef", "responseStatus", "stage"):
            assert one.get(name) == other.get(name)
    assert [event["responseStatus"]["code"] for event in refused] == [400]


async def test_watches_have_a_beginning(tmp_path: Path, autojump_clock: MockClock) -> None:
    """ResponseStarted when it begins, ResponseComplete when it is over."""
    async with audited(tmp_path) as (_, client, events):
        await client.request("GET", f"{CONFIGMAPS}?watch=1&timeoutSeconds=5")
        found = events()
    assert stages(found) == ["RequestReceived", "ResponseStarted", "ResponseComplete"]
    assert {event["responseStatus"]["code"] for event in found[1:]} == {200}


async def test_stages_can_be_omitted(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Of all rules."""
    more = "omitStages: [RequestReceived, ResponseStarted]\n"
    async with audited(tmp_path, more=more) as (_, client, events):
        await client.request("GET", f"{CONFIGMAPS}?watch=1&timeoutSeconds=5")
        assert stages(events()) == ["ResponseComplete"]


async def test_a_bug_is_a_panic(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """500, told at the stage of its own, and only there."""

    async def broken(*_: object, **__: object) -> None:
        raise KeyError("oops")

    async with audited(tmp_path) as (_, client, events):
        monkeypatch.setattr(Listing, "get", broken)
        assert (await client.request("GET", f"{CONFIGMAPS}/a")).status == 500
        found = events()
    assert stages(found) == ["RequestReceived", "Panic"]
    assert found[1]["responseStatus"]["message"] == "APIServer panic'd: 'oops'"


async def test_a_request_out_of_time(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """504, with how long it took."""

    async def slow(*_: object, **__: object) -> None:
        await trio.sleep(100)

    async with audited(tmp_path) as (_, client, events):
        monkeypatch.setattr(Listing, "get", slow)
        assert (await client.request("GET", f"{CONFIGMAPS}/a?timeout=2s")).status == 504
        last = events()[-1]
    assert last["responseStatus"]["reason"] == "Timeout"
    assert last["annotations"]["apiserver.latency.k8s.io/total"] == "2s"


async def test_a_client_that_goes_leaves_an_event(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Nobody has an answer, and the log says so."""
    async with audited(tmp_path) as (server, _, events):

        async def never(*_: object) -> None:
            await trio.sleep_forever()

        inside = server.client()
        with pytest.MonkeyPatch.context() as patch, trio.move_on_after(3):
            patch.setattr(Listing, "open", never)
            await inside.list(inside.kind("v1", "ConfigMap"), "default")
        last = events()[-1]
    assert last["stage"] == "ResponseComplete"
    assert last["responseStatus"]["message"] == "context canceled"


async def test_strict_mode_refuses_what_cannot_be_noted(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Nothing is done then, and the refusals are counted."""
    given = {"log_path": "/dev/full", "log_maxsize": 0, "log_mode": "blocking-strict"}
    async with audited(tmp_path, **given) as (server, client, _):
        answer = await client.request("POST", CONFIGMAPS, json=named("a"))
        assert answer.status == 500
        assert answer.body.decode() == (
            f'Internal Server Error: "{CONFIGMAPS}": failed to store audit event\n'
        )
        assert server.api.edge.auditor is not None
        assert server.api.edge.auditor.counting.rejected == 1
        assert await server.api.storage.store.get("/registry/configmaps/default/a") is None


async def test_blocking_mode_goes_on(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Losing events does not stop anybody, but is counted."""
    async with audited(tmp_path, log_path="/dev/full", log_maxsize=0) as (_, client, _events):
        assert (await client.request("POST", CONFIGMAPS, json=named("a"))).status == 201
        page = (await client.request("GET", "/metrics")).body.decode()
    assert 'apiserver_audit_error_total{plugin="log"} ' in page
    assert "apiserver_audit_event_total 3.0" in page
    assert 'apiserver_audit_level_total{level="Metadata"} 2.0' in page


async def test_pod_security_tells_the_log(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Annotations of admission stand in the event."""
    async with audited(tmp_path) as (_, client, events):
        labels = {"pod-security.kubernetes.io/audit": "restricted"}
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "t"}}
        space["metadata"] = {"name": "t", "labels": labels}
        await client.request("POST", "/api/v1/namespaces", json=space)
        pod = {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }  # fmt: skip
        await client.request("POST", "/api/v1/namespaces/t/pods", json=pod)
        annotations = events()[-1]["annotations"]
    told = annotations["pod-security.kubernetes.io/audit-violations"]
    assert told.startswith('would violate PodSecurity "restricted:latest": ')


async def test_deprecated_resources_are_marked(tmp_path: Path, autojump_clock: MockClock) -> None:
    """As dashboards look for them."""
    async with audited(tmp_path) as (_, client, events):
        await client.request("GET", "/api/v1/namespaces/default/endpoints")
        assert events()[-1]["annotations"]["k8s.io/deprecated"] == "true"


async def test_without_a_policy_nothing_is_noted(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Requests have no record then, and no log is begun for one that no policy feeds."""
    async with audited(tmp_path, policy_file=None) as (server, client, events):
        await client.request("GET", CONFIGMAPS)
        assert server.api.edge.auditor is None
        assert events() == []


async def test_batches_are_flushed_at_the_end(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Leaving the server writes what was gathered."""
    async with audited(tmp_path, log_mode="batch") as (_, client, events):
        for _ in range(5):
            await client.request("GET", f"{CONFIGMAPS}/x")
    assert len(events()) == 10


async def test_legacy_lines(tmp_path: Path, autojump_clock: MockClock) -> None:
    """One line of text for each event."""
    async with audited(tmp_path, log_format="legacy") as (_, client, _events):
        headers = {"audit-id": "i", "user-agent": 'a"b'}
        await client.request("GET", f"{CONFIGMAPS}/x", headers=headers)
    line = (tmp_path / "audit.log").read_text().splitlines()[1]
    begin, _, rest = line.partition(" AUDIT: ")
    assert begin.endswith("Z")
    assert rest.startswith('id="i" stage="ResponseComplete" ip=')
    assert 'as="<self>" asgroups="<lookup>" user-agent="a\\"b" namespace="default"' in rest
    assert rest.endswith(f'uri="{CONFIGMAPS}/x" response="404"')
