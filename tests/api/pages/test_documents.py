"""Discovery, OpenAPI, version and metrics over HTTP."""

from __future__ import annotations

import re
from typing import Any

import pytest
import trio

from kubetrio.api.encoding import serializers
from kubetrio.api.pages.documents import GIT_VERSION, SWAGGER_FORMS, a_year_from, preferred
from kubetrio.schema import openapi
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess
from kubetrio.wire import protowire

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
SWAGGER = "application/com.github.proto-openapi.spec.v2{}v1.0+protobuf"


def test_the_version_is_semantic() -> None:
    """Clients parse it (semver.org 2.0.0, with a v before it)."""
    assert re.fullmatch(r"v1\.36\.\d+\+[0-9A-Za-z.-]+", GIT_VERSION)


META = "io.k8s.apimachinery.pkg.apis.meta.v1."
PROTOBUF = "application/vnd.kubernetes.protobuf"


@pytest.mark.parametrize(
    ("path", "accept", "code", "media"),
    [
        ("/api", "*/*", 200, "application/json"),
        ("/api", "application/yaml", 200, "application/yaml"),
        ("/api", PROTOBUF, 200, PROTOBUF),
        ("/api", "text/html", 406, "application/json"),
        ("/apis", "application/yaml", 200, "application/yaml"),
        ("/apis", "text/html", 406, "application/json"),
        ("/apis/apps", PROTOBUF, 200, PROTOBUF),
        ("/apis/apps/v1", "application/yaml", 200, "application/yaml"),
        ("/apis/apps/v1", "text/html", 406, "application/json"),
        ("/version", "*/*", 200, "application/json"),
        ("/version", "application/yaml", 406, "application/yaml"),
        ("/apis", AGGREGATED, 200, AGGREGATED),
        ("/apis", f"application/json, {AGGREGATED}", 200, AGGREGATED),
        ("/api", AGGREGATED.replace("json", "yaml"), 200, AGGREGATED.replace("json", "yaml")),
        ("/api", AGGREGATED.replace("application/json", PROTOBUF), 200, None),
        # The beta went with 1.36; whoever names something else too gets that.
        ("/apis", AGGREGATED.replace("v=v2", "v=v2beta1"), 406, "application/json"),
        ("/apis", AGGREGATED.replace("v=v2", "v=v9") + ",application/json", 200, None),
        ("/apis/apps", AGGREGATED + ",application/json", 200, "application/json"),
    ],
)
async def test_the_form_a_client_takes(
    client: Client, path: str, accept: str, code: int, media: str | None
) -> None:
    """As for any object, and the aggregated one if it is named anywhere."""
    answer = await client.request("GET", path, {"Accept": accept})
    assert answer.status == code
    if media is not None:
        assert answer.head.get(b"content-type") == media.encode()


async def test_discovery_as_protobuf_is_discovery(client: Client) -> None:
    """The same document, in its envelope."""
    for path, name in [("/api/v1", "APIResourceList"), ("/apis", "APIGroupList")]:
        plain = (await client.request("GET", path)).json()
        answer = await client.request("GET", path, {"Accept": PROTOBUF})
        envelope = protowire.unwrap(answer.body)
        assert (envelope.api_version, envelope.kind) == (plain.get("apiVersion", ""), name)
        decoded = serializers.protobuf().decode(envelope.raw, META + name)
        for member in ("groupVersion", "groups", "resources"):
            assert decoded.get(member) == plain.get(member)


async def test_browsers_and_curl_get_indented_documents(client: Client) -> None:
    """And who asks for it."""
    for path, headers in [
        ("/api", {"User-Agent": "curl/8"}),
        ("/apis/apps?pretty=1", {}),
        ("/version", {}),
        ("/", {}),
    ]:
        assert (await client.request("GET", path, headers)).body.startswith(b'{\n  "')
    assert b"\n " not in (await client.request("GET", "/apis/apps")).body


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        # A router knows the method of these.
        ("HEAD", "/api", 405),
        ("HEAD", "/version", 405),
        ("PUT", "/apis/apps/v1", 405),
        # Nobody looks at the method of the others.
        ("HEAD", "/apis", 200),
        ("DELETE", "/apis/apps", 200),
        ("POST", "/openapi/v3", 200),
        ("PUT", "/metrics", 200),
        ("POST", "/index.html", 200),
        # Paths are not cleaned up.
        ("GET", "//api", 404),
        ("GET", "//api/v1/namespaces", 404),
        ("GET", "/healthz/", 404),
        ("GET", "/openapi/v2/", 404),
        ("GET", "/openapi/v3/", 404),
        ("GET", "/openapi/v3/apis/apps/v9", 404),
    ],
)
async def test_methods_and_paths(client: Client, method: str, path: str, code: int) -> None:
    """As kube-apiserver's two muxes have them."""
    assert (await client.request(method, path)).status == code


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/*", "application/json"),
        ("*/json", "application/json"),
        ("application/json", "application/json"),
        (SWAGGER.format("@"), SWAGGER.format("@")),
        (SWAGGER.format("."), SWAGGER.format(".")),
        (SWAGGER.format("@") + ", application/json", SWAGGER.format("@")),
        ("application/json, " + SWAGGER.format("."), "application/json"),
        (SWAGGER.format(".") + ";q=0.5, application/json", "application/json"),
        (SWAGGER.replace("v1.0", "v9.0").format(".") + ", */*", "application/json"),
        (SWAGGER.replace("v1.0", "v9.0").format("."), ""),
        ("application/yaml", ""),
        ("text/html", ""),
        ("text/*", ""),
    ],
)
def test_the_swagger_form_a_client_prefers(accept: str, form: str) -> None:
    """JSON unless it names protobuf first, and nothing when it names neither."""
    assert preferred(accept, SWAGGER_FORMS) == form


@pytest.mark.parametrize(
    ("path", "accept"),
    [
        ("/openapi/v2", "application/yaml"),
        ("/openapi/v2", "text/html"),
        ("/openapi/v2", SWAGGER.replace("v1.0", "v9.0").format(".")),
        ("/openapi/v3/api/v1", "application/yaml"),
        ("/openapi/v3/api/v1", SWAGGER.format("@")),
    ],
)
async def test_an_openapi_form_that_there_is_not(client: Client, path: str, accept: str) -> None:
    """406 without a word."""
    answer = await client.request("GET", path, {"Accept": accept})
    assert (answer.status, answer.body) == (406, b"")
    assert not answer.head.get(b"content-type")
    assert b"Accept" in answer.head.get(b"vary")


async def test_no_openapi_document_in_no_form(client: Client) -> None:
    """Whether there is a document comes before what it could be sent as."""
    answer = await client.request("GET", "/openapi/v3/nothing", {"Accept": "text/html"})
    assert (answer.status, answer.body) == (404, b"")


@pytest.mark.parametrize("sign", [".", "@"])
async def test_an_openapi_document_as_protobuf(client: Client, sign: str) -> None:
    """The v3 form has the name that is a media type, whichever name it was asked for by."""
    form = SWAGGER.replace("v2", "v3")
    path = "/openapi/v3/version"
    answer = await client.request("GET", path, {"Accept": form.format(sign)})
    assert (answer.status, answer.head.get(b"content-type")) == (200, form.format(".").encode())
    assert answer.body.startswith(b"\n\x053.0.0")


async def test_openapi_documents_end_without_a_newline(client: Client) -> None:
    """Go marshals them; it does not print them line by line."""
    for path in ("/openapi/v2", "/openapi/v3", "/openapi/v3/version"):
        assert (await client.request("GET", path)).body.endswith(b"}"), path


async def test_openapi_documents_name_the_emulated_version(client: Client) -> None:
    """Major and minor, as the emulated version has no patch."""
    for path in ("/openapi/v2", "/openapi/v3/version"):
        assert (await client.request("GET", path)).json()["info"]["version"] == "1.36"


async def test_an_openapi_document_of_another_hash_is_elsewhere(client: Client) -> None:
    """What the headers of the document say is said with the redirection; there is no page."""
    path = "/openapi/v3/apis/coordination.k8s.io/v1"
    document = await client.request("GET", path)
    answer = await client.request("GET", f"{path}?hash=old")
    assert (answer.status, answer.body) == (301, b"")
    for name in (b"content-type", b"etag", b"vary"):
        assert answer.head.get(name) == document.head.get(name)
    there = await client.request("GET", answer.head.get(b"location").decode())
    assert (there.status, there.body) == (200, document.body)


@pytest.mark.parametrize("separator", ["@", "."])
async def test_swagger_as_protobuf(client: Client, separator: str) -> None:
    """With a type that is valid, and an entity tag of its own."""
    plain = await client.request("GET", "/openapi/v2")
    asked = {"Accept": SWAGGER.format(separator)}
    answer = await client.request("GET", "/openapi/v2", asked)
    assert answer.status == 200
    assert answer.head.get(b"content-type") == SWAGGER.format(".").encode()
    assert b"Accept" in answer.head.get(b"vary")
    assert answer.body.startswith(b"\x0a\x032.0")
    tag = answer.head.get(b"etag")
    assert tag != plain.head.get(b"etag")
    again = await client.request("GET", "/openapi/v2", {**asked, "If-None-Match": tag.decode()})
    assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize(
    ("path", "accept"),
    [
        ("/openapi/v2", "application/json"),
        ("/openapi/v2", SWAGGER.format("@")),
        ("/openapi/v3/api/v1", "application/json"),
    ],
)
async def test_others_have_their_turn_while_a_large_document_is_made(
    server: InProcess, path: str, accept: str
) -> None:
    """The loop comes round at least once for every few paths of the document."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    async with server.connect() as client, trio.open_nursery() as nursery:
        nursery.start_soon(count)
        before = turns
        answer = await client.request("GET", path, {"Accept": accept})
        first = turns - before
        assert answer.status == 200
        before = turns
        assert (await client.request("GET", path, {"Accept": accept})).body == answer.body
        again = turns - before
        nursery.cancel_scope.cancel()
    assert first - again > 50


async def test_a_large_document_is_made_once_for_all_who_ask(
    server: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who asks while it is made waits for it."""
    made = []
    real = openapi.swagger_steps

    def counted(*args: Any, **named: Any) -> Any:
        made.append(args)
        return real(*args, **named)

    monkeypatch.setattr(openapi, "swagger_steps", counted)
    bodies = []

    async def ask() -> None:
        async with server.connect() as client:
            bodies.append((await client.request("GET", "/openapi/v2")).body)

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(ask)
    assert len(made) == 1
    assert len(bodies) == 3
    assert len(set(bodies)) == 1


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/api", "APIVersions"),
        ("/apis", "APIGroupList"),
        ("/api/v1", "APIResourceList"),
        ("/apis/apps", "APIGroup"),
        ("/apis/apps/v1", "APIResourceList"),
    ],
)
async def test_legacy_discovery(client: Client, path: str, kind: str) -> None:
    """Each document is of its kind."""
    answer = await client.request("GET", path)
    assert answer.status == 200
    assert answer.json()["kind"] == kind


@pytest.mark.parametrize("path", ["/api", "/apis"])
async def test_aggregated_discovery(client: Client, path: str) -> None:
    """One document for everything, with the type that was asked for."""
    answer = await client.request("GET", path, {"Accept": AGGREGATED})
    assert answer.head.get(b"content-type") == AGGREGATED.replace("json;", "json;").encode()
    assert answer.json()["kind"] == "APIGroupDiscoveryList"
    assert b"Accept" in answer.head.get(b"vary")


@pytest.mark.parametrize("path", ["/api", "/apis", "/api/v1", "/openapi/v3", "/openapi/v3/api/v1"])
async def test_documents_are_not_sent_twice(client: Client, path: str) -> None:
    """A client that has the document's ETag gets 304 and nothing."""
    tag = (await client.request("GET", path)).head.get(b"etag").decode()
    assert tag
    again = await client.request("GET", path, {"If-None-Match": tag})
    assert (again.status, again.body) == (304, b"")
    assert again.head.get(b"etag").decode() == tag
    other = await client.request("GET", path, {"If-None-Match": '"other"'})
    assert other.status == 200


async def test_every_document_of_the_openapi_index_is_there(client: Client) -> None:
    """Under the very URL that the index names, for ever cacheable."""
    index = (await client.request("GET", "/openapi/v3")).json()["paths"]
    for name in ("api/v1", "apis/apps/v1", "apis/coordination.k8s.io/v1"):
        answer = await client.request("GET", index[name]["serverRelativeURL"])
        assert answer.status == 200, name
        assert b"immutable" in answer.head.get(b"cache-control")
        assert answer.json()["openapi"].startswith("3.")
        assert answer.head.get(b"expires").endswith(b" UTC")


@pytest.mark.parametrize(
    ("now", "then"),
    [
        (1_700_000_000, b"Thu, 14 Nov 2024 22:13:20 UTC"),
        (1_709_164_800 + 86_400, b"Sat, 01 Mar 2025 00:00:00 UTC"),
    ],
)
def test_what_never_changes_expires_in_a_year(now: int, then: bytes) -> None:
    """On the same day, or on the first of March behind a leap day."""
    assert a_year_from(now) == then


async def test_every_path_of_the_root_is_served(client: Client) -> None:
    """What `GET /` lists is there."""
    paths = (await client.request("GET", "/")).json()["paths"]
    assert "/readyz/etcd" in paths
    for path in paths:
        if path.startswith("/openapi"):
            continue  # large; see above
        assert (await client.request("GET", path)).status == 200, path


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize("path", ["/version", "/api", "/apis/apps/v1"])
async def test_documents_are_only_read(client: Client, method: str, path: str) -> None:
    """405 for the rest."""
    assert (await client.request(method, path)).status == 405


async def test_metrics_count_requests(client: Client) -> None:
    """With the labels of kube-apiserver's own metric."""
    await client.request("GET", "/api/v1/namespaces/default")
    answer = await client.request("GET", "/metrics")
    assert answer.head.get(b"content-type").startswith(b"text/plain; version=0.0.4")
    pattern = r'^apiserver_request_total\{[^}]*resource="namespaces"[^}]*verb="GET"[^}]*\} 1'
    assert re.search(pattern, answer.body.decode(), re.MULTILINE)


async def test_metrics_are_not_for_everybody(server: InProcess) -> None:
    """Nor is discovery for anonymous clients."""
    async with server.connect(certificate=None) as anonymous:
        assert (await anonymous.request("GET", "/metrics")).status == 403
        assert (await anonymous.request("GET", "/api")).status == 403


@pytest.mark.parametrize(
    "accept",
    ["application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;pretty=0", "a/b, */*"],
)
async def test_the_version_is_one_whatever_it_is_asked_as(client: Client, accept: str) -> None:
    """Only the router looks at the media type; parameters mean nothing."""
    answer = await client.request("GET", "/version", {"Accept": accept})
    assert (answer.status, answer.json()["minor"]) == (200, "36")


async def test_a_document_made_again_is_the_same(server: InProcess, client: Client) -> None:
    """Freeing one takes nothing away from those that are made later."""
    said = []
    for _ in range(2):
        server.api.storage.registry.add(())  # forgets what was made
        said.append((await client.request("GET", "/openapi/v2")).body)
    assert said[0] == said[1]
