"""Lists a collection page by page on one connection, following continue tokens.

`python -m benchmarks.pages`: a spec as JSON in, the time of each whole list out.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from urllib.parse import quote

from benchmarks import tools
from benchmarks.clock import perf_counter, perf_counter_ns
from benchmarks.endpoint import Endpoint
from benchmarks.errors import BenchError
from benchmarks.exchange import Connection
from benchmarks.load import quantile_ms

CONTINUE = re.compile(rb'"continue":\s*"([^"]+)"')
NEAR = 4096  # list metadata stands at one end of the body, so items need not be searched


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesSpec:
    """What to list.

    Args:
        endpoint: where to.
        path: the collection.
        limit: objects a page.
        seconds: go on until then, two lists at least.
    """

    endpoint: Endpoint
    path: str
    limit: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesResult:
    """What came of it.

    Args:
        lists: whole lists read.
        pages: pages of one list.
        list_ms: median time of a whole list.
        bytes: bytes of one list.
        p50_ms, p99_ms: latency of a page.
    """

    lists: int
    pages: int
    list_ms: float
    bytes: int
    p50_ms: float
    p99_ms: float


def run(spec: PagesSpec) -> PagesResult:
    """List in a process of its own."""
    return PagesResult(**tools.run("pages", dataclasses.asdict(spec)))


def list_pages(spec: PagesSpec) -> PagesResult:
    """List again and again.

    Raises:
        BenchError: a page was not 200.
    """
    connection = Connection(spec.endpoint, spec.endpoint.context(), keep=True)
    lists: list[int] = []
    pages: list[int] = []
    size = 0
    until = perf_counter() + spec.seconds
    while len(lists) < 3 or perf_counter() < until:
        begin = perf_counter_ns()
        token, size, count = "", 0, 0
        while True:
            sent = perf_counter_ns()
            token = _page(connection, spec, token)
            pages.append(perf_counter_ns() - sent)
            size += len(connection.body)
            count += 1
            if not token:
                break
        lists.append(perf_counter_ns() - begin)
    connection.close()
    # The first list warms caches up.
    pages, lists = sorted(pages[count:]), sorted(lists[1:])
    return PagesResult(
        lists=len(lists),
        pages=count,
        list_ms=quantile_ms(lists, 0.5),
        bytes=size,
        p50_ms=quantile_ms(pages, 0.5),
        p99_ms=quantile_ms(pages, 0.99),
    )


def _page(connection: Connection, spec: PagesSpec, token: str) -> str:
    headers = "".join(f"{name}: {value}\r\n" for name, value in spec.endpoint.headers().items())
    path = f"{spec.path}?limit={spec.limit}"
    if token:
        path += f"&continue={quote(token, safe='')}"
    status = connection.exchange(f"GET {path} HTTP/1.1\r\n{headers}\r\n".encode("latin-1"))
    body = connection.body
    if status != 200:
        raise BenchError(f"page: {status} {bytes(body[:300])!r}")
    found = CONTINUE.search(body, 0, NEAR) or CONTINUE.search(body, max(0, len(body) - NEAR))
    return found.group(1).decode() if found else ""


def main() -> None:
    """Read a spec, print a result."""
    read = tools.spec()
    spec = PagesSpec(**{**read, "endpoint": Endpoint(**read["endpoint"])})
    try:
        tools.report(dataclasses.asdict(list_pages(spec)))
    except (BenchError, OSError) as error:
        tools.report({"error": str(error)})


if __name__ == "__main__":
    main()
