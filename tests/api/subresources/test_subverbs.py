"""Subresources and reviews on a whole server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from kubetrio.api.proxy.containers import container_of
from kubetrio.api.proxy.podlogs import check_log_options, log_options
from kubetrio.api.subresources.reviews import spec_causes
from kubetrio.auth.issuing import TokenIssuer
from kubetrio.backend.dial import DialError
from kubetrio.machinery.status import ApiError
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess, open_api
from kubetrio.tls.pki import Pki

PODS = "/api/v1/namespaces/default/pods"
REVIEWS = "/apis/authorization.k8s.io/v1"
APPS = "/apis/apps/v1/namespaces/default"
MERGE = {"Content-Type": "application/merge-patch+json"}


def pod(name: str, **more: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    meta = {"name": name, "labels": {"a": "b"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, **more}


def deployment(name: str) -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    meta = {"name": name}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


async def test_scaling_counts_as_a_change_of_the_workload(client: Client) -> None:
    """The generation goes up, and the scale's owner is noted under its subresource, at no time."""
    await client.request("POST", f"{APPS}/deployments", json=deployment("d"))
    path = f"{APPS}/deployments/d"
    patch = {"spec": {"replicas": 4}}
    scaled = await client.request("PATCH", path + "/scale", headers=MERGE, json=patch)
    assert scaled.json()["spec"] == {"replicas": 4}
    now = (await client.request("GET", path)).json()
    assert now["spec"]["replicas"] == 4
    assert now["metadata"]["generation"] == 2
    entries = now["metadata"]["managedFields"]
    owners = [(entry.get("subresource"), "time" in entry) for entry in entries]
    assert owners == [("scale", False), (None, True)]


@pytest.mark.parametrize(
    ("version", "status", "words"),
    [
        ("0", 404, "not found"),
        ("abc", 500, 'strconv.ParseUint: parsing "abc": invalid syntax'),
        ("99999999", 504, "Too large resource version: 99999999"),
    ],
)
async def test_a_scale_of_a_version(
    client: Client, version: str, status: int, words: str, autojump_clock: object
) -> None:
    """Is read as the workload is, even if that is not there."""
    for path in ("deployments/none/scale", "deployments/none"):
        answer = await client.request("GET", f"{APPS}/{path}?resourceVersion={version}")
        assert answer.status == status
        assert words in answer.json()["message"]


COMPONENTS = "/api/v1/componentstatuses"
EVERY = ["scheduler", "controller-manager", "etcd-0"]


async def nobody(host: str, port: str, _tls: Any, _timeout_s: float) -> Any:
    """A machine on which nothing listens."""
    raise DialError(f"dial tcp {host}:{port}: connect: connection refused")


async def test_a_component_that_is_not_there(server: InProcess, client: Client) -> None:
    """It is unhealthy, and the store, which is there, is not."""
    server.api.edge.backends.dial = nobody
    conditions = {
        name: (await client.request("GET", f"{COMPONENTS}/{name}")).json()["conditions"]
        for name in EVERY
    }
    assert conditions == {
        name: [
            {
                "type": "Healthy",
                "status": "False",
                "message": f'Get "https://127.0.0.1:{port}/healthz": dial tcp 127.0.0.1:{port}: '
                "connect: connection refused",
            }
        ]
        for name, port in (("scheduler", 10259), ("controller-manager", 10257))
    } | {"etcd-0": [{"type": "Healthy", "status": "True", "message": "ok"}]}


async def test_an_unknown_component(client: Client) -> None:
    """404, of a resource in the singular."""
    answer = await client.request("GET", f"{COMPONENTS}/nope")
    assert answer.status == 404
    assert answer.json()["message"] == 'componentstatus "nope" not found'
    assert answer.json()["details"] == {"name": "nope", "kind": "componentstatus"}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", EVERY),
        ("labelSelector=a", []),
        ("labelSelector=!a", EVERY),
        ("fieldSelector=metadata.name%3Detcd-0", ["etcd-0"]),
        ("fieldSelector=metadata.name%3Dother", []),
        ("limit=1&resourceVersion=5", EVERY),
    ],
)
async def test_components_are_selected(
    server: InProcess, client: Client, query: str, names: list[str]
) -> None:
    """As objects of any resource."""
    server.api.edge.backends.dial = nobody
    found = await client.request("GET", f"{COMPONENTS}?{query}")
    assert [item["metadata"]["name"] for item in found.json()["items"]] == names


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        (
            "fieldSelector=foo%3Dx",
            400,
            '"foo" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        ("limit=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("resourceVersionMatch=Exact", 422, "ListOptions.meta.k8s.io"),
    ],
)
async def test_options_of_components(client: Client, query: str, status: int, words: str) -> None:
    """Are refused as for any list."""
    answer = await client.request("GET", f"{COMPONENTS}?{query}")
    assert answer.status == status
    assert words in answer.json()["message"]


async def test_a_component_that_there_is_not(client: Client) -> None:
    """404, in the words of kube-apiserver, which says the kind."""
    answer = await client.request("GET", f"{COMPONENTS}/nope")
    assert (answer.status, answer.json()["message"]) == (404, 'componentstatus "nope" not found')
    assert answer.json()["details"] == {"name": "nope", "kind": "componentstatus"}


async def test_writes_may_name_the_object_they_mean(client: Client) -> None:
    """By its uid; kube-apiserver tells where it is stored."""
    workload = (await client.request("POST", f"{APPS}/deployments", json=deployment("d"))).json()
    bare = (await client.request("POST", PODS, json=pod("p"))).json()
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "d", "uid": "zz"},
        "spec": {"replicas": -1},
    }
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p", "uid": "zz"},
        "target": {"name": "n"},
    }
    for answer, resource, stored in (
        (
            await client.request("PUT", f"{APPS}/deployments/d/scale", json=scale),
            "deployments.apps",
            workload,
        ),
        (await client.request("POST", f"{PODS}/p/binding", json=binding), "pods", bare),
    ):
        name, plural = stored["metadata"]["name"], resource.partition(".")[0]
        assert (answer.status, answer.json()["message"]) == (
            409,
            (
                f'Operation cannot be fulfilled on {resource} "{name}": StorageError: invalid '
                f"object, Code: 4, Key: /registry/{plural}/default/{name}, ResourceVersion: 0, "
                "AdditionalErrorMsg: Precondition failed: UID in precondition: zz, UID in object "
                f"meta: {stored['metadata']['uid']}"
            ),
        )


async def test_an_eviction_deletes_if_the_budget_allows(client: Client) -> None:
    """A running pod under a budget without disruptions stays."""
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}
    kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    budget = {**kind, "metadata": {"name": "b"}, "spec": spec}
    await client.request("POST", budgets, json=budget)
    await client.request("POST", PODS, json=pod("p"))
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    path = PODS + "/p"
    await client.request("PATCH", path + "/status", headers=MERGE, json={"status": ready})
    counted = {"status": {"observedGeneration": 1, "desiredHealthy": 1, "currentHealthy": 1}}
    await client.request("PATCH", budgets + "/b/status", headers=MERGE, json=counted)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    refused = await client.request("POST", path + "/eviction", json=eviction)
    assert refused.status == 429
    allowed = {"status": {"disruptionsAllowed": 1}}
    await client.request("PATCH", budgets + "/b/status", headers=MERGE, json=allowed)
    done = await client.request("POST", path + "/eviction", json=eviction)
    assert done.json()["code"] == 201
    assert (await client.request("GET", path)).status == 404
    after = (await client.request("GET", budgets + "/b")).json()
    assert list(after["status"]["disruptedPods"]) == ["p"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/p/log", 204),
        ("GET", "/none/log", 404),
        ("GET", "/p/log?container=z", 400),
        ("POST", "/p/exec?command=ls", 400),
        ("POST", "/p/portforward", 400),
        ("GET", "/p/proxy/", 400),
    ],
)
async def test_a_pod_without_a_node(client: Client, method: str, path: str, status: int) -> None:
    """There is nothing to connect to, and the answer says why."""
    await client.request("POST", PODS, json=pod("p"))
    assert (await client.request(method, PODS + path)).status == status


async def test_a_node_must_be_there_and_have_an_address(client: Client) -> None:
    """What is in the way of a kubelet is said."""
    await client.request("POST", PODS, json={**pod("p"), "spec": {
        **pod("p")["spec"], "nodeName": "n"}})  # fmt: skip
    assert (await client.request("GET", PODS + "/p/log")).status == 404
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    await client.request("POST", "/api/v1/nodes", json=node)
    answer = await client.request("GET", PODS + "/p/log")
    assert answer.status == 500
    assert answer.json()["message"] == "no preferred addresses found; known addresses: []"


async def test_an_older_version_of_eviction(client: Client) -> None:
    """policy/v1beta1 does as well as policy/v1 (EvictionREST.AcceptsGroupVersion)."""
    await client.request("POST", PODS, json=pod("old"))
    body = {"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "old"}}
    path = f"{PODS}/old/eviction"
    unknown = await client.request("POST", path + "?fieldValidation=Strict", json={**body, "x": 1})
    assert unknown.json()["message"] == (
        'Eviction in version "v1beta1" cannot be handled as a Eviction: '
        'strict decoding error: unknown field "x"'
    )
    other = await client.request("POST", PODS, json=body)
    assert other.json()["message"].endswith(
        "converting (v1beta1.Eviction) to (core.Pod): unknown conversion"
    )
    assert (await client.request("POST", path, json=body)).status == 201
    assert (await client.request("GET", f"{PODS}/old")).status == 404


@pytest.mark.parametrize(
    ("chosen", "name", "status", "message"),
    [
        (
            {"ignoreStoreReadErrorWithClusterBreakingPotential": True, "dryRun": ["x"]},
            "q",
            422,
            (
                'Eviction.policy "q" is invalid: '
                "deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential: "
                "Invalid value: true: can not be set for pod eviction, "
                "try after removing the option"
            ),
        ),
        (
            {"dryRun": ["x"]},
            "q",
            500,
            "Non-matching dry-run options in request and content: [All] and [x]",
        ),
        ({"dryRun": ["x"]}, "r", 400, "name in URL does not match name in Eviction object"),
    ],
)
async def test_evictions_that_make_no_sense(
    client: Client, chosen: dict[str, Any], name: str, status: int, message: str
) -> None:
    """The name is looked at first, then the options; before the pod is looked for."""
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    path = f"{PODS}/q/eviction?dryRun=All"
    got = await client.request("POST", path, json={**body, "deleteOptions": chosen})
    assert (got.status, got.json()["message"]) == (status, message)


def test_one_of_several_containers_must_be_named() -> None:
    """The message lists them."""
    several = {
        "metadata": {"name": "p"},
        "spec": {
            "containers": [{"name": "a"}, {"name": "b"}],
            "initContainers": [{"name": "i"}],
        },
    }
    with pytest.raises(ApiError) as caught:
        container_of(several, "")
    assert caught.value.message == (
        "a container name must be specified for pod p, choose one of: [i a b]"
    )
    assert container_of(several, "i") == "i"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"tailLines": "-1"}, "tailLines: Invalid value: -1: must be greater than or equal to 0"),
        ({"limitBytes": "0"}, "limitBytes: Invalid value: 0: must be greater than 0"),
        ({"sinceSeconds": "0"}, "sinceSeconds: Invalid value: 0: must be greater than 0"),
        (
            {"sinceSeconds": "0", "sinceTime": ""},
            "[]: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified",
        ),
        ({"stream": "All"}, "stream: Forbidden: may not be specified"),
    ],
)
def test_log_options_are_checked(query: dict[str, str], message: str) -> None:
    """422 in kube-apiserver's words; without its gate a stream cannot be chosen."""
    with pytest.raises(ApiError) as caught:
        check_log_options(log_options(query), "p", split=False)
    assert caught.value.code == 422
    assert caught.value.message == f'PodLogOptions "p" is invalid: {message}'


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            {"stream": "Both"},
            'stream: Unsupported value: "Both": supported values: "All", "Stdout", "Stderr"',
        ),
        (
            {"stream": "Stdout", "tailLines": "1"},
            "[]: Forbidden: `tailLines` and specific `stream` are mutually exclusive for now",
        ),
    ],
)
def test_a_stream_is_chosen_behind_its_gate(query: dict[str, str], message: str) -> None:
    """PodLogsQuerySplitStreams allows three values, and only the whole log by lines."""
    with pytest.raises(ApiError) as caught:
        check_log_options(log_options(query), "p", split=True)
    assert caught.value.message == f'PodLogOptions "p" is invalid: {message}'


def test_what_a_kubelet_is_asked() -> None:
    """An empty time is the zero time, as Go reads it; what was not asked for is left out."""
    asked = log_options({"follow": "", "previous": "0", "sinceTime": "", "limitBytes": "+7"})
    assert asked.query == "follow=true&limitBytes=7&sinceTime=0001-01-01T00%3A00%3A00Z"


def test_the_first_bad_log_option_is_told() -> None:
    """In the order of the API's type, and before any is looked at for its value."""
    with pytest.raises(ApiError) as caught:
        log_options({"tailLines": "x", "sinceSeconds": "y", "stream": "Both"})
    assert caught.value.message == 'strconv.ParseInt: parsing "y": invalid syntax'


@pytest.mark.parametrize("name", ["tailLines", "limitBytes", "sinceSeconds"])
def test_numbers_of_log_options(name: str) -> None:
    """400 for what is none; so is an empty text."""
    for text in ("", "x"):
        with pytest.raises(ApiError) as caught:
            log_options({name: text})
        words = f'strconv.ParseInt: parsing "{text}": invalid syntax'
        assert (caught.value.code, caught.value.message) == (400, words)


async def test_access_reviews(client: Client) -> None:
    """The administrator may, somebody may not."""
    spec = {"resourceAttributes": {"verb": "get", "resource": "pods"}}
    kind = {"apiVersion": "authorization.k8s.io/v1"}
    mine = {**kind, "kind": "SelfSubjectAccessReview", "spec": spec}
    answer = await client.request("POST", REVIEWS + "/selfsubjectaccessreviews", json=mine)
    assert (answer.status, answer.json()["status"]) == (201, {"allowed": True})
    theirs = {**kind, "kind": "SubjectAccessReview", "spec": {**spec, "user": "x"}}
    answer = await client.request("POST", REVIEWS + "/subjectaccessreviews", json=theirs)
    assert answer.json()["status"]["allowed"] is False


def test_an_access_review_asks_one_question_about_somebody() -> None:
    """Both kinds of attributes, none, or nobody: causes as kube-apiserver words them."""
    both = {"resourceAttributes": {}, "nonResourceAttributes": {"path": "/"}, "user": "x"}
    fields = [cause.field for cause in spec_causes(both, subject=True)]
    assert fields == ["spec.nonResourceAttributes"]
    fields = [cause.field for cause in spec_causes({}, subject=True)]
    assert fields == ["spec.resourceAttributes", "spec.user"]


async def test_tokens_need_a_key(client: Client) -> None:
    """A server without one says that it cannot."""
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}
    await client.request("POST", accounts, json=body)
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
    assert (await client.request("POST", accounts + "/a/token", json=asked)).status == 501


@pytest.fixture
async def issuing(certificates: Pki) -> AsyncIterator[Client]:
    """A connection to a server with a key."""
    issuer = TokenIssuer(certificates.sa_key)
    async with open_api(issuer=issuer) as server, server.connect() as client:
        yield client


async def test_tokens_of_service_accounts(issuing: Client) -> None:
    """Ten minutes at least."""
    client = issuing
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}
    account = (await client.request("POST", accounts, json=body)).json()
    uid = account["metadata"]["uid"]
    asked: dict[str, Any] = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
    path = accounts + "/a/token"
    made = await client.request("POST", path, json=asked)
    assert made.status == 201
    assert made.json()["spec"]["expirationSeconds"] == 3600
    assert made.json()["status"]["token"].count(".") == 2
    shown = made.json()["metadata"]
    assert list(shown) == ["name", "namespace", "uid", "creationTimestamp", "managedFields"]
    assert shown["uid"] == uid
    [entry] = shown["managedFields"]
    assert entry["fieldsV1"] == {"f:spec": {"f:expirationSeconds": {}}}
    elsewhere = await client.request("POST", path, json={**asked, "metadata": {"namespace": "x"}})
    assert (elsewhere.status, elsewhere.json()["message"]) == (
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
    )
    other = await client.request("POST", path, json={**asked, "metadata": {"uid": "gone"}})
    assert other.status == 409
    assert other.json()["message"] == (
        'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "a": the UID in the '
        f"token request (gone) does not match the UID of the service account ({uid})"
    )
    short = orjson.loads(orjson.dumps({**asked, "spec": {"expirationSeconds": 5}}))
    assert (await client.request("POST", path, json=short)).status == 422
    nobody = {**asked, "spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1"}}}
    unbound = await client.request("POST", path, json=nobody)
    assert (unbound.status, unbound.json()["message"]) == (400, "Name parameter required.")


TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
TYPES = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
ONLY_THESE = f"only the following media types are accepted: {TYPES}"
NO_ROUTE = f"406: Not Acceptable\n\nAvailable representations: text/plain, {TYPES}"
NO_LIST = (
    "you requested PartialObjectMetadataList, but the requested object is not a list "
    "(*rest.LocationStreamer)"
)
CREATED_ONLY = [
    (
        f"{REVIEWS}/selfsubjectaccessreviews",
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}},
        },
    ),
    (
        "/apis/authentication.k8s.io/v1/tokenreviews",
        {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": "x"},
        },
    ),
    (
        f"{PODS}/p/eviction?dryRun=All",
        {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}},
    ),
    (
        f"{PODS}/p/binding?dryRun=All",
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "p"},
            "target": {"name": "n"},
        },
    ),
]


@pytest.mark.parametrize(("path", "body"), CREATED_ONLY, ids=lambda value: str(value)[:40])
async def test_what_is_only_created_has_no_table(
    client: Client, path: str, body: dict[str, Any]
) -> None:
    """406 for who takes nothing else; who takes more gets the plain object."""
    await client.request("POST", PODS, json=pod("p"))
    refused = await client.request("POST", path, {"Accept": TABLE}, json=body)
    assert (refused.status, refused.json()["message"]) == (
        406,
        ONLY_THESE,
    )
    taken = await client.request("POST", path, {"Accept": f"{TABLE},application/json"}, json=body)
    assert (taken.status, taken.json()["kind"] == "Table") == (201, False)


@pytest.mark.parametrize(
    ("accept", "status", "message"),
    [
        (
            "text/html",
            406,
            NO_ROUTE,
        ),
        (
            "text/plain",
            406,
            ONLY_THESE,
        ),
        (
            TABLE,
            406,
            ONLY_THESE,
        ),
        (
            TABLE.replace("Table", "PartialObjectMetadata"),
            500,
            "object does not implement the Object interfaces",
        ),
        (
            TABLE.replace("Table", "PartialObjectMetadataList"),
            406,
            NO_LIST,
        ),
    ],
)
async def test_a_log_is_negotiated_as_an_object(
    client: Client, accept: str, status: int, message: str
) -> None:
    """Although it is sent as text, whatever was asked for."""
    await client.request("POST", PODS, json=pod("p"))
    answer = await client.request("GET", f"{PODS}/p/log", {"Accept": accept})
    assert (answer.status, answer.json()["message"]) == (status, message)
    assert (await client.request("GET", f"{PODS}/p/log", {"Accept": "*/*"})).status == 204


async def test_a_deletion_is_told_in_the_format_of_the_table(client: Client) -> None:
    """A success is no table, but it is YAML when the table would be."""
    await client.request("POST", f"{APPS}/deployments", json=deployment("d"))
    accept = {"Accept": TABLE.replace("json", "yaml")}
    answer = await client.request("DELETE", f"{APPS}/deployments/d?dryRun=All", accept)
    assert answer.head.get(b"content-type") == b"application/yaml"
    assert b"status: Success\n" in answer.body
