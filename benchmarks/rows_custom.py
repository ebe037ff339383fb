"""Rows about custom resources: beside ConfigMaps of the same size, and a thousand definitions."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from benchmarks import load, probe, process, requests
from benchmarks.clock import perf_counter, sleep
from benchmarks.endpoint import Endpoint
from benchmarks.errors import BenchError
from benchmarks.load import LoadResult, LoadSpec
from benchmarks.probe import ProbeSpec
from benchmarks.requests import NAME, SERIAL, Op
from benchmarks.rows import BenchmarkRow, Lab, Opened, Sample, Target
from benchmarks.rows_list import PROBED, calm_probe, lists, pause_sample
from benchmarks.rows_overhead import ORDER
from benchmarks.subjects import Running, Subject

GROUP = "bench.example.com"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CONNECTIONS = 16
PROPERTIES = 60
THOUSAND = 1_000
LIMIT_S = 30.0
SETTLE_S = 2.0
Object = dict[str, Any]
TEXT: Object = {"type": "string", "maxLength": 1024}
DATA: Object = {"type": "object", "additionalProperties": {"type": "string"}}
RULES = (
    "self.p00.size() > 0",
    "self.p01 != 'never'",
    "self.p02.startsWith('value')",
    "!has(self.p03) || self.p03.size() < 100",
    "self.p04 != '' || self.p05 != ''",
)


def definition(plural: str, kind: str, properties: Object) -> Object:
    """A definition with one version."""
    schema = {"type": "object", "properties": properties}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def define(endpoint: Endpoint, body: Object) -> float:
    """Make a definition; returns the seconds until it is established.

    Raises:
        BenchError: it is not within half a minute.
    """
    began = perf_counter()
    endpoint.call("POST", DEFINITIONS, body)
    path = f"{DEFINITIONS}/{body['metadata']['name']}"
    while perf_counter() - began < LIMIT_S:
        said = endpoint.call("GET", path).get("status", {}).get("conditions") or ()
        if any(one["type"] == "Established" and one["status"] == "True" for one in said):
            return perf_counter() - began
    raise BenchError(f"{path} is not established after {LIMIT_S:.0f} s")


def _properties() -> Object:
    return {f"p{number:02}": TEXT for number in range(PROPERTIES)}


def crates(endpoint: Endpoint) -> None:
    """Custom objects that look as ConfigMaps do."""
    define(endpoint, definition("crates", "Crate", {"data": DATA}))


def wides(endpoint: Endpoint) -> None:
    """Custom objects with many fields and some rules."""
    rules = [{"rule": rule} for rule in RULES]
    spec = {"type": "object", "properties": _properties(), "x-kubernetes-validations": rules}
    define(endpoint, definition("wides", "Wide", {"spec": spec}))


def collection(run: Running, plural: str) -> str:
    """Path of the custom objects of the row's namespace."""
    return f"/apis/{GROUP}/v1/namespaces/{run.namespace}/{plural}"


def _crate() -> str:
    core = '"apiVersion":"v1","kind":"ConfigMap"'
    return requests.body().replace(core, f'"apiVersion":"{GROUP}/v1","kind":"Crate"')


def _wide(api_version: str, kind: str, member: str) -> str:
    values = {name: f"value of {name}" for name in _properties()}
    values["p59"] = SERIAL
    body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": NAME}, member: values}
    return json.dumps(body, separators=(",", ":"))


def _turns(lab: Lab, run: Running, make: Callable[[bool], Op]) -> Sample:
    """Custom objects and ConfigMaps in turns."""
    found: dict[bool, list[LoadResult]] = {True: [], False: []}
    cpu = {True: 0.0, False: 0.0}
    for custom in ORDER:
        before = process.cpu_seconds(run.pids)
        spec = LoadSpec(
            endpoint=run.endpoint,
            ops=(make(custom),),
            connections=CONNECTIONS,
            seconds=lab.plan.seconds * 2 / len(ORDER),
            warmup=lab.plan.warmup / 2,
        )
        found[custom].append(load.run(spec))
        cpu[custom] += process.cpu_seconds(run.pids) - before
    answered = {custom: sum(one.answered for one in found[custom]) for custom in found}
    spent = {custom: cpu[custom] * 1e6 / answered[custom] for custom in cpu}
    rate = {custom: sum(one.rate for one in found[custom]) / 4 for custom in found}
    return Sample(
        value=rate[True],
        yardstick=rate[False],
        note=f"CPU of the server {spent[True]:.1f} us by request, of ConfigMaps {spent[False]:.1f}",
    )


def _fill(run: Running, count: int) -> None:
    op = requests.create(run.endpoint, collection(run, "crates"), _crate(), 0)
    load.run(LoadSpec(endpoint=run.endpoint, ops=(op,), connections=CONNECTIONS, count=count))


@contextlib.contextmanager
def _get(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    with subject.running(objects=lab.plan.small) as run:
        crates(run.endpoint)
        _fill(run, lab.plan.small)
        core = requests.get(run.endpoint, run.namespace, lab.plan.small)
        own = core.template.replace(run.collection, collection(run, "crates"))
        yield lambda: _turns(
            lab, run, lambda custom: replace(core, template=own) if custom else core
        )


@contextlib.contextmanager
def _list(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    with subject.running(objects=lab.plan.small) as run:
        crates(run.endpoint)
        _fill(run, lab.plan.small)

        def sample() -> Sample:
            beside = lists(run.endpoint, run.collection, lab.plan.seconds)
            result = lists(run.endpoint, collection(run, "crates"), lab.plan.seconds)
            return Sample(
                value=1e3 / result.p50_ms,
                yardstick=1e3 / beside.p50_ms,
                p50_ms=result.p50_ms,
                p99_ms=result.p99_ms,
                note=f"{result.bytes_per_s / 1e6:,.0f} MB/s,"
                f" ConfigMaps {beside.bytes_per_s / 1e6:,.0f} MB/s",
            )

        yield sample


@contextlib.contextmanager
def _post(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    with subject.running() as run:
        wides(run.endpoint)
        firsts = itertools.count(0, 1_000_000)
        core, own = _wide("v1", "ConfigMap", "data"), _wide(f"{GROUP}/v1", "Wide", "spec")

        def make(custom: bool) -> Op:
            path = collection(run, "wides") if custom else run.collection
            return requests.create(run.endpoint, path, own if custom else core, next(firsts))

        yield lambda: _turns(lab, run, make)


@contextlib.contextmanager
def _established(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    del lab
    with subject.running() as run:
        numbers = itertools.count()

        def sample() -> Sample:
            took = []
            for number in itertools.islice(numbers, 11):
                body = definition(f"kinds{number}", f"Kind{number}", {"spec": {"type": "object"}})
                took.append(define(run.endpoint, body) * 1e3)
            took.sort()
            return Sample(value=took[5], note=f"the longest of 11 {took[-1]:.0f} ms")

        yield sample


def _many(run: Running) -> None:
    """A thousand definitions, the last of which is established."""
    for number in range(THOUSAND - 1):
        body = definition(f"kinds{number}", f"Kind{number}", {"spec": {"type": "object"}})
        run.endpoint.call("POST", DEFINITIONS, body)
    define(run.endpoint, definition("last", "Last", {"spec": {"type": "object"}}))


def _restarted(value: Callable[[Any], float]) -> Callable[[Lab, Subject], Opened]:
    """What a thousand stored definitions cost a server that starts."""

    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        del lab
        with subject.restarts(_many) as full, subject.restarts(lambda _: None) as empty:

            def sample() -> Sample:
                found = []
                for start in (full, empty):
                    with start() as started:
                        sleep(SETTLE_S)
                        found.append(value(started))
                return Sample(
                    value=found[0] - found[1], note=f"{found[0]:.2f} beside {found[1]:.2f}"
                )

            yield sample

    return opened


@contextlib.contextmanager
def _one_more(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    with subject.running() as run:
        _many(run)
        numbers = itertools.count()

        def sample() -> Sample:
            calm = calm_probe(lab, run)
            name = f"more{next(numbers)}"
            body = definition(name, name.capitalize(), {"spec": {"type": "object"}})
            spec = ProbeSpec(endpoint=run.endpoint, path=PROBED, seconds=120)

            def add() -> float:
                took = define(run.endpoint, body)
                sleep(SETTLE_S)
                return took

            during, took = probe.during(spec, add)
            return pause_sample(calm, during, f"established after {took * 1e3:.0f} ms")

        yield sample


def _nested(count: int, depth: int) -> Object:
    """Properties in objects in objects, with the words that generated definitions have."""
    words = "A field with a description of some length, as it is generated from comments in Go."
    leaf = {"type": "string", "description": words}
    if not depth:
        return {"type": "object", "description": words, "properties": _named(count, leaf)}
    inner = _nested(count, depth - 1)
    return {"type": "object", "properties": {**_named(count, leaf), **_named(count, inner, "o")}}


def _named(count: int, part: Object, prefix: str = "f") -> Object:
    return {f"{prefix}{number}": part for number in range(count)}


@contextlib.contextmanager
def _large(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    with subject.running() as run:
        numbers = itertools.count()

        def sample() -> Sample:
            calm = calm_probe(lab, run)
            name = f"large{next(numbers)}"
            body = definition(name, name.capitalize(), {"spec": _nested(9, 3)})
            size = len(json.dumps(body)) >> 10
            obj = {
                "apiVersion": f"{GROUP}/v1",
                "kind": name.capitalize(),
                "metadata": {"name": "first"},
                "spec": {"f1": "x", "o1": {"f2": "y", "o3": {"f3": "z"}}},
            }
            spec = ProbeSpec(endpoint=run.endpoint, path=PROBED, seconds=120)

            def add() -> tuple[float, float]:
                took = define(run.endpoint, body)
                began = perf_counter()
                run.endpoint.call("POST", collection(run, name), obj)
                first = perf_counter() - began
                sleep(SETTLE_S)
                return took, first

            during, (took, first) = probe.during(spec, add)
            note = (
                f"{size} KiB established after {took * 1e3:.0f} ms, first object {first * 1e3:.0f}"
            )
            return pause_sample(calm, during, note)

        yield sample


ROWS = (
    BenchmarkRow(
        name="custom-get-16",
        title="GET of a custom object of 1 KB, 16 connections, beside a ConfigMap",
        unit="req/s",
        open=_get,
        yardstick="configmap",
        target=Target("ratio", ">=", 0.95),
    ),
    BenchmarkRow(
        name="custom-list",
        title="LIST of 1,000 custom objects of 1 KB, beside ConfigMaps",
        unit="list/s",
        open=_list,
        yardstick="configmaps",
        target=Target("ratio", ">=", 0.95),
    ),
    BenchmarkRow(
        name="custom-post-16",
        title="POST of 60 properties with five CEL rules, 16 connections, beside a ConfigMap",
        unit="req/s",
        open=_post,
        yardstick="configmap",
        target=Target("ratio", ">=", 0.6),
    ),
    BenchmarkRow(
        name="custom-established",
        title="time until a new definition is established",
        unit="ms",
        open=_established,
        target=Target("value", "<", 50),
    ),
    BenchmarkRow(
        name="custom-large-pause",
        title="pause of a GET while a definition of a megabyte and its first object come",
        unit="ms",
        open=_large,
        target=Target("value", "<", 20),
    ),
    BenchmarkRow(
        name="custom-1000-start",
        title="start with 1,000 stored definitions, beyond one without",
        unit="s",
        open=_restarted(lambda started: started.ready_s),
        target=Target("value", "<", 0.3),
    ),
    BenchmarkRow(
        name="custom-1000-memory",
        title="memory of a server with 1,000 stored definitions, beyond one without",
        unit="MB",
        open=_restarted(lambda started: process.memory_mb((started.process.pid,))),
        target=Target("value", "<", 40),
    ),
    BenchmarkRow(
        name="custom-1000-pause",
        title="pause of a GET while a definition joins 1,000",
        unit="ms",
        open=_one_more,
        target=Target("value", "<", 20),
    ),
)
