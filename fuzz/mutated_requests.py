"""No request, however strange, meets a bug: a server answers mutated requests of every kind.

python fuzz/mutated_requests.py --seconds 60 --seed 1

A round is a fresh server without sockets, the manifests of the tests in it, and sequences of
requests about objects of all kinds: valid ones that were changed at random.  A finding is an error
that the server logs (an answer 500 of its own making among them), a request that does not end, an
answer that is none, or an object that is stored and cannot be read.  Equal findings are told once,
with the requests that led there.  A seed repeats its round.

With --server the requests go to a running server over HTTP instead; with --against also to a
second one, and answers that differ in status, body or warnings are told in groups, with totals:

python fuzz/mutated_requests.py --iterations 50 --server URL --against URL --token-file FILE

Both are to run with the same admission plugins (without ServiceAccount) and no controllers.
"""

from __future__ import annotations

import argparse
import faulthandler
import logging
import sys
import tempfile
import traceback
from collections.abc import Iterator
from collections.abc import Sequence as Rows
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import process_time  # noqa: TID251  (CPU time is no clock of the server)

import trio
import trio.testing

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fuzz.areas import AREAS, Area, draw
from fuzz.comparing import (
    Both,
    Findings,
    Remote,
    as_json,
    impersonation,
    on_the_wire,
    requests_shown,
)
from fuzz.corpus import Corpus, corpus
from fuzz.mutations import Mutator, dumps
from fuzz.steps import Reply, Send, Step, collection
from kubetrio.env import Env, monotonic, seeded
from kubetrio.observe.logs import LOGGER
from kubetrio.testing.client import BadAnswer, Client
from kubetrio.testing.server import in_memory, open_api

SEQUENCES = 40  # in one round: objects meet each other, and a finding is not far from its cause
LENGTH = 8  # requests about one object
HANG_S = 300.0  # of the server's time, which runs as fast as it can
SLOW_S = 5.0  # of CPU, for one request: the machine may be busy with other things
STUCK_S = 120  # of real time, until the process gives up and says where it is
REMOTE_NAMESPACE = "fuzz-requests"
DEFINED_S = 2.0  # until a running server serves the custom resources
PROTOBUF_SHARE = 0.15  # of sequences about built-in kinds
CONTROLLERS = ("-*",)  # in this process: only the requests change anything
DEFINED = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Records(logging.Handler):
    """Keeps the errors that are logged."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.kept: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record."""
        self.kept.append(record)


@contextmanager
def recorded() -> Iterator[Records]:
    """The errors that the server logs while the block lasts."""
    records, logger = Records(), logging.getLogger(LOGGER)
    propagates = logger.propagate
    logger.addHandler(records)
    logger.propagate = False
    try:
        yield records
    finally:
        logger.removeHandler(records)
        logger.propagate = propagates


def place(error: object) -> str:
    """The type of an error and the innermost line of ours."""
    if not isinstance(error, BaseException):
        return "error without an exception"
    inner: BaseException = error
    while isinstance(inner, BaseExceptionGroup):
        inner = inner.exceptions[0]
    frames = traceback.extract_tb(inner.__traceback__)
    ours = [frame for frame in frames if "kubetrio" in frame.filename] or list(frames)
    where = f"{Path(ours[-1].filename).name}:{ours[-1].name}:{ours[-1].lineno}" if ours else ""
    return f"{type(inner).__name__} {where}"


class InProcess:
    """Sends to a server in this process, and judges each answer.

    Args:
        client: a connection to it.
        records: the errors it logs.
        findings: where what is found goes.
        title: how to repeat it.
    """

    def __init__(self, client: Client, records: Records, findings: Findings, title: str) -> None:
        self._client = client
        self._records = records
        self._findings = findings
        self._title = title
        self.steps: list[Step] = []
        self.sent = 0

    async def send(self, step: Step) -> Reply:
        """Send a request and look at what comes back."""
        self.steps.append(step)
        self.sent += 1
        out = on_the_wire(step)
        begin = process_time()
        faulthandler.dump_traceback_later(STUCK_S, exit=True)
        try:
            with trio.fail_after(HANG_S):
                answer = await self._client.request(
                    out.method, out.target, out.headers | impersonation(out.user), out.body
                )
        except trio.TooSlowError:
            self._found(f"hangs: {step.what}", "")
            raise
        except (BadAnswer, OSError) as error:
            self._logged()
            self._found(f"broken answer: {step.what}", repr(error))
            raise
        finally:
            faulthandler.cancel_dump_traceback_later()
        if (took := process_time() - begin) > SLOW_S:
            self._found(f"slow: {step.what}", f"{took:.1f} s")
        self._logged()
        reply = as_json(step, Reply(answer.status, answer.body))
        self._look(step, reply)
        return reply

    def _found(self, key: str, text: str) -> None:
        about = self.steps[-LENGTH * 3 :]
        self._findings.add(key, f"{self._title}\n{text}\n{requests_shown(about)}")

    def _logged(self) -> None:
        for record in self._records.kept:
            fields = getattr(record, "kubetrio_fields", {})
            error = fields.get("err")
            text = fields.get("stacktrace", record.getMessage())
            self._found(place(error), text)
        self._records.kept.clear()

    def _look(self, step: Step, reply: Reply) -> None:
        if step.what.endswith((" decode", " decode list")) and reply.status >= 500:
            self._found(f"stored and not readable: {step.what}", str(reply.body[:500]))


async def play(seed: int, sequences: int, findings: Findings, only: tuple[str, ...] = ()) -> int:
    """One round; returns how many requests were sent."""
    known = corpus()
    mutator = Mutator(seeded(seed).rng, known)
    with recorded() as records, tempfile.TemporaryDirectory() as folder:
        config = replace(in_memory(Path(folder)), controllers=CONTROLLERS)
        serving = open_api(seed=seed, config=config, kept=True)
        async with serving as server, server.connect() as first:
            title = f"--seed {seed} --iterations 1"
            sender = InProcess(first, records, findings, title)
            await prepare(sender.send, known, "default")
            for resource, made in known.manifests:
                path = collection(resource, made["metadata"].get("namespace") or "default")
                headers = {"Content-Type": "application/json"}
                await sender.send(Step("POST", path, headers, dumps(made), resource.resource))
            sent = sender.sent
            for number in range(sequences):
                async with server.connect() as client:
                    about = f"{title} (sequence {number})"
                    sender = InProcess(client, records, findings, about)
                    area = Area(
                        mutator=mutator,
                        corpus=known,
                        send=sender.send,
                        settle=trio.sleep,
                        length=LENGTH,
                        protobuf=PROTOBUF_SHARE,
                    )
                    try:
                        await draw(area, only)
                    except (BadAnswer, OSError, trio.TooSlowError):
                        pass  # it is among the findings, and the connection is done for
                    except RecursionError:
                        pass  # ours: an object that grew too deep to change
                    sent += sender.sent
    return sent


def explore(seed: int, sequences: int, findings: Findings, only: tuple[str, ...] = ()) -> int:
    """Run one round on a clock that does not wait; returns how many requests were sent."""
    clock = trio.testing.MockClock(autojump_threshold=0)
    return trio.run(play, seed, sequences, findings, only, clock=clock)


# ------------------------------------------------------------------- over HTTP


async def prepare(send: Send, known: Corpus, namespace: str) -> None:
    """Make the namespace and the custom resources that sequences need."""
    headers = {"Content-Type": "application/json"}
    made = {"metadata": {"name": namespace}}
    await send(Step("POST", "/api/v1/namespaces", headers, dumps(made), "prepare/namespace"))
    for each in known.definitions:
        await send(Step("POST", DEFINED, headers, dumps(each), "prepare/definition"))


async def compare(seed: int, sequences: int, both: Both, options: argparse.Namespace) -> None:
    """Send so many sequences to running servers."""
    known = corpus()
    mutator = Mutator(seeded(seed).rng, known)
    both.begin(f"--seed {seed} --iterations 1 (preparation)")
    await prepare(both.send, known, REMOTE_NAMESPACE)
    await trio.sleep(DEFINED_S)
    for number in range(sequences):
        both.begin(f"--seed {seed} --iterations 1 (sequence {number})")
        area = Area(
            mutator=mutator,
            corpus=known,
            send=both.send,
            settle=trio.sleep,
            length=LENGTH,
            portable=True,
            namespace=REMOTE_NAMESPACE,
            protobuf=options.protobuf,
        )
        try:
            await draw(area, tuple(options.only))
        except OSError as error:
            both.findings.add(f"no answer: {error}", both.title)
        except RecursionError:
            pass  # ours: an object that grew too deep to change


def _users(path: Path) -> Iterator[tuple[str, str]]:
    for line in path.read_text().splitlines():
        token, _, rest = line.partition(",")
        yield rest.partition(",")[0], token


def main(arguments: Rows[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=0, help="rounds, instead of --seconds")
    parser.add_argument("--sequences", type=int, default=SEQUENCES, help="in one round")
    parser.add_argument("--server", help="URL of a running server")
    parser.add_argument("--against", help="URL of a server to compare it with")
    parser.add_argument("--token-file", type=Path, help="bearer token for both")
    parser.add_argument(
        "--users-file",
        type=Path,
        help="lines TOKEN,USER: further tokens for both, for alice and bob",
    )
    parser.add_argument("--protobuf", type=float, default=PROTOBUF_SHARE, help="share, 0 to 1")
    parser.add_argument("--only", nargs="*", default=[], choices=list(AREAS), help="areas")
    options = parser.parse_args(arguments)
    token = options.token_file.read_text().strip() if options.token_file else ""
    users = dict(_users(options.users_file)) if options.users_file else {}
    findings = Findings()
    both = None
    if options.server:
        theirs = Remote(options.against, token, users) if options.against else None
        both = Both(Remote(options.server, token, users), theirs, Env(), findings)
    end, seed, sent = monotonic() + options.seconds, options.seed, 0
    try:
        while seed - options.seed < options.iterations or (
            not options.iterations and monotonic() < end
        ):
            if both is not None:
                trio.run(compare, seed, options.sequences, both, options)
                sent = both.totals.sent
            else:
                sent += explore(seed, options.sequences, findings, tuple(options.only))
            seed += 1
    except (KeyboardInterrupt, OSError) as error:  # what was found until then is told
        findings.add(f"ended: {error!r}", f"--seed {seed}")
    print(f"\nseeds {options.seed} to {seed - 1}, {sent} requests, {len(findings.seen)} findings")
    if both is not None:
        print(both.totals.text())
    for key, count in findings.seen.most_common():
        print(f"{count:6d}  {key}")
    if findings.seen:
        sys.exit(1)


if __name__ == "__main__":
    main()
