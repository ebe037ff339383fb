"""The verbs over HTTP: names, statuses, what deletions answer."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


def named(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **more}}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (named("two"), "the name of the object (two) does not match the name on the URL (one)"),
        (
            {"apiVersion": "v1", "kind": "ConfigMap"},
            "the name of the object (one based on URL) was undeterminable: name must be provided",
        ),
        (
            named("one", namespace="other"),
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
    ],
)
async def test_a_put_names_the_object_of_the_path(client: Client, body: Any, words: str) -> None:
    """400 in kube-apiserver's words."""
    answer = await client.request("PUT", CONFIGMAPS + "/one", json=body)
    assert (answer.status, answer.json()["message"]) == (400, words)


async def test_what_a_deletion_answers(client: Client) -> None:
    """A Status with the uid of what is gone; the object while finalizers hold it."""
    made = (await client.request("POST", CONFIGMAPS, json=named("one"))).json()
    gone = (await client.request("DELETE", CONFIGMAPS + "/one")).json()
    assert (gone["kind"], gone["status"]) == ("Status", "Success")
    uid = made["metadata"]["uid"]
    assert gone["details"] == {"name": "one", "kind": "configmaps", "uid": uid}
    await client.request("POST", CONFIGMAPS, json=named("two", finalizers=["a/b"]))
    held = (await client.request("DELETE", CONFIGMAPS + "/two")).json()
    assert held["metadata"]["deletionTimestamp"]


async def test_a_deleted_pod_is_shown(client: Client) -> None:
    """Its kind answers with the object."""
    spec = {"containers": [{"name": "c", "image": "i"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    assert (await client.request("POST", PODS, json=pod)).status == 201
    gone = (await client.request("DELETE", PODS + "/p")).json()
    assert (gone["kind"], gone["metadata"]["deletionGracePeriodSeconds"]) == ("Pod", 0)


async def test_deleting_a_collection(client: Client) -> None:
    """What the selector chooses, shown as a list."""
    for number in range(4):
        obj = named(f"c{number}", labels={"even": str(number % 2 == 0)})
        await client.request("POST", CONFIGMAPS, json=obj)
    answer = await client.request("DELETE", CONFIGMAPS + "?labelSelector=even%3DTrue")
    listed = answer.json()
    assert listed["kind"] == "ConfigMapList"
    assert [item["metadata"]["name"] for item in listed["items"]] == ["c0", "c2"]
    left = (await client.request("GET", CONFIGMAPS)).json()["items"]
    assert [item["metadata"]["name"] for item in left] == ["c1", "c3"]


async def test_a_limit_of_a_deletion(client: Client) -> None:
    """Deletes no more than that."""
    for number in range(4):
        await client.request("POST", CONFIGMAPS, json=named(f"c{number}"))
    await client.request("DELETE", CONFIGMAPS + "?limit=3")
    left = (await client.request("GET", CONFIGMAPS)).json()["items"]
    assert [item["metadata"]["name"] for item in left] == ["c3"]


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", CONFIGMAPS), ("PUT", CONFIGMAPS + "/one"), ("DELETE", CONFIGMAPS + "/one"),
     ("DELETE", CONFIGMAPS)],
)  # fmt: skip
async def test_dry_runs_store_nothing(
    server: InProcess, client: Client, method: str, path: str
) -> None:
    """Of any verb."""
    await client.request("POST", CONFIGMAPS, json=named("one"))
    revision = server.api.storage.store.revision
    body = (
        None
        if method == "DELETE"
        else named("two" if method == "POST" else "one", labels={"a": "b"})
    )
    answer = await client.request(method, path + "?dryRun=All", json=body)
    assert answer.status in (200, 201)
    assert server.api.storage.store.revision == revision


async def test_a_job_deleted_without_a_policy_warns_of_its_pods(client: Client) -> None:
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    for query, warned in (("", 1), ("?propagationPolicy=Background", 0)):
        for path in (f"{jobs}/none{query}", f"{jobs}{query}"):
            answer = await client.request("DELETE", path)
            text = answer.head.get(b"warning")
            assert text.count(b"child pods are preserved by default") == warned


async def test_an_old_client_that_waits_is_told_to(client: Client) -> None:
    """202 for an object that is held, when dependents go in the old way; 200 else."""
    await client.request("POST", CONFIGMAPS, json=named("held", finalizers=["a/b"]))
    for query, code in [("orphanDependents=false", 202), ("propagationPolicy=Background", 200)]:
        answer = await client.request("DELETE", f"{CONFIGMAPS}/held?{query}")
        assert (answer.status, answer.json()["kind"]) == (code, "ConfigMap")
    await client.request("POST", CONFIGMAPS, json=named("free"))
    gone = await client.request("DELETE", f"{CONFIGMAPS}/free?orphanDependents=false")
    assert gone.status == 200


async def test_an_empty_precondition_is_one(client: Client) -> None:
    """No object has it."""
    await client.request("POST", CONFIGMAPS, json=named("one"))
    for name in ("uid", "resourceVersion"):
        body = {"preconditions": {name: ""}}
        assert (await client.request("DELETE", CONFIGMAPS + "/one", json=body)).status == 409
        body = {"preconditions": {name: None}, "dryRun": ["All"]}
        assert (await client.request("DELETE", CONFIGMAPS + "/one", json=body)).status == 200


async def test_a_collection_is_listed_before_it_is_deleted(client: Client) -> None:
    """Options of lists are those of any list, and a page says where the next begins."""
    for name in ("a", "b", "c"):
        await client.request("POST", CONFIGMAPS, json=named(name))
    for query, code in [
        ("resourceVersion=x", 400),
        ("continue=%25", 400),
        ("resourceVersionMatch=Exact&dryRun=x", 422),
    ]:
        answer = await client.request("DELETE", f"{CONFIGMAPS}?{query}")
        assert answer.status == code
    assert answer.json()["details"]["kind"] == "ListOptions"
    page = (await client.request("DELETE", f"{CONFIGMAPS}?limit=2")).json()
    assert [item["metadata"]["name"] for item in page["items"]] == ["a", "b"]
    assert page["metadata"]["remainingItemCount"] >= 1
    token = page["metadata"]["continue"]
    rest = (await client.request("DELETE", f"{CONFIGMAPS}?continue={token}")).json()
    assert "c" in [item["metadata"]["name"] for item in rest["items"]]
    left = (await client.request("GET", CONFIGMAPS)).json()
    assert left["items"] == []


async def test_cluster_wide_objects_lose_a_namespace(client: Client) -> None:
    """Without a word, whatever it is."""
    body = {"metadata": {"name": "n1", "namespace": "default"}}
    for method, path in [("POST", "/api/v1/nodes"), ("PUT", "/api/v1/nodes/n1")]:
        answer = await client.request(method, path, json=body)
        assert answer.status in (200, 201)
        assert "namespace" not in answer.json()["metadata"]
    answer = await client.request("POST", "/api/v1/namespaces", json=body)
    assert (answer.status, "namespace" in answer.json()["metadata"]) == (201, False)


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize(("sent", "name"), [("a%25b", "a%b"), ("%2e%2e", ".."), (".", ".")])
async def test_a_name_that_nothing_is_stored_under(
    client: Client, method: str, sent: str, name: str
) -> None:
    """400, and not before the body was read."""
    body = None if method in ("GET", "DELETE") else named(name)
    headers = {"Content-Type": "application/merge-patch+json"} if method == "PATCH" else {}
    answer = await client.request(method, f"{CONFIGMAPS}/{sent}", json=body, headers=headers)
    assert answer.status == 400
    assert answer.json()["message"].startswith(f'Name parameter invalid: "{name}": may not ')
    if method == "PUT":
        other = await client.request(method, f"{CONFIGMAPS}/{sent}", json=named("other"))
        assert "does not match the name on the URL" in other.json()["message"]


async def test_a_selector_for_a_name_that_nothing_has(client: Client) -> None:
    """Selects nothing, as any other that does not match."""
    await client.request("POST", CONFIGMAPS, json=named("one"))
    for name in (".", "..", "a%25b", "a/b"):
        answer = await client.request("GET", f"{CONFIGMAPS}?fieldSelector=metadata.name%3D{name}")
        assert (answer.status, answer.json()["items"]) == (200, [])
    scale = "/apis/apps/v1/namespaces/default/deployments/../scale"
    answer = await client.request("GET", scale)
    assert answer.json()["message"] == "Name parameter invalid: \"..\": may not be '..'"


async def test_events_are_read_as_from_etcd(client: Client) -> None:
    """A version that is none is the client's fault, and pages of version zero have an end."""
    events = "/api/v1/namespaces/default/events"
    about = {"kind": "Pod", "namespace": "default", "name": "p"}
    for name in ("e0", "e1"):
        body = {"metadata": {"name": name}, "involvedObject": about}
        assert (await client.request("POST", events, json=body)).status == 201
    for path in (events, "/apis/events.k8s.io/v1/namespaces/default/events"):
        page = (await client.request("GET", f"{path}?limit=1&resourceVersion=0")).json()
        assert [item["metadata"]["name"] for item in page["items"]] == ["e0"]
        assert page["metadata"]["remainingItemCount"] == 1
        assert page["metadata"]["continue"]
        for name in ("e0", "none"):
            wrong = await client.request("GET", f"{path}/{name}?resourceVersion=abc")
            assert wrong.status == 400
    selected = await client.request("GET", f"{path}?fieldSelector=regarding.name%3Dp")
    assert len(selected.json()["items"]) == 2


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/none?includeObject=Bogus", 404, "not found"),
        ("/one?includeObject=Bogus", 400, "includeObject"),
        ("?includeObject=Bogus", 400, "includeObject"),
        ("?includeObject=Bogus&labelSelector=a%3D%3D%3Db", 400, "parse requirement"),
        ("?includeObject=Bogus&limit=x", 400, "strconv.ParseInt"),
        ("?includeObject=Bogus&watch=1", 400, "includeObject"),
        ("?includeObject=Bogus&watch=1&resourceVersion=x", 500, "resourceVersion"),
    ],
)
async def test_what_rows_carry_is_looked_at_last(
    client: Client, path: str, status: int, words: str
) -> None:
    """When there is something to show."""
    await client.request("POST", CONFIGMAPS, json=named("one"))
    headers = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
    answer = await client.request("GET", CONFIGMAPS + path, headers=headers)
    assert answer.status == status
    assert words in answer.json()["message"]


async def test_a_write_is_done_before_its_answer_is_shaped(client: Client) -> None:
    """As in kube-apiserver."""
    headers = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
    path = f"{CONFIGMAPS}?includeObject=Bogus"
    refused = await client.request("POST", path, json=named("one"), headers=headers)
    assert refused.status == 400
    assert (await client.request("GET", f"{CONFIGMAPS}/one")).status == 200


async def test_an_object_that_is_too_deep_to_follow(client: Client) -> None:
    """400 as for one over the limit of the JSON decoder, and nothing of Python in it."""
    path = "/apis/apps/v1/namespaces/default/controllerrevisions"
    body = b'{"metadata":{"name":"deep"},"revision":1,"data":%b1%b}' % (
        b'{"a":' * 3000,
        b"}" * 3000,
    )
    answer = await client.request("POST", path, {"Content-Type": "application/json"}, body)
    assert answer.status == 400
    assert answer.json()["message"] == (
        'ControllerRevision in version "v1" cannot be handled as a ControllerRevision: '
        "exceeded max depth"
    )
    flat = {"metadata": {"name": "deep"}, "revision": 1, "data": {"a": 1}}
    assert (await client.request("POST", path, json=flat)).status == 201
    media = {"Content-Type": "application/merge-patch+json"}
    patched = await client.request("PATCH", path + "/deep", media, body)
    assert patched.status == 422
    assert patched.json()["message"].endswith(": exceeded max depth")


@pytest.mark.parametrize("media", ["yaml", "json", "vnd.kubernetes.protobuf"])
async def test_what_is_stored_can_be_printed(client: Client, media: str) -> None:
    """However deep an object may be, each representation of it and of its list can."""
    path = "/apis/apps/v1/namespaces/default/controllerrevisions"
    sent = {"Content-Type": "application/json"}
    body = b'{"metadata":{"name":"deep"},"revision":1,"data":%b1%b}'
    refused = await client.request("POST", path, sent, body % (b'{"a":' * 180, b"}" * 180))
    assert refused.status == 400
    made = await client.request("POST", path, sent, body % (b'{"a":' * 179, b"}" * 179))
    assert made.status == 201
    for target in (path, f"{path}/deep", f"{path}?pretty=true"):
        answer = await client.request("GET", target, {"Accept": f"application/{media}"})
        assert answer.status == 200


LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
LEASE = {"metadata": {"name": "n"}, "spec": {"holderIdentity": "me"}}
BUDGET = {"metadata": {"name": "n"}, "spec": {"maxUnavailable": 1}}
DROPPED = {"metadata": {"resourceVersion": None}}


@pytest.mark.parametrize(
    ("path", "obj", "subresource", "method", "media", "body"),
    [
        (LEASES, LEASE, "", "PUT", "json", LEASE),
        (LEASES, LEASE, "", "PATCH", "merge-patch+json", DROPPED),
        (LEASES, LEASE, "", "PATCH", "strategic-merge-patch+json", DROPPED),
        (
            LEASES,
            LEASE,
            "",
            "PATCH",
            "merge-patch+json",
            {"metadata": {"resourceVersion": "0"}},
        ),
        (
            LEASES,
            LEASE,
            "",
            "PATCH",
            "json-patch+json",
            [{"op": "remove", "path": "/metadata/resourceVersion"}],
        ),
        (BUDGETS, BUDGET, "/status", "PUT", "json", BUDGET),
        (BUDGETS, BUDGET, "/status", "PATCH", "merge-patch+json", DROPPED),
    ],
)
async def test_updates_that_need_a_version(
    client: Client,
    path: str,
    obj: dict[str, Any],
    subresource: str,
    method: str,
    media: str,
    body: Any,
) -> None:
    """Some kinds take none without, by whatever verb; the resource is what is invalid."""
    made = await client.request("POST", path, json=obj)
    headers = {"Content-Type": f"application/{media}"}
    where = f"{path}/n{subresource}"
    answer = await client.request(method, where, headers, orjson.dumps(body))
    resource, group = path.split("/")[6], path.split("/")[2]
    assert answer.status == 422
    assert answer.json()["message"] == (
        f'{resource}.{group} "n" is invalid: metadata.resourceVersion: Invalid value: 0: '
        "must be specified for an update"
    )
    details = answer.json()["details"]
    assert (details["kind"], details["group"]) == (resource, group)
    # A patch that does not mention the version has it from the object.
    silent = {"metadata": {"labels": {"a": "b"}}}
    merge = {"Content-Type": "application/merge-patch+json"}
    patched = await client.request("PATCH", where, merge, orjson.dumps(silent))
    assert patched.status == 200
    assert patched.json()["metadata"]["uid"] == made.json()["metadata"]["uid"]


async def test_nobody_owns_the_times_of_a_deletion_that_a_create_names(client: Client) -> None:
    """They are dropped before owners are noted."""
    meta = {"name": "n", "deletionTimestamp": "2025-01-01T00:00:00Z", "selfLink": "/x"}
    body = {"metadata": {**meta, "deletionGracePeriodSeconds": 5}, "data": {"a": "b"}}
    made = (await client.request("POST", CONFIGMAPS, json=body)).json()
    (entry,) = made["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:a": {}}}
    assert "deletionTimestamp" not in made["metadata"]


TABLE = {"accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}


@pytest.mark.parametrize(
    ("below", "status"),
    [("", 200), ("/status", 200), ("/ephemeralcontainers", 406), ("/resize", 406)],
)
async def test_what_has_no_columns_is_no_table(client: Client, below: str, status: int) -> None:
    """A write to it is neither; the metadata alone can be asked for."""
    spec = {"containers": [{"name": "c", "image": "i"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    assert (await client.request("POST", PODS, json=pod)).status == 201
    path = f"{PODS}/p{below}"
    assert (await client.request("GET", path, TABLE)).status == status
    partial = {"accept": TABLE["accept"].replace("Table", "PartialObjectMetadata")}
    assert (await client.request("GET", path, partial)).status == 200


async def test_the_status_of_a_service_that_is_not_there_creates_it(client: Client) -> None:
    """Without an address; objects of other kinds, which PUT does not create, are not there."""
    path = "/api/v1/namespaces/default/services/one/status"
    body = {**named("one"), "kind": "Service", "spec": {"ports": [{"port": 80}]}}
    answer = await client.request("PUT", path, json=body)
    assert (answer.status, "clusterIP" in answer.json()["spec"]) == (201, False)
    assert (await client.request("PUT", path, json=body)).status == 200
    path = "/apis/apps/v1/namespaces/default/deployments/one/status"
    body = {**named("one"), "apiVersion": "apps/v1", "kind": "Deployment"}
    assert (await client.request("PUT", path, json=body)).status == 404
