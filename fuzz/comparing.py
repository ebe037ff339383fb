"""Running servers: one that is asked over HTTP, and two that are asked the same and compared."""

from __future__ import annotations

import http.client
import json
import re
import ssl
from collections import Counter
from collections.abc import Sequence as Rows
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from fuzz.likeness import NODE_PORT, TOKEN, UID, Likeness, decoded, encoded, shown
from fuzz.options import PROTOBUF
from fuzz.steps import Reply, Step
from kubetrio.env import Env

TIMEOUT_S = 20.0
CLUSTER_IP = re.compile(rb"\b10\.0\.0\.\d{1,3}\b")
REVISION = re.compile(rb"""("resourceVersion": ?"|resourceVersion: ')(\d+)(["'])""")
PORT = re.compile(rb'("(?:nodePort|healthCheckNodePort)": ?)(\d+)\b')
BYTES_UID, BYTES_TOKEN = (re.compile(p.pattern.encode()) for p in (UID, TOKEN))
MOST_PLACES = 6  # of one answer that are told


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


def requests_shown(steps: Rows[Step]) -> str:
    """Requests as they can be read and sent again."""
    out = []
    for step in steps:
        about = [step.headers.get("Content-Type", ""), step.headers.get("Accept", "")]
        about += [f"as {step.user}"] if step.user else []
        about += ["in protobuf"] if step.encode else []
        body = (step.body or b"").decode(errors="backslashreplace")
        out.append(
            f"{step.method} {step.target} {' '.join(filter(None, about))}\n    {body[:3000]}"
        )
    return "\n".join(out)


def impersonation(user: str) -> dict[str, str]:
    """Headers with which the administrator asks as a user."""
    return {"Impersonate-User": user, "Impersonate-Group": "devs"} if user else {}


def on_the_wire(step: Step) -> Step:
    """A request with its body in the format in which it goes out."""
    if not step.encode or step.body is None:
        return step
    body = encoded(step.body, step.encode)
    if body is None:
        return step
    return replace(step, body=body, headers={**step.headers, "Content-Type": PROTOBUF})


class Remote:
    """A running server.

    Args:
        url: where it listens.
        token: of the administrator.
        tokens: of other users; those without one are impersonated.
    """

    def __init__(self, url: str, token: str, tokens: dict[str, str] | None = None) -> None:
        parts = urlsplit(url)
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        self._token = token
        self._tokens = tokens or {}
        self._connection = http.client.HTTPSConnection(
            parts.hostname or "", parts.port, timeout=TIMEOUT_S, context=context
        )

    def send(self, step: Step) -> Reply:
        """Send a request.

        Raises:
            OSError: there is no answer.
        """
        token = self._tokens.get(step.user, self._token)
        headers = {"Authorization": f"Bearer {token}", **step.headers}
        if step.user not in self._tokens:
            headers |= impersonation(step.user)
        try:
            self._connection.request(step.method, step.target, step.body, headers)
            answer = self._connection.getresponse()
            got = tuple((name.lower(), value) for name, value in answer.getheaders())
            return Reply(answer.status, answer.read(), got)
        except (http.client.HTTPException, OSError) as error:
            self._connection.close()
            raise OSError(f"{self._connection.port}: {error!r}") from error


@dataclass
class Totals:
    """Counts of a comparison.

    Args:
        sent: requests to the first server.
        compared: answers that were compared, by group.
        differing: answers that differ, by group.
        followers: those of them that come after a write was answered differently, whose objects
            differ for that reason.
    """

    sent: int = 0
    compared: Counter[str] = field(default_factory=Counter)
    differing: Counter[str] = field(default_factory=Counter)
    followers: int = 0

    def text(self) -> str:
        """The counts, as a table."""
        compared, differing = self.compared.total(), self.differing.total()
        first = f"{self.sent} requests, {compared} answers compared: {compared - differing} equal"
        out = [
            f"{first}, {differing} differing ({self.followers} of them after another difference)"
        ]
        for group, count in sorted(self.compared.items()):
            out.append(f"{count:7d} {self.differing[group]:6d}  {group}")
        return "\n".join(out)


class Known:
    """What the second server calls the things that the first one named."""

    def __init__(self) -> None:
        self._names: dict[bytes, bytes] = {}
        self._revisions: dict[bytes, bytes] = {}

    def learn(self, ours: Any, theirs: Any, key: str = "") -> None:
        """Remember, of two answers to one request, what differs where both have a drawn value."""
        if isinstance(ours, dict) and isinstance(theirs, dict):
            for name in ours.keys() & theirs.keys():
                self.learn(ours[name], theirs[name], name)
        elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
            for mine, other in zip(ours, theirs, strict=True):
                self.learn(mine, other, key)
        elif ours != theirs and type(ours) is type(theirs) and isinstance(ours, str | int):
            self._learn_one(str(ours).encode(), str(theirs).encode(), key)

    def _learn_one(self, mine: bytes, other: bytes, key: str) -> None:
        if key == "resourceVersion":
            self._revisions[mine] = other
        elif NODE_PORT.fullmatch(mine.decode()) or any(
            pattern.fullmatch(mine) and pattern.fullmatch(other)
            for pattern in (BYTES_UID, BYTES_TOKEN, CLUSTER_IP)
        ):
            self._names[mine] = other

    def translated(self, step: Step) -> Step:
        """A request that was made of the answers of one server, for the other."""
        headers = {
            name: self._named(BYTES_TOKEN, value.encode()).decode()
            for name, value in step.headers.items()
        }
        body = step.body
        if body is None:
            return replace(step, headers=headers)
        for pattern in (BYTES_UID, BYTES_TOKEN, CLUSTER_IP):
            body = self._named(pattern, body)
        body = REVISION.sub(lambda m: m[1] + self._revisions.get(m[2], m[2]) + m[3], body)
        body = PORT.sub(lambda m: m[1] + self._names.get(m[2], m[2]), body)
        return replace(step, body=body, headers=headers)

    def _named(self, pattern: re.Pattern[bytes], data: bytes) -> bytes:
        return pattern.sub(lambda found: self._names.get(found[0], found[0]), data)


class Both:
    """Sends to a server and perhaps to another, and judges the answers.

    Args:
        ours: the server.
        theirs: what to compare with.
        env: the wall clock.
        findings: where what is found goes.
    """

    OWN_500 = re.compile(rb"Internal error occurred: \w*(Error|Exception|Group)\b")

    def __init__(self, ours: Remote, theirs: Remote | None, env: Env, findings: Findings) -> None:
        self._ours = ours
        self._theirs = theirs
        self.findings = findings
        self._likeness = Likeness(env)
        self._known = Known()
        self._drifted = False
        self.totals = Totals()
        self.title = ""

    def begin(self, title: str) -> None:
        """Begin with another object, about which the servers agree."""
        self.title = title
        self._drifted = False

    async def send(self, step: Step) -> Reply:
        """Send a request to each; the answer is that of the first."""
        self.totals.sent += 1
        ours = self._ours.send(on_the_wire(step))
        if ours.status == 500 and self.OWN_500.search(ours.body):
            self.findings.add(f"500: {_words(ours)}", self._text(step, ""))
        if self._theirs is not None:
            theirs = self._theirs.send(on_the_wire(self._known.translated(step)))
            self._known.learn(decoded(ours), decoded(theirs))
            self._compare(step, theirs, ours)
        return as_json(step, ours)

    def _compare(self, step: Step, theirs: Reply, ours: Reply) -> None:
        group = step.what.partition("/")[0]
        self.totals.compared[group] += 1
        found = list(self._likeness.differences(theirs, ours))
        if not found:
            return
        self.totals.differing[group] += 1
        if self._drifted:
            self.totals.followers += 1
            return
        self._drifted = step.method != "GET" and (theirs.status < 300 or ours.status < 300)
        where = found[0][0]
        if where == "status":
            where = f"{_verdict(theirs)} there, {_verdict(ours)} here"
        lines = [
            f"{at}\n  there {shown(left)}\n  here  {shown(right)}"
            for at, left, right in found[:MOST_PLACES]
        ]
        self.findings.add(f"{step.what}: {where}", self._text(step, "\n".join(lines)))

    def _text(self, step: Step, text: str) -> str:
        return f"{self.title}\n{text}\n{requests_shown([step])}"


def as_json(step: Step, reply: Reply) -> Reply:
    """An answer, in JSON if it was asked for in protobuf, as later requests are made of it."""
    if step.headers.get("Accept") == PROTOBUF and step.what.endswith(" get"):
        return replace(reply, body=json.dumps(decoded(reply)).encode())
    return reply


def _verdict(reply: Reply) -> str:
    value = decoded(reply)
    reason = value.get("reason", "") if isinstance(value, dict) and reply.status >= 400 else ""
    return f"{reply.status} {reason}".strip()


def _words(reply: Reply) -> str:
    value = decoded(reply)
    return str(value.get("message", ""))[:600] if isinstance(value, dict) else ""
