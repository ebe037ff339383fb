"""No request, however strange, meets a bug: a server answers mutated requests of every kind.

python fuzz/mutated_requests.py --seconds 60 --seed 1

A round is a fresh server without sockets, the manifests of the tests in it, and sequences of
requests about objects of all kinds: valid ones that were changed at random.  A finding is an error
that the server logs (an answer 500 of its own making among them), a request that does not end, an
answer that is none, or an object that is stored and cannot be read.  Equal findings are told once,
with the requests that led there.  A seed repeats its round.

With --server the requests go to a running server over HTTP instead; with --against also to a
second one, and answers whose status and reason differ are told in groups.
"""

from __future__ import annotations

import argparse
import faulthandler
import http.client
import logging
import re
import ssl
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from collections.abc import Sequence as Rows
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

import trio
import trio.testing

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fuzz.corpus import corpus
from fuzz.mutations import Mutator, dumps
from fuzz.steps import Reply, Sequence, Step, chosen, collection
from kubetrio.env import monotonic, seeded
from kubetrio.logs import LOGGER
from kubetrio.testing.client import BadAnswer, Client
from kubetrio.testing.server import open_api

SEQUENCES = 40  # in one round: objects meet each other, and a finding is not far from its cause
LENGTH = 8  # requests about one object
HANG_S = 300.0  # of the server's time, which runs as fast as it can
SLOW_S = 5.0  # of real time, for one request
STUCK_S = 120  # of real time, until the process gives up and says where it is
REMOTE_NAMESPACE = "fuzz-requests"
UID_CHARS = 36
BROAD = frozenset(
    f"admissionregistration.k8s.io/{name}"
    for name in (
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
    )
) | {
    "/namespaces",
    "/nodes",
    "apiregistration.k8s.io/apiservices",
    "apiextensions.k8s.io/customresourcedefinitions",
    "flowcontrol.apiserver.k8s.io/flowschemas",
    "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations",
    "networking.k8s.io/ipaddresses",
    "networking.k8s.io/servicecidrs",
    "rbac.authorization.k8s.io/clusterroles",
    "rbac.authorization.k8s.io/clusterrolebindings",
}
"""Kinds that change how a server answers others: not sent to a server that others use."""


@dataclass
class Findings:
    """What was found, by where it comes from.

    Args:
        quiet: whether to print nothing.
        seen: how often.
        told: the text of each, by the same key.
    """

    quiet: bool = False
    seen: Counter[str] = field(default_factory=Counter)
    told: dict[str, str] = field(default_factory=dict)

    def add(self, key: str, text: str) -> None:
        """Count a finding, and tell it when it is new."""
        self.seen[key] += 1
        if key not in self.told:
            self.told[key] = text
            if not self.quiet:
                print(f"\n### {key}\n{text}", flush=True)


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


def shown(steps: Rows[Step]) -> str:
    """Requests as they can be read and sent again."""
    out = []
    for step in steps:
        kind = step.headers.get("Content-Type", "")
        body = (step.body or b"").decode(errors="backslashreplace")
        out.append(f"{step.method} {step.target} {kind}\n    {body[:3000]}")
    return "\n".join(out)


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
        begin = monotonic()
        faulthandler.dump_traceback_later(STUCK_S, exit=True)
        try:
            with trio.fail_after(HANG_S):
                answer = await self._client.request(
                    step.method, step.target, step.headers, step.body
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
        if monotonic() - begin > SLOW_S:
            self._found(f"slow: {step.what}", f"{monotonic() - begin:.1f} s")
        self._logged()
        reply = Reply(answer.status, answer.body)
        self._look(step, reply)
        return reply

    def _found(self, key: str, text: str) -> None:
        about = self.steps[-LENGTH * 3 :]
        self._findings.add(key, f"{self._title}\n{text}\n{shown(about)}")

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


async def play(seed: int, sequences: int, findings: Findings) -> int:
    """One round; returns how many requests were sent."""
    known = corpus()
    mutator = Mutator(seeded(seed).rng, known)
    with recorded() as records:
        async with open_api(seed=seed) as server, server.connect() as first:
            title = f"--seed {seed} --iterations 1"
            sender = InProcess(first, records, findings, title)
            for resource, made in known.manifests:
                path = collection(resource, made["metadata"].get("namespace") or "default")
                headers = {"Content-Type": "application/json"}
                await sender.send(Step("POST", path, headers, dumps(made), resource.resource))
            sent = sender.sent
            for number in range(sequences):
                async with server.connect() as client:
                    about = f"{title} (sequence {number})"
                    sender = InProcess(client, records, findings, about)
                    resource, base = chosen(known, mutator, frozenset())
                    try:
                        await Sequence(mutator, resource, base, sender.send).run(LENGTH)
                    except (BadAnswer, OSError, trio.TooSlowError):
                        pass  # it is among the findings, and the connection is done for
                    except RecursionError:
                        pass  # ours: an object that grew too deep to change
                    sent += sender.sent
    return sent


def explore(seed: int, sequences: int, findings: Findings) -> int:
    """Run one round on a clock that does not wait; returns how many requests were sent."""
    clock = trio.testing.MockClock(autojump_threshold=0)
    return trio.run(play, seed, sequences, findings, clock=clock)


# ------------------------------------------------------------------- over HTTP


class Remote:
    """A running server.

    Args:
        url: where it listens.
        token: who asks.
    """

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        self._token = token
        self._connection = http.client.HTTPSConnection(
            parts.hostname or "", parts.port, timeout=SLOW_S * 4, context=context
        )

    def send(self, step: Step) -> Reply:
        """Send a request.

        Raises:
            OSError: there is no answer.
        """
        headers = {**step.headers, "Authorization": f"Bearer {self._token}"}
        try:
            self._connection.request(step.method, step.target, step.body, headers)
            answer = self._connection.getresponse()
            return Reply(answer.status, answer.read())
        except (http.client.HTTPException, OSError) as error:
            self._connection.close()
            raise OSError(repr(error)) from error


def verdict(reply: Reply) -> str:
    """Status code and reason."""
    value = reply.json()
    reason = value.get("reason", "") if isinstance(value, dict) and reply.status >= 400 else ""
    return f"{reply.status} {reason}".strip()


def uid(reply: Reply) -> str:
    """The identity of the object that is answered, or empty."""
    value = reply.json()
    meta = value.get("metadata") if isinstance(value, dict) else None
    found = meta.get("uid") if isinstance(meta, dict) else None
    return found if isinstance(found, str) and len(found) == UID_CHARS else ""


def words(reply: Reply) -> str:
    """The message of a failure."""
    value = reply.json()
    return str(value.get("message", ""))[:600] if isinstance(value, dict) else ""


class Both:
    """Sends to a server and perhaps to another, and judges the answers.

    Args:
        ours: the server.
        theirs: what to compare with.
        findings: where what is found goes.
        title: how to repeat it.
    """

    OWN_500 = re.compile(rb"Internal error occurred: \w*(Error|Exception|Group)\b")

    def __init__(self, ours: Remote, theirs: Remote | None, findings: Findings, title: str) -> None:
        self._ours = ours
        self._theirs = theirs
        self._findings = findings
        self._title = title
        self._uids: dict[bytes, bytes] = {}

    def _learn(self, ours: Reply, theirs: Reply) -> None:
        """Remember which identity an object of ours has there."""
        mine, other = uid(ours), uid(theirs)
        if mine and other:
            self._uids[mine.encode()] = other.encode()

    def _with_their_uids(self, step: Step) -> Step:
        """A request that was made of what we answered, about their objects."""
        body = step.body
        if body is None:
            return step
        for mine, other in self._uids.items():
            body = body.replace(mine, other)
        return replace(step, body=body)

    async def send(self, step: Step) -> Reply:
        """Send a request to each; the answer is that of the first."""
        ours = self._ours.send(step)
        if ours.status == 500 and self.OWN_500.search(ours.body):
            self._found(f"500: {words(ours)}", step, "")
        if self._theirs is not None:
            theirs = self._theirs.send(self._with_their_uids(step))
            self._learn(ours, theirs)
            if verdict(ours) != verdict(theirs):
                key = f"{step.what}: {verdict(theirs)} there, {verdict(ours)} here"
                self._found(key, step, f"there: {words(theirs)}\nhere:  {words(ours)}")
        return ours

    def _found(self, key: str, step: Step, text: str) -> None:
        self._findings.add(key, f"{self._title}\n{text}\n{shown([step])}")


async def _over_http(
    seed: int, sequences: int, findings: Findings, ours: Remote, theirs: Remote | None
) -> None:
    known = corpus()
    mutator = Mutator(seeded(seed).rng, known)
    namespace = dumps({"metadata": {"name": REMOTE_NAMESPACE}})
    headers = {"Content-Type": "application/json"}
    for server in (ours, theirs):
        if server is not None:
            server.send(Step("POST", "/api/v1/namespaces", headers, namespace))
    for number in range(sequences):
        both = Both(ours, theirs, findings, f"--seed {seed} --iterations 1 (sequence {number})")
        resource, base = chosen(known, mutator, BROAD)
        sequence = Sequence(
            mutator, resource, base, both.send, portable=True, namespace=REMOTE_NAMESPACE
        )
        try:
            await sequence.run(LENGTH)
        except OSError as error:
            findings.add(f"no answer: {error}", f"seed {seed}, {resource.resource}")
        await sequence.end()


def main(arguments: Rows[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=0, help="rounds, instead of --seconds")
    parser.add_argument("--sequences", type=int, default=SEQUENCES, help="in one round")
    parser.add_argument("--server", help="URL of a running server")
    parser.add_argument("--against", help="URL of a server to compare it with")
    parser.add_argument("--token-file", type=Path, help="bearer token for both")
    options = parser.parse_args(arguments)
    token = options.token_file.read_text().strip() if options.token_file else ""
    findings = Findings()
    end, seed, sent = monotonic() + options.seconds, options.seed, 0
    while seed - options.seed < options.iterations or (
        not options.iterations and monotonic() < end
    ):
        if options.server:
            theirs = Remote(options.against, token) if options.against else None
            ours = Remote(options.server, token)
            trio.run(_over_http, seed, options.sequences, findings, ours, theirs)
        else:
            sent += explore(seed, options.sequences, findings)
        seed += 1
    print(f"\nseeds {options.seed} to {seed - 1}, {sent} requests, {len(findings.seen)} findings")
    for key, count in findings.seen.most_common():
        print(f"{count:6d}  {key}")
    if findings.seen:
        sys.exit(1)


if __name__ == "__main__":
    main()
