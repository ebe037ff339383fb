"""Rows about larger writes: create and server-side apply, and what the rulebook alone costs."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator

from benchmarks import load, manifests, requests, rulebook
from benchmarks.errors import Unavailable
from benchmarks.load import LoadSpec
from benchmarks.manifests import Object
from benchmarks.rows import BenchmarkRow, Lab, Opened, Sample, Target
from benchmarks.rows_request import beside_asgi, measure
from benchmarks.rulebook import RulebookSpec
from benchmarks.subjects import Kubetrio, Running, Subject

CONNECTIONS = 16


def _path(run: Running, obj: Object) -> str:
    """Path of the collection an object of ours belongs to."""
    group, version, resource = manifests.PLACES[obj["kind"]]
    prefix = f"/apis/{group}" if group else "/api"
    return f"{prefix}/{version}/namespaces/{run.namespace}/{resource}"


def _open_for_pods(run: Running) -> None:
    """Make what kube-apiserver wants a Pod's namespace to have, and no controller makes here."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    path = f"/api/v1/namespaces/{run.namespace}/serviceaccounts"
    run.endpoint.call("POST", path, account, accept=(201, 409))


def _create(make: Callable[[], Object]) -> Callable[[Lab, Subject], Opened]:
    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        with subject.running() as run:
            _open_for_pods(run)
            firsts = itertools.count(0, 1_000_000)
            path, content = _path(run, make()), manifests.template(make())

            def sample() -> Sample:
                op = requests.create(run.endpoint, path, content, next(firsts))
                return beside_asgi(lab, measure(lab, run, CONNECTIONS, op), CONNECTIONS)

            yield sample

    return opened


def _apply(make: Callable[[], Object]) -> Callable[[Lab, Subject], Opened]:
    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        with subject.running() as run:
            _open_for_pods(run)
            span = lab.plan.small
            op = requests.apply(run.endpoint, _path(run, make()), manifests.template(make()), span)
            # The first time around creates the objects.
            load.run(
                LoadSpec(endpoint=run.endpoint, ops=(op,), connections=CONNECTIONS, count=span)
            )
            yield lambda: beside_asgi(lab, measure(lab, run, CONNECTIONS, op), CONNECTIONS)

    return opened


def _change(
    make: Callable[[], Object], method: str, content: Object, *, below: str = ""
) -> Callable[[Lab, Subject], Opened]:
    """Small changes of objects that are there: the traffic of controllers and of nodes.

    Args:
        make: an object.
        method: PUT or PATCH.
        content: what is sent.
        below: subresource, with a slash before it.
    """

    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        with subject.running() as run:
            _open_for_pods(run)
            span, path = lab.plan.small, _path(run, make())
            made = requests.create(run.endpoint, path, manifests.template(make()), 0)
            load.run(
                LoadSpec(endpoint=run.endpoint, ops=(made,), connections=CONNECTIONS, count=span)
            )
            op = requests.change(
                run.endpoint,
                method,
                f"{path}/{requests.NAME}{below}",
                manifests.template(content),
                span,
                content_type=requests.MERGE if method == "PATCH" else requests.JSON,
            )
            yield lambda: beside_asgi(lab, measure(lab, run, CONNECTIONS, op), CONNECTIONS)

    return opened


def _rules(make: Callable[[], Object]) -> Callable[[Lab, Subject], Opened]:
    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        if not isinstance(subject, Kubetrio):
            raise Unavailable("measured inside kubetrio's code")
        group, version, resource = manifests.PLACES[make()["kind"]]
        spec = RulebookSpec(
            group=group,
            version=version,
            resource=resource,
            content=manifests.template(make()),
            count=lab.plan.small,
        )

        def sample() -> Sample:
            result = rulebook.run(spec)
            stages = ", ".join(f"{name} {ms:.3f}" for name, ms in result.stages.items())
            return Sample(value=result.ms, yardstick=result.json_ms, note=f"ms: {stages}")

        yield sample

    return opened


ROWS = (
    BenchmarkRow(
        name="create-deployment",
        title="durable POST of a Deployment of 40 fields, 16 connections",
        unit="req/s",
        open=_create(manifests.deployment),
        yardstick="asgi-16",
    ),
    BenchmarkRow(
        name="create-pod",
        title="durable POST of a Pod of 40 fields, 16 connections",
        unit="req/s",
        open=_create(manifests.pod),
        yardstick="asgi-16",
    ),
    BenchmarkRow(
        name="apply-deployment",
        title="server-side apply of a Deployment of 40 fields, each a rollout, 16 connections",
        unit="req/s",
        open=_apply(manifests.deployment),
        yardstick="asgi-16",
    ),
    BenchmarkRow(
        name="apply-pod",
        title="server-side apply of a Pod of 40 fields, each a change, 16 connections",
        unit="req/s",
        open=_apply(manifests.pod),
        yardstick="asgi-16",
    ),
    BenchmarkRow(
        name="apply-configmap",
        title="server-side apply of a ConfigMap of 1 KB, each a change, 16 connections",
        unit="req/s",
        open=_apply(manifests.config_map),
        yardstick="asgi-16",
    ),
    BenchmarkRow(
        name="patch-status",
        title="merge patch of the status of a Pod, 16 connections",
        unit="req/s",
        open=_change(manifests.pod, "PATCH", manifests.ready_status(), below="/status"),
        yardstick="asgi-16",
    ),
    BenchmarkRow(
        name="renew-lease",
        title="merge patch that renews a Lease, 16 connections",
        unit="req/s",
        open=_change(manifests.lease, "PATCH", manifests.renewal()),
        yardstick="asgi-16",
    ),
    BenchmarkRow(
        name="cpu-pod",
        title="CPU of decoding, defaulting, managedFields and rules of a new Pod",
        unit="ms",
        open=_rules(manifests.pod),
        yardstick="loads+dumps",
        target=Target("value", "<", 1.2),
    ),
    BenchmarkRow(
        name="cpu-configmap",
        title="CPU of the same of a ConfigMap of 1 KB",
        unit="ms",
        open=_rules(manifests.config_map),
        yardstick="loads+dumps",
        target=Target("value", "<", 0.2),
    ),
)
