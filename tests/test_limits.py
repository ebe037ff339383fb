"""The page of limits says what holds: each row is played just within its bound and just over it.

What a server in memory cannot play stands in `ELSEWHERE`, with the test that does.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Awaitable, Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import pytest
import trio.testing

from kubetrio.machinery.identity import UserInfo
from kubetrio.testing.client import ADMIN, Answer
from kubetrio.testing.server import InProcess, open_api

ROOT = Path(__file__).parent
PAGE = ROOT.parent / "docs" / "reference" / "limits.md"
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?: (?:KiB|MiB|Ki|bytes|s\b))?")
UNITS = {"KiB": 1024, "Ki": 1024, "MiB": 1024**2}
MAPS = "/api/v1/namespaces/default/configmaps"
JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
PATCH = "application/json-patch+json"
NOBODY = UserInfo("nobody", groups=("system:authenticated",))


class Row(NamedTuple):
    """A row of the page.

    Args:
        limit: what is bounded.
        bound: how much there may be.
        place: the flag, or the module.
        answer: what the client sees.
    """

    limit: str
    bound: str
    place: str
    answer: str

    def number(self, at: int = 0) -> int:
        """A number of the bound, in bytes or pieces."""
        text, _, unit = NUMBER.findall(self.bound)[at].partition(" ")
        return int(float(text.replace(",", "")) * UNITS.get(unit, 1))


def rows() -> Iterator[Row]:
    """All rows of all tables."""
    before = ""
    for line in PAGE.read_text().splitlines():
        if line.startswith("|") and before.startswith("|") and not line.startswith("| ---"):
            yield Row(*(cell.strip() for cell in line.strip("|").split(" | ")))
        before = line


ROWS = {row.limit: row for row in rows()}


async def ask(
    server: InProcess,
    method: str,
    path: str,
    body: str | bytes | None = None,
    media: str = JSON,
    *,
    user: UserInfo = ADMIN,
    headers: dict[str, str] | None = None,
) -> Answer:
    """Send one request on a connection of its own."""
    data = body.encode() if isinstance(body, str) else body
    fields = {"Content-Type": media, **(headers or {})}
    async with server.connect(certificate=user) as client:
        return await client.request(method, path, headers=fields, body=data)


def config_map(rest: str = "", name: str = "a", meta: str = "") -> str:
    """A ConfigMap."""
    return f'{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"{meta}}}{rest}}}'


Play = Callable[[InProcess, Row], Awaitable[None]]


async def heads(server: InProcess, row: Row) -> None:
    """A path that fills the head, and fields."""
    most, fields = row.number(1), row.number(2)
    for size, code in ((most - 1000, 200), (most + 1000, 431)):
        assert (await ask(server, "GET", "/version?" + "a" * size)).status == code
    for count, code in ((fields - 20, 200), (fields + 20, 431)):
        named = {f"x-{n}": "" for n in range(count)}
        assert (await ask(server, "GET", "/version", headers=named)).status == code


async def bodies(server: InProcess, row: Row) -> None:
    """Blanks behind an object."""
    text = config_map()
    for size, code in ((row.number(), 201), (row.number() + 1, 413)):
        assert (await ask(server, "POST", MAPS, text.ljust(size))).status == code


async def reviews(server: InProcess, row: Row) -> None:
    """Of anybody's own rights."""
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    text = '{"spec":{"nonResourceAttributes":{"path":"/","verb":"get"}}}'
    for size, code in ((row.number(), 201), (row.number() + 1, 413)):
        assert (await ask(server, "POST", path, text.ljust(size), user=NOBODY)).status == code


async def parameters(server: InProcess, row: Row) -> None:
    """A selector that selects nothing, and many that say nothing."""
    for count, found in ((row.number(), 0), (row.number() + 1, 1)):
        path = f"{MAPS}?labelSelector=no%3Dsuch{'&a=' * (count - 1)}"
        assert len((await ask(server, "GET", path)).json()["items"]) == found, count


async def requirements(server: InProcess, row: Row) -> None:
    """Of labels and of fields."""
    for count, code in ((row.number(), 200), (row.number() + 1, 400)):
        labels = ",".join(f"a{n}" for n in range(count))
        fields = ",".join(["metadata.name!=b"] * count)
        for query in ({"labelSelector": labels}, {"fieldSelector": fields}):
            assert (await ask(server, "GET", f"{MAPS}?{urlencode(query)}")).status == code


async def wrong_values(server: InProcess, row: Row) -> None:
    """A list of values that are none."""
    texts = ",".join(f"-{n}-" for n in range(3 * row.number()))
    query = urlencode({"labelSelector": f"a in ({texts})"})
    message = (await ask(server, "GET", f"{MAPS}?{query}")).json()["message"]
    assert message.count("Invalid value") == row.number()


async def operations(server: InProcess, row: Row) -> None:
    """Tests that hold, and copies of a text."""
    test = '{"op":"test","path":"/kind","value":"ConfigMap"}'
    for count, code in ((row.number(), 200), (row.number() + 1, 413)):
        patch = f"[{','.join([test] * count)}]"
        assert (await ask(server, "PATCH", f"{MAPS}/there", patch, PATCH)).status == code
    text = json.dumps({"op": "add", "path": "/data", "value": {"a": "x" * 300_000}})
    copy = '{"op":"copy","from":"/data/a","path":"/data/b"}'
    for count, codes in ((5, (200,)), (20, (413, 422))):
        patch = f"[{','.join([text, *[copy] * count])}]"
        assert (
            await ask(server, "PATCH", f"{MAPS}/there?dryRun=All", patch, PATCH)
        ).status in codes


async def depths(server: InProcess, row: Row) -> None:
    """Of JSON and YAML; CBOR and protobuf have tests of their own."""
    for at, media in enumerate((JSON, YAML)):
        deep = row.number(at)
        for depth, good in ((deep - 2, True), (deep + 1, False)):
            text = config_map(f',"x":{"[" * depth}{"]" * depth}', f"d{at}{depth}")
            answer = await ask(server, "POST", f"{MAPS}?fieldValidation=Ignore", text, media)
            said = answer.json().get("message", "")
            assert good is not ("depth" in said or "max" in said), (media, depth, said[:200])


async def weights(server: InProcess, row: Row) -> None:
    """Empty objects, of which each weighs 32."""
    for count, code in ((row.number() // 32 - 100, 201), (row.number() // 32 + 1, 413)):
        answer = await ask(server, "POST", MAPS, config_map(f',"x":[{"{}," * count}{{}}]', "w"))
        assert answer.status == code
    assert "too many values" in answer.json()["message"]


async def aliases(server: InProcess, row: Row) -> None:
    """Lists of lists of lists."""
    text = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: al}\na: &a [%s]\nb: &b [%s]\nc: [%s]\n"
    )
    for count, code in ((row.number() // 1111 - 1, 201), (row.number() // 1000 + 1, 400)):
        tens = text % (",".join("1" * 9), ",".join(["*a"] * 100), ",".join(["*b"] * count))
        assert (await ask(server, "POST", MAPS, tens, YAML)).status == code, count


async def strict(server: InProcess, row: Row) -> None:
    """Fields that nobody knows."""
    most = row.number()
    fields = "".join(f',"x{n}":1' for n in range(most + 50))
    path = f"{MAPS}?fieldValidation=Strict"
    message = (await ask(server, "POST", path, config_map(fields, "s"))).json()["message"]
    assert message.count("unknown field") == most


async def causes(server: InProcess, row: Row) -> None:
    """Finalizers that are none."""
    most = row.number()
    for count, told in ((most // 2, most), (most + 500, most)):
        texts = json.dumps([f"{n}" for n in range(count)])
        answer = await ask(server, "POST", MAPS, config_map("", "c", f',"finalizers":{texts}'))
        assert len(answer.json()["details"]["causes"]) <= told
    long = json.dumps(["x" * 2000] * 500)
    answer = await ask(server, "POST", MAPS, config_map("", "c", f',"finalizers":{long}'))
    told = sum(len(cause["message"]) for cause in answer.json()["details"]["causes"])
    assert row.number(1) - 2500 < told < row.number(1) + 2500


async def clauses(server: InProcess, row: Row) -> None:
    """The one that can be had comes last."""
    for count, code in ((row.number() - 1, 200), (row.number(), 406)):
        accept = {"Accept": ",".join(["a/b"] * count + [JSON])}
        assert (await ask(server, "GET", MAPS, headers=accept)).status == code, count


async def managers(server: InProcess, row: Row) -> None:
    """Of letters, of which each is a byte."""
    for size, code in ((row.number(), 201), (row.number() + 1, 422)):
        path = f"{MAPS}?dryRun=All&fieldManager={'m' * size}"
        assert (await ask(server, "POST", path, config_map())).status == code


async def told_back(server: InProcess, row: Row) -> None:
    """A path that somebody may not see."""
    for size in (row.number() - 100, 4 * row.number()):
        answer = await ask(server, "GET", "/" + "p" * size, user=NOBODY)
        assert answer.status == 403
        assert answer.body.count(b"p" * 50) * 50 <= row.number() + 100


async def future(server: InProcess, row: Row) -> None:
    """A revision that nobody has made."""
    began = trio.current_time()
    answer = await ask(server, "GET", f"{MAPS}?resourceVersion=999999")
    assert (answer.status, answer.head.get(b"retry-after")) == (504, b"1")
    assert began + row.number() <= trio.current_time() < began + row.number() + 2


async def numbers(server: InProcess, row: Row) -> None:
    """The largest number, and the next one."""
    most = 2 ** row.number() - 1
    for number, code in ((most, 200), (most + 1, 400)):
        assert (await ask(server, "GET", f"{MAPS}?limit={number}")).status == code
    answer = await ask(server, "GET", f"{MAPS}?watch=1&timeoutSeconds={most + 1}")
    assert answer.status == 400


async def revisions(server: InProcess, row: Row) -> None:
    """The largest is of the future."""
    most = 2 ** row.number() - 1
    for number, code in ((most, 504), (most + 1, 400)):
        assert (await ask(server, "GET", f"{MAPS}?resourceVersion={number}")).status == code


async def token_depth(server: InProcess, row: Row) -> None:
    """Nobody's token, which is 401 as any other."""
    from base64 import urlsafe_b64encode

    for depth in (row.number() - 2, row.number() + 1, 900):
        deep = f'{{"iss":"https://a","a":{"[" * depth}{"]" * depth}}}'
        token = f"e30.{urlsafe_b64encode(deep.encode()).decode().rstrip('=')}.x"
        headers = {"Authorization": f"Bearer {token}"}
        async with server.connect(certificate=None) as client:
            assert (await client.request("GET", MAPS, headers=headers)).status == 401


PLAYED: dict[str, Play] = {
    "request head": heads,
    "request body": bodies,
    "body of a review about oneself": reviews,
    "numbers in options: `limit`, `timeoutSeconds` and others": numbers,
    "number in `resourceVersion`": revisions,
    "parameters of a query": parameters,
    "requirements of a label or field selector in a query": requirements,
    "values of one requirement that are told to be wrong": wrong_values,
    "operations of a JSON patch": operations,
    "depth of JSON, YAML, protobuf, CBOR": depths,
    "depth of JSON in a bearer token": token_depth,
    "weight of a body in JSON, without its texts": weights,
    "nodes that YAML aliases make": aliases,
    "messages about unknown and repeated fields": strict,
    "causes of a refusal that are told": causes,
    "clauses of an `Accept` header": clauses,
    "length of a field manager's name": managers,
    "path or name that a refusal (403) tells back": told_back,
    "a read of a revision that is not there yet": future,
}
ELSEWHERE = {
    "connections at a time": (
        "http/test_connections.py::test_a_new_connection_goes_where_all_are_busy"
    ),
    "of them, from one address": "http/test_connections.py::test_one_address_has_its_own_bound",
    "of them, without credentials": "http/test_connections.py::test_the_oldest_idle_stranger_goes",
    "all certificates that a client sends": (
        "http/test_tls.py::test_a_crowd_of_certificates_ends_the_handshake"
    ),
    "certificates between a client's and its authority": (
        "http/test_tls.py::test_chains_are_bounded"
    ),
    "TLS handshake": "http/test_serve.py::test_slow_handshakes_end",
    "what is read at a time of an HTTP/2 client without credentials": (
        "http/test_bridge.py::test_a_stranger_is_read_a_little_at_a_time"
    ),
    "requests without credentials that begin in one pass of the event loop": (
        "http/test_turns.py::test_a_crowd_begins_a_few_at_a_time_in_order"
    ),
    "idle connection": "http/test_serve.py::test_slow_connections_are_swept",
    "answer of which the client takes nothing": (
        "http/test_h2buffers.py::test_a_connection_without_progress_is_closed"
    ),
    "HTTP/2 answers that wait, of all clients": (
        "http/test_h2buffers.py::test_the_stream_that_waits_longest_makes_room"
    ),
    "HTTP/2 requests under way, of all clients, but for watches": (
        "http/test_h2streams.py::test_who_asks_for_little_is_served_beside_a_flood"
    ),
    "HTTP/2 streams of one connection": (
        "server/test_tlsfiles.py::test_streams_of_http2_have_the_bound_of_the_flag"
    ),
    "HTTP/2 request body that the server has not begun to read": (
        "http/test_h2streams.py::test_a_body_that_nobody_reads_stops_coming"
    ),
    "time for a request that is no watch": "api/test_deadlines.py::test_a_limit_is_kept",
    "time for a watch without a time-out of its own": (
        "resources/test_resources_watching.py::test_a_watch_ends_when_its_time_is_up"
    ),
    "reads and writes at a time": "flow/test_queueset.py::test_queue_full",
    "bodies that come while their requests have no seat, of all clients, "
    "by the lengths that they announce": (
        "api/test_pendingbodies.py::test_one_user_leaves_room_for_another"
    ),
    "object as it is stored, in JSON": (
        "resources/test_resources_objects.py::test_what_is_too_large_is_refused"
    ),
    "defaults that a schema adds to a custom resource": (
        "crd/test_customvalidation.py::test_defaults_take_no_more_room_than_there_is"
    ),
    "steps of checking a custom resource by its schema": (
        "crd/test_customvalidation.py::test_too_much_work_is_one_cause"
    ),
    "steps of checking the defaults in a CustomResourceDefinition": (
        "crd/test_customvalidation.py::test_defaults_in_a_schema_are_checked_in_bounded_effort"
    ),
    "path or query that is read before its request has a seat": (
        "api/test_outlines.py::test_what_a_stranger_may_not_see_is_not_parsed_for_them"
    ),
    "depth of `fieldsV1`, and of keys and values in it": (
        "api/test_depths.py::test_steps_of_managed_fields"
    ),
    "nodes of YAML": "wire/test_weights.py::test_nodes_of_yaml_are_counted",
    "items of CBOR": "wire/test_cborscan.py::test_many_items",
    "history": "watch/test_hub.py::test_behind_compaction_a_watcher_is_told",
    "recent events in memory": "watch/test_window.py::test_the_oldest_go_when_the_bound_is_passed",
    "selectors of watches over 1,024 characters, different ones": (
        "api/test_longselectors.py::test_a_user_may_have_so_much_of_long_ones"
    ),
    "unsent events of one watch": "watch/test_hub.py::test_the_window_is_pulled_in_pieces",
    "an expression in CEL": "cel/test_cel_budget.py::test_values_that_double",
    "all expressions of a request, or of an object's rules": (
        "cel/test_cel_budget.py::test_all_expressions_together"
    ),
    "an expression about claims, users or reviews of authorization, "
    "which the event loop waits for": (
        "cel/test_cel_budget.py::test_what_is_evaluated_on_the_loop_alone_takes_less"
    ),
    "turns of all loops of an expression": (
        "structural/test_celrules.py::test_loops_have_their_limit"
    ),
    "a pattern (regular expression), in a schema or an expression": (
        "gotext/regexp/test_syntax.py::test_what_takes_long_to_compile_is_too_large"
    ),
    "steps of compiling the patterns of a CustomResourceDefinition": (
        "gotext/regexp/test_syntax.py::test_compiling_takes_effort"
    ),
    "connecting to a kubelet": "api/proxy/test_podlogs.py::test_a_kubelet_that_is_not_there",
    "depth of an OpenAPI document of an aggregated server": (
        "api/test_depths.py::test_documents_of_aggregated_servers"
    ),
    "depth of an object that a conversion webhook answers": (
        "api/test_depths.py::test_answers_of_conversion_webhooks"
    ),
    "requests pipelined behind a watch": (
        "http/test_h1.py::test_few_bytes_are_kept_behind_a_stream"
    ),
    "Events (the objects)": "scenarios/test_event_ttl.py::test_events_go_behind_their_ttl",
    "head of a backend's answer": "backend/test_exchange.py::test_a_head_without_end",
    "page whose links are rewritten for a proxy": (
        "api/proxy/test_proxying.py::test_links_lead_through_the_proxy"
    ),
    "what the database holds": (
        "store/sqlite/test_maintenance.py::test_a_full_database_takes_deletions"
    ),
    "memory of the process, without mapped files": (
        "api/test_stages.py::test_without_memory_requests_wait_for_better_times"
    ),
    "room on the disk that is kept for deletions and for the end": (
        "store/sqlite/test_space.py::test_only_deletions_are_taken"
    ),
}


def test_each_row_is_played_or_tested_elsewhere() -> None:
    """And nothing is played that the page does not have."""
    assert set(ROWS) == {*PLAYED, *ELSEWHERE}
    assert not PLAYED.keys() & ELSEWHERE.keys()


ANSWERS = {
    "request head": "431",
    "request body": "413",
    "body of a review about oneself": "413",
    "numbers in options: `limit`, `timeoutSeconds` and others": "400",
    "number in `resourceVersion`": "400",
    "requirements of a label or field selector in a query": "400",
    "operations of a JSON patch": "413",
    "depth of JSON, YAML, protobuf, CBOR": "400",
    "depth of JSON in a bearer token": "401",
    "weight of a body in JSON, without its texts": "413",
    "nodes that YAML aliases make": "400",
    "length of a field manager's name": "422",
    "path or name that a refusal (403) tells back": "The rest is not told.",
    "messages about unknown and repeated fields": "The rest is not told.",
    "causes of a refusal that are told": "The rest is not told.",
    "values of one requirement that are told to be wrong": "The rest is not told.",
    "clauses of an `Accept` header": "The rest is not read.",
    "parameters of a query": "As without a query",
    "a read of a revision that is not there yet": "504 `Timeout`, `Retry-After: 1`",
}
"""What is played is what the page says."""


def test_what_is_played_is_what_the_page_says() -> None:
    """Of each row that is played, the answer over its bound."""
    assert ANSWERS.keys() == PLAYED.keys()
    for limit, said in ANSWERS.items():
        assert said in ROWS[limit].answer


def test_rows_say_all() -> None:
    """Where a bound is set, and what is answered at it."""
    for row in ROWS.values():
        assert all(row), row
        assert "`" in row.place or row.place == "the engine", row


@cache
def names_in(path: Path) -> frozenset[str]:
    """Names of the tests of a module."""
    nodes = ast.walk(ast.parse(path.read_text()))
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in functions)


@pytest.mark.parametrize("limit", ELSEWHERE)
def test_other_tests_are_there(limit: str) -> None:
    """By their names."""
    path, _, name = ELSEWHERE[limit].partition("::")
    assert name in names_in(ROOT / path)


@pytest.mark.parametrize("limit", PLAYED)
async def test_a_row_holds(autojump_clock: trio.testing.MockClock, limit: str) -> None:
    """Within its bound, and over it."""
    del autojump_clock
    async with open_api() as server:
        made = await ask(server, "POST", MAPS, config_map(',"data":{}', "there"))
        assert made.status == 201
        await PLAYED[limit](server, ROWS[limit])
