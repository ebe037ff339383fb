"""What is remembered for clients has a bound in bytes; each test plays a client that wants more."""

from __future__ import annotations

import gc
import re
import tracemalloc
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

from kubetrio.api.request import Request, RequestInfo, resolve
from kubetrio.audit.policy import Chosen, Level, Policy, Resources, Rule
from kubetrio.auth.authenticate import Authenticator
from kubetrio.auth.tokens import parse_token_file
from kubetrio.config import Config, Storage
from kubetrio.config.audit import Audit
from kubetrio.http.heads import head
from kubetrio.kinds.builtin import registry
from kubetrio.machinery.identity import Attributes, UserInfo
from kubetrio.machinery.names import GroupVersionKind
from kubetrio.machinery.objectmeta import validate_labels
from kubetrio.resources.fieldmanager import FieldManager
from kubetrio.schema.structural_scheme import scheme_of
from kubetrio.schema.structural_values import canonical_quantity
from kubetrio.testing.server import open_api

LONG = 100_000
TIMES = 200
KEPT_BYTES = 2_000_000  # of the 20 MB that each client sends


def path(text: str) -> None:
    resolve("GET", f"/api/v1/{text}", {})


def answer_fields(text: str) -> None:
    head(200, b"application/json", ((b"Location", text.encode()),), b"", b"", "")


def kind(text: str) -> None:
    scheme_of("").knows(GroupVersionKind("", "v1", text))


def label(text: str) -> None:
    validate_labels({text: text}, "metadata.labels")


def shape(text: str) -> None:
    resource = registry().resources["", "v1", "configmaps"]
    FieldManager(resource, "m", "2026-01-01T00:00:00Z").created({"data": {text: "x"}})


def number(text: str) -> None:
    with pytest.raises(ValueError, match="quantit"):
        canonical_quantity(text)


@pytest.mark.parametrize("ask", [path, answer_fields, kind, label, shape, number])
def test_long_keys_are_not_kept(ask: Callable[[str], None]) -> None:
    """Twenty megabytes come, and go again."""
    ask("warm")  # what is loaded at the first call is no cache
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for text in texts():
            ask(text)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < KEPT_BYTES
    finally:
        tracemalloc.stop()


def texts() -> Iterator[str]:
    for each in range(TIMES):
        yield f"a{each}-" + "x" * LONG


def test_credentials_with_many_blanks_are_not_kept(tmp_path: Path) -> None:
    """A good token is good with any number of blanks around it, and remembered with few."""
    authenticator = Authenticator([parse_token_file(b"secret,alice,1\n", "tokens")])
    for blanks in (1, 10, LONG):
        headers = {b"authorization": b"Bearer secret" + b" " * blanks}
        authenticator.authenticate(Request("GET", "/", "", headers, []))
    assert max(map(len, authenticator._known)) < 100


async def test_nothing_of_long_requests_stays(tmp_path: Path) -> None:
    """Through the whole pipeline, for somebody without credentials."""
    config = Config(data_dir=tmp_path / "data", storage=Storage(durability="normal"))
    async with open_api(config=config) as server, server.connect(certificate=None) as client:
        await client.request("GET", "/api/v1/a")
        gc.collect()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            for text in texts():
                text = text[: LONG // 4]  # of a head of 128 KiB
                await client.request("GET", f"/api/v1/{text}?{text}", {"Accept": text})
            gc.collect()
            assert tracemalloc.get_traced_memory()[0] - before < KEPT_BYTES
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("part", ["verb", "namespace", "resource", "subresource", "api_group"])
async def test_long_questions_to_authorizers_are_not_kept(tmp_path: Path, part: str) -> None:
    """Any part of a question is chosen by who asks."""
    config = Config(data_dir=tmp_path / "data", storage=Storage(durability="normal"))
    async with open_api(config=config) as server:
        user = UserInfo("alice", groups=("system:authenticated",))
        before = server.api.security.rbac.remembered()
        for text in ("short", *texts()):
            asked = {"verb": "get", "namespace": "default", "resource": "pods", part: text}
            server.api.security.rbac.authorize(Attributes(user=user, **asked))
        assert server.api.security.rbac.remembered() == before + 1


@pytest.mark.parametrize("part", ["verb", "namespace", "resource", "subresource", "group", "name"])
def test_long_questions_to_an_audit_policy_are_not_kept(part: str) -> None:
    """The same, where rules look at all of it."""
    only = Resources(resources=("pods",), names=("p",))
    rule = Rule(Chosen(Level.METADATA), namespaces=("default",), resources=(only,))
    policy = Policy([rule], Chosen(Level.NONE))
    for text in ("short", *texts()):
        asked = {"verb": "get", "path": "/", "resource": "pods", part: text}
        policy.choose("alice", (), RequestInfo(is_resource=True, **asked))
    assert policy.remembered() == 1


def numbers_of(text: str, family: str) -> dict[str, float]:
    found = re.findall(rf'^{family}{{cache="([^"]+)"}} (\S+)$', text, re.MULTILINE)
    return {place: float(value) for place, value in found}


async def test_each_cache_of_the_table_has_a_metric(tmp_path: Path) -> None:
    """And each that is counted is in the table, by the module where it is."""
    page = (Path(__file__).parents[1] / "docs/design/caches.md").read_text()
    rows = [line.split("|")[1:-1] for line in page.splitlines() if line.startswith("| ")][2:]
    rows = [row for row in rows if "kubetrio_connections" not in row[-1]]
    tick = re.compile(r"`([^`]+)`")
    for row in rows:
        assert [place + ".py" for place in tick.findall(row[-1])] == tick.findall(row[1])
    listed = {place for row in rows for place in tick.findall(row[-1])}
    for place in listed:
        import_module("kubetrio." + place.replace("/", "."))
    policy = tmp_path / "policy.yaml"
    policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
    config = Config(
        data_dir=tmp_path / "data",
        storage=Storage(durability="normal"),
        audit=Audit(policy_file=policy, log_path=str(tmp_path / "audit.log")),
    )
    async with open_api(config=config) as server, server.connect() as client:
        answer = await client.request("GET", "/metrics")
    assert set(numbers_of(answer.body.decode(), "kubetrio_cache_entries")) == listed
    assert set(numbers_of(answer.body.decode(), "kubetrio_cache_bytes")) <= listed


async def test_metrics_tell_how_much_is_remembered(tmp_path: Path) -> None:
    """A label that was validated is an entry more, and its bytes."""
    config = Config(data_dir=tmp_path / "data", storage=Storage(durability="normal"))
    async with open_api(config=config) as server, server.connect() as client:
        before, after = [], []
        for found in (before, after):
            text = (await client.request("GET", "/metrics")).body.decode()
            for family in ("kubetrio_cache_entries", "kubetrio_cache_bytes"):
                found.append(numbers_of(text, family)["machinery/objectmeta"])
            label("never-seen-before")
    assert [new - old for old, new in zip(before, after, strict=True)] == [
        2,
        2 * len("never-seen-before"),
    ]
