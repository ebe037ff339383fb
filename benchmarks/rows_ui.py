"""Rows about what the pages at `/ui/` ask a server, without a browser.

The requests are those of `kubetrio/ui/assets`; `tests/e2e/test_ui_speed.py` holds their list in a
real browser, and tells what they cost that.
"""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Callable, Iterator

from benchmarks import process
from benchmarks.endpoint import Endpoint
from benchmarks.errors import BenchError
from benchmarks.rows import BenchmarkRow, Lab, Sample, Target
from benchmarks.subjects import Running, Subject

PODS = 1_000
TURNS = 20  # of what is measured, for CPU time has ticks of 10 ms
HALF_MINUTE_S = 30  # between two looks of an open page
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
META = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
DOCUMENTS = ("/api", "/apis")
FILES = ("/ui/", "/ui/style.css", "/ui/all.js", "/ui/about")


class _Browser:
    """A connection that asks as the page does.

    Args:
        endpoint: the server.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._headers = {**endpoint.headers(), "Accept-Encoding": "gzip, deflate, br, zstd"}
        self._connection = http.client.HTTPSConnection(
            endpoint.host, endpoint.port, context=endpoint.context(), timeout=120
        )

    def get(self, path: str, accept: str = "application/json", *, plain: bool = False) -> bytes:
        """Ask, and read the whole answer; 403 is one too."""
        headers = {**self._headers, "Accept": accept}
        if plain:
            del headers["Accept-Encoding"]
        self._connection.request("GET", path, headers=headers)
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise BenchError(f"GET {path}: {answer.status} {body[:300]!r}")
        return body

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


def _collections(browser: _Browser) -> list[str]:
    """Paths of all kinds that can be listed, in the version that is preferred."""
    paths: dict[tuple[str, str], str] = {}
    for document in DOCUMENTS:
        for group in json.loads(browser.get(document, DISCOVERY, plain=True))["items"]:
            name = group["metadata"].get("name", "")
            root = f"/apis/{name}" if name else "/api"
            for version in group["versions"]:
                for one in version.get("resources", ()):
                    if "list" in one.get("verbs", ()):
                        path = f"{root}/{version['version']}/{one['resource']}"
                        paths.setdefault((name, one["resource"]), path)
    return list(paths.values())


def _pod(number: int) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"pod-{number:05}", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "busybox"}]},
    }


def _fill(run: Running) -> None:
    path = f"/api/v1/namespaces/{run.namespace}"
    run.endpoint.call("POST", f"{path}/serviceaccounts", {"metadata": {"name": "default"}},
                      accept=(201, 409))  # fmt: skip
    for number in range(PODS):
        run.endpoint.call("POST", f"{path}/pods", _pod(number))


@contextlib.contextmanager
def _table(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    del lab
    with subject.running() as run:
        _fill(run)
        one = f"/api/v1/namespaces/{run.namespace}/pods"

        def sample() -> Sample:
            used = sent = 0.0
            for turn in range(TURNS):
                # What was listed before is of no use: a pod has gone, and another has come.
                run.endpoint.call("DELETE", f"{one}/pod-{turn:05}?gracePeriodSeconds=0")
                run.endpoint.call("POST", one, _pod(turn))
                cpu = process.cpu_seconds(run.pids)
                browser = _Browser(run.endpoint)
                for path in FILES:
                    sent += len(browser.get(path))
                for path in DOCUMENTS:
                    sent += len(browser.get(path, DISCOVERY))
                sent += len(browser.get("/api/v1/namespaces?limit=1000", META))
                sent += len(browser.get("/api/v1/pods?limit=1000", TABLE))
                browser.close()
                used += process.cpu_seconds(run.pids) - cpu
            return Sample(value=1000 * used / TURNS, note=f"{sent / TURNS / 1000:.0f} kB sent")

        yield sample


@contextlib.contextmanager
def _open(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    del lab
    with subject.running() as run:
        _fill(run)
        browser = _Browser(run.endpoint)
        collections = _collections(browser)

        def sample() -> Sample:
            cpu = process.cpu_seconds(run.pids)
            for _ in range(TURNS):
                for path in collections:
                    browser.get(f"{path}?limit=1", META)
                for path in DOCUMENTS:
                    browser.get(path, DISCOVERY)
            used = process.cpu_seconds(run.pids) - cpu
            note = f"{len(collections)} kinds counted every {HALF_MINUTE_S} s"
            return Sample(value=100 * used / (TURNS * HALF_MINUTE_S), note=note)

        yield sample
        browser.close()


ROWS = (
    BenchmarkRow(
        name="ui-table",
        title="CPU from opening the page to a table of 1,000 pods",
        unit="ms",
        open=_table,
        target=Target("value", "<=", 100),
        most_rounds=3,
    ),
    BenchmarkRow(
        name="ui-open",
        title="CPU for a page that is open, on an idle server",
        unit="%",
        open=_open,
        target=Target("value", "<", 1),
        most_rounds=3,
    ),
)
