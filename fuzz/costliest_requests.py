"""No request of a stranger holds the event loop: a search for the costliest one.

python fuzz/costliest_requests.py --seconds 60 --seed 1

A server runs in this process; one client sends it a request at a time over TLS.  The search begins
with requests of all shapes (paths, options, headers, bodies) and mutates those that cost most.  Two
costs are measured in CPU time of the loop's thread: what a request takes before flow control gives
it a seat, beyond what reading as many plain bytes takes, and its longest turn on the loop.  Each is
the smallest of several tries, so that a busy machine does not pass for a costly request.

Exit code 1 when a request costs more than --before-ms before its seat or --turn-ms in one turn.
"""

from __future__ import annotations

import argparse
import random  # noqa: TID251 -- a search with a seed
import socket
import ssl
import sys
import tempfile
import threading  # noqa: TID251 -- a client that must not share the loop
import time  # noqa: TID251 -- what it measures
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import SimpleQueue

import trio

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from kubetrio.api import stages
from kubetrio.api.request import Request
from kubetrio.config import Authentication, Config, Serving
from kubetrio.server import open_server

HEAD_BYTES = 120_000
BODY_BYTES = 2_900_000
TOKEN = "costly"  # of a user without rights
READS_S = 20.0
PLAIN_STEP = 10_000
PLAIN_TRIES = 7


@dataclass(frozen=True, slots=True)
class Shape:
    """A request: text that is repeated makes it long.

    Args:
        method: HTTP method.
        path: without the query.
        query: what the query begins with.
        unit: what is repeated behind it, up to `size` bytes.
        where: what `unit` makes long: path, query, a header's value, header fields, or the body.
        header: name of that header.
        size: bytes.
        credentials: whether a token is sent, of a user without rights.
        content: media type of the body.
    """

    method: str
    path: str
    query: str = ""
    unit: str = ""
    where: str = "query"
    header: str = "Accept"
    size: int = HEAD_BYTES
    credentials: bool = False
    content: str = "application/json"
    close: str = ""

    def wire(self) -> bytes:
        """Bytes of the request."""
        long = self.unit * (self.size // max(1, len(self.unit)))
        path = self.path + (long if self.where == "path" else "")
        query = self.query + (long if self.where == "query" else "")
        lines = [f"{self.method} {path}{'?' + query if query else ''} HTTP/1.1", "Host: x"]
        if self.credentials:
            lines.append(f"Authorization: Bearer {TOKEN}")
        if self.where == "header":
            lines.append(f"{self.header}: {long}")
        if self.where == "fields":
            count = self.size // (len(self.unit) + 8)
            lines += [f"{self.unit}{n}: v" for n in range(min(count, 900))]
        if self.where == "repeated":
            lines += [f"{self.header}: {self.unit}"] * min(900, self.size // 40)
        body = b""
        if self.where == "body":
            body = (self.query + long + self.close).encode()
            lines[0] = f"{self.method} {path} HTTP/1.1"
            lines += [f"Content-Type: {self.content}", f"Content-Length: {len(body)}"]
        elif self.method in ("POST", "PUT", "PATCH"):
            body = b"{}"
            lines += [f"Content-Type: {self.content}", "Content-Length: 2"]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PATHS = (
    CONFIG_MAPS,
    "/api/v1/pods",
    "/apis/apps/v1/deployments",
    "/api/v1/namespaces/default/pods/a/log",
    "/api/v1/namespaces/default/pods/a/exec",
    "/api/v1/namespaces/default/services/a/proxy/",
    "/api/v1/watch/pods",
    "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "/openapi/v2",
    "/openapi/v3/api/v1",
    "/apis",
    "/api/v1",
    "/version",
    "/readyz",
    "/metrics",
    "/nowhere",
    "/",
)
UNITS = (
    "a", "%", "%41", "+", "&", "&a", "&a=b", "&%41=%41", "&a=+", "&watch", "&watch=1",
    "&%77atch=0", ";", "/", "/a", "/%41", "/..", "//", "%2F", "=", ",", ",a", ",a=b", ",a in (b)",
    ",!a", "a in (", "(", ")", "b,", "!", "!=", ">", ",a>1", "\\", "\\,", "metadata.name=a,",
    "metadata.name=a\\,", " ", "\t", '"', "'", ";q=0.1", ",*/*", "application/json,",
    "application/json;as=Table,", ";a=b", "x-", "1", "1h", "1ns", "9", "-", "_", ".", "e.", "ey",
    "%c3%a9", "é", "ÿ", "dryRun=All&", "exclude=a&", "command=a&", "gzip,", "q=", "Zm9v",
    "Zm9v.", "{", "[", '{"a":', "[{},", '"a":1,', '{"a":"b"},', "- ", "a: &a [*a]\n",
)  # fmt: skip
QUERIES = (
    "labelSelector=", "fieldSelector=", "fieldSelector=metadata.name%3Da,", "labelSelector=a+in+(",
    "timeout=", "timeoutSeconds=", "resourceVersion=", "continue=", "limit=", "watch=", "dryRun=",
    "fieldManager=", "fieldValidation=", "gracePeriodSeconds=", "propagationPolicy=", "exclude=",
    "verbose&", "sendInitialEvents=", "", "a",
)  # fmt: skip
HEADERS = (
    "Accept", "Accept-Encoding", "Authorization", "Cookie", "User-Agent", "Content-Type",
    "Audit-ID", "Impersonate-User", "Impersonate-Group", "Impersonate-Extra-a", "X-Remote-User",
    "If-None-Match", "Sec-WebSocket-Protocol", "Connection", "Upgrade", "traceparent", "Expect",
    "Forwarded", "X-Forwarded-For",
)  # fmt: skip
BODIES = (
    ("application/json", "{", '"a":1,', '"b":1}'),
    ("application/json", '{"a":', "[", ""),
    ("application/json", '{"metadata":{"labels":{', '"a":"b",', '"a":"b"}}}'),
    ("application/yaml", "a:\n", "- a\n", ""),
    ("application/yaml", "", "{a: ", ""),
    ("application/vnd.kubernetes.protobuf", "k8s\0", "\n\x01a", ""),
    ("application/apply-patch+yaml", "a:\n", "- a\n", ""),
)


def shapes() -> Iterator[Shape]:
    """Where the search begins: each unit in each place."""
    for unit in UNITS:
        for path in (CONFIG_MAPS, "/api/v1/namespaces/default/services/a/proxy/", "/nowhere/"):
            yield Shape("GET", path, "", unit, "path")
        for query in QUERIES:
            yield Shape("GET", CONFIG_MAPS, query, unit)
        for header in HEADERS:
            prefix = "Bearer " if header == "Authorization" else ""
            yield Shape("GET", "/version", "", prefix + unit, "header", header)
        yield Shape("GET", "/api/v1/pods", "exclude=", unit, "query")
    for header in (*HEADERS, "x"):
        yield Shape("GET", CONFIG_MAPS, "", "a", "repeated", header)
    for unit in ("x-", "Impersonate-Extra-", "X-Remote-Extra-", "a"):
        yield Shape("GET", CONFIG_MAPS, "", unit, "fields")
    for path in PATHS:
        yield Shape("GET", path)
    for content, begin, unit, end in BODIES:
        for path in (CONFIG_MAPS, PATHS[7], PATHS[8]):
            yield Shape("POST", path, begin, unit, "body", size=60_000, content=content, close=end)


def mutated(shape: Shape, rng: random.Random) -> Shape:
    """A shape beside another one."""
    match rng.randrange(8):
        case 0:
            return replace(shape, unit=rng.choice(UNITS) + rng.choice(UNITS))
        case 1:
            return replace(shape, unit=shape.unit + rng.choice(UNITS))
        case 2:
            return replace(shape, query=rng.choice(QUERIES)) if shape.where != "body" else shape
        case 3:
            return replace(shape, path=rng.choice(PATHS))
        case 4:
            return replace(shape, method=rng.choice(("GET", "POST", "PUT", "PATCH", "DELETE")))
        case 5:
            return replace(shape, credentials=not shape.credentials)
        case 6:
            most = BODY_BYTES if shape.where == "body" else HEAD_BYTES
            return replace(shape, size=min(most, rng.choice((2_000, 20_000, 60_000, most))))
        case _:
            return replace(shape, header=rng.choice(HEADERS))


@dataclass(slots=True, eq=False)
class Meter(trio.abc.Instrument):
    """CPU time of turns on the loop, and up to where flow control begins, in seconds."""

    begun: float = 0.0
    spent: float = 0.0
    longest: float = 0.0
    before: float | None = None

    def forget(self) -> None:
        """Begin with a new request."""
        self.spent = self.longest = 0.0
        self.before = None

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Called by Trio."""
        del task
        self.begun = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Called by Trio."""
        del task
        took = time.thread_time() - self.begun
        self.spent += took
        self.longest = max(self.longest, took)

    def seat(self, request: Request) -> None:
        """A stage: the request comes to flow control."""
        del request
        if self.before is None:
            self.before = self.spent + time.thread_time() - self.begun


@dataclass(slots=True)
class Target:
    """A client of the server that is measured."""

    port: int
    meter: Meter
    connection: ssl.SSLSocket | None = field(default=None)
    plain: dict[int, float] = field(default_factory=dict)

    def cost(self, shape: Shape, tries: int) -> tuple[float, float]:
        """Milliseconds before the seat, and of the longest turn: the least of some tries."""
        wire = shape.wire()
        costs = [self._once(wire) for _ in range(tries)]
        before, turn = min(one[0] for one in costs), min(one[1] for one in costs)
        return before - self._reading(len(wire)), turn

    def _reading(self, size: int) -> float:
        """Milliseconds that a request of plain bytes takes before its seat."""
        size = size // PLAIN_STEP * PLAIN_STEP
        if size not in self.plain:
            wire = Shape(
                "GET", "/version", "", "a", "header", "Plain", min(size, HEAD_BYTES)
            ).wire()
            self.plain[size] = min(self._once(wire)[0] for _ in range(PLAIN_TRIES))
        return self.plain[size]

    def _once(self, wire: bytes) -> tuple[float, float]:
        if self.connection is None:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            plain = socket.create_connection(("127.0.0.1", self.port), timeout=READS_S)
            self.connection = context.wrap_socket(plain)
            self._send(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
        self.meter.forget()
        self._send(wire)
        meter = self.meter
        before = meter.spent if meter.before is None else meter.before
        return before * 1000, meter.longest * 1000

    def _send(self, wire: bytes) -> None:
        """Send a request and read enough of its answer; a connection is used while it lasts."""
        connection = self.connection
        assert connection is not None
        try:
            connection.sendall(wire)
            answer = b""
            while b"\r\n\r\n" not in answer:
                data = connection.recv(65536)
                if not data:
                    raise ConnectionError
                answer += data
            head, _, rest = answer.partition(b"\r\n\r\n")
            fields = head.lower()
            length = fields.partition(b"content-length: ")[2].partition(b"\r\n")[0]
            if not length or b"connection: close" in fields:
                raise ConnectionError  # a stream, or the end
            while len(rest) < int(length):
                rest += connection.recv(65536)
        except OSError:
            connection.close()
            self.connection = None


@dataclass(slots=True)
class Found:
    """The costliest requests."""

    worst: list[tuple[float, float, Shape]] = field(default_factory=list)
    tried: int = 0

    def add(self, before: float, turn: float, shape: Shape) -> None:
        """Keep a request among the costliest by either cost."""
        self.tried += 1
        self.worst.append((before, turn, shape))
        if len(self.worst) > 400:
            by_before = sorted(self.worst, key=lambda one: one[0])[-40:]
            by_turn = sorted(self.worst, key=lambda one: one[1])[-40:]
            self.worst = list(dict.fromkeys(by_before + by_turn))

    def top(self, which: int, count: int) -> list[tuple[float, float, Shape]]:
        """The costliest by one cost, the worst first."""
        key = (lambda one: one[0]) if which == 0 else (lambda one: one[1])
        return sorted(self.worst, key=key, reverse=True)[:count]


def search(target: Target, seconds: float, seed: int, tell: Callable[[str], None]) -> Found:
    """Look for the costliest requests."""
    rng = random.Random(seed)
    found = Found()
    known: set[Shape] = set()
    end = time.monotonic() + seconds
    begin = list(shapes())
    rng.shuffle(begin)
    told = time.monotonic()
    while time.monotonic() < end:
        if begin:
            shape = begin.pop()
        else:
            which = rng.randrange(2)
            shape = mutated(rng.choice(found.top(which, 20))[2], rng)
        if shape in known:
            continue
        known.add(shape)
        found.add(*target.cost(shape, 2), shape)
        if time.monotonic() - told > 5:
            told = time.monotonic()
            tell(f"{found.tried} requests, {len(begin)} to begin with")
    # What was slow by chance is not slow five times.
    for which in (0, 1):
        for entry in found.top(which, 12):
            found.worst.remove(entry)
            found.worst.append((*target.cost(entry[2], 5), entry[2]))
    return found


@contextmanager
def metered(meter: Meter) -> Iterator[None]:
    """Have pipelines that are made meanwhile tell when a request comes to flow control."""
    rows = stages.STAGES
    at = [row.name for row in rows].index("flow_control")
    stages.STAGES = (*rows[:at], stages.StageRow("meter", lambda _: meter.seat), *rows[at:])
    try:
        yield
    finally:
        stages.STAGES = rows


def configured(folder: Path) -> Config:
    """Return the configuration of the server, with a user without rights."""
    tokens = folder / "tokens.csv"
    tokens.write_text(f"{TOKEN},nobody,nobody-uid\n")
    tokens.chmod(0o600)
    return Config(
        data_dir=folder / "data",
        serving=Serving(secure_port=0),
        auth=Authentication(token_auth_file=tokens),
    )


async def serve(meter: Meter, ready: SimpleQueue[int], over: trio.Event) -> None:
    """Run a server until the search is over."""
    with tempfile.TemporaryDirectory(prefix="kubetrio-costly-") as folder:
        config = configured(Path(folder))
        async with open_server(config) as server:
            trio.lowlevel.add_instrument(meter)
            ready.put(server.port)
            await over.wait()
            trio.lowlevel.remove_instrument(meter)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    made.add_argument("--seconds", type=float, default=60.0, help="how long to search (60)")
    made.add_argument("--seed", type=int, default=1, help="of the search (1)")
    made.add_argument("--before-ms", type=float, default=0.2, help="most before a seat (0.2)")
    made.add_argument("--turn-ms", type=float, default=20.0, help="most in one turn (20)")
    made.add_argument("--show", type=int, default=10, help="how many requests are told (10)")
    return made


def main(arguments: list[str] | None = None) -> int:
    """Search; 1 when a request costs too much."""
    options = parser().parse_args(arguments)
    meter, ready = Meter(), SimpleQueue[int]()
    found: list[Found] = []

    async def run() -> None:
        over = trio.Event()
        token = trio.lowlevel.current_trio_token()

        def client() -> None:
            target = Target(ready.get(), meter)
            try:
                found.append(search(target, options.seconds, options.seed, print))
            finally:
                token.run_sync_soon(over.set)

        thread = threading.Thread(target=client)
        thread.start()
        await serve(meter, ready, over)
        thread.join()

    with metered(meter):
        trio.run(run)
    outcome = found[0]
    print(f"{outcome.tried} requests")
    for which, title in ((0, "before a seat"), (1, "longest turn")):
        print(f"{title}, ms:")
        for entry in outcome.top(which, options.show):
            shape = entry[2]
            print(f"  {entry[which]:8.3f}  {shape}")
    worst = outcome.top(0, 1)[0][0], outcome.top(1, 1)[0][1]
    return int(worst[0] > options.before_ms or worst[1] > options.turn_ms)


if __name__ == "__main__":
    sys.exit(main())
