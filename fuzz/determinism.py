"""A seed decides every byte: random scripts get the same answers in two processes.

python fuzz/determinism.py --scripts 200 --seed 1

A script is sequences of requests about objects of all kinds, valid ones that were changed at
random, with watches, moves of the clock, faults and restarts between them, on a server in memory or
on a disk, with all controllers.  One process records it, another one, with another hash seed,
replays it.  A finding is a byte of an answer or of a watch that differs, or another digest of what
is stored.  Scripts with findings are kept with --keep.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fuzz.areas import Area, draw
from fuzz.comparing import as_json, impersonation, on_the_wire
from fuzz.corpus import Corpus, corpus
from fuzz.mutations import Mutator
from fuzz.steps import Reply, Step, collection
from kubetrio.env import seeded
from kubetrio.faults import Rule
from kubetrio.harness import Harness, Request, Script, Session, Setup, diff, record, run
from kubetrio.harness.script import ScriptError

BATCH = 20  # scripts of one process
SEQUENCES = 3
LENGTH = 6  # requests about one object
PROTOBUF_SHARE = 0.15
DISK_SHARE = 0.2  # of scripts whose server has SQLite
LONGEST_MOVE_S = 7200
DEFINED = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FAULTS = ("409", "429", "500", "503", "410", "watch-drop", "watch-close", "latency", "stale")
RECORD, REPLAY = "record", "replay"


class Played(NamedTuple):
    """What a process tells of a script.

    Args:
        seed: of the script.
        answers: digest of all answers, watches included.
        store: digest of what is stored at the end.
        steps: how many it has.
    """

    seed: int
    answers: str
    store: str
    steps: int


@dataclass
class Recorder:
    """Draws a script while it is done.

    Args:
        session: does the steps.
        mutator: draws.
        known: objects to begin with.
    """

    session: Session
    mutator: Mutator
    known: Corpus

    async def send(self, step: Step) -> Reply:
        """Do a request of a sequence; what no script can have is not sent."""
        sent = on_the_wire(step)
        headers = {**sent.headers, **impersonation(sent.user)}
        request = Request(method=sent.method, path=sent.target, headers=headers, **_body(sent.body))
        try:
            checked(request)
        except ScriptError:
            return Reply(400, b"{}")
        reply = await self.session.do(request)
        return as_json(step, Reply(reply.status, reply.body, tuple(reply.headers.items())))

    async def between(self) -> None:
        """Do what is no request, or nothing."""
        rng, session = self.mutator.rng, self.session
        kinds = [kind for kind in self.known.bases if "watch" in kind.verbs]
        match rng.choice(("watch", "watch", "move", "move", "settle", "fault", "restart", "")):
            case "watch":
                path = collection(rng.choice(kinds), "default")
                await session.watch(f"{path}?watch=1&allowWatchBookmarks=true")
            case "move":
                await session.move(seconds=rng.randint(1, LONGEST_MOVE_S))
            case "settle":
                await session.settle()
            case "fault":
                await session.inject(self._rule() if rng.random() < 0.7 else None)
            case "restart" if rng.random() < 0.5:
                await session.restart()

    def _rule(self) -> Rule:
        rng = self.mutator.rng
        fault = rng.choice(FAULTS)
        delay_s = 1.0 if fault == "latency" else 0.0
        return Rule(fault=fault, probability=0.2, count=rng.randint(1, 9), delay_s=delay_s)


def checked(request: Request) -> None:
    """See that a script can have a request.

    Raises:
        ScriptError: it cannot.
    """
    Script.parse(str(Script(steps=(request,))))


def _body(body: bytes | None) -> dict[str, Any]:
    if body is None:
        return {}
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(body).decode()}
    # What looks like a reference would be replaced.
    return {"base64": b64encode(body).decode()} if "{{" in text else {"text": text}


def setup_of(seed: int) -> Setup:
    """How the server of a script is made."""
    disk = seeded(seed).rng.random() < DISK_SHARE
    return Setup(seed=seed, storage="disk" if disk else "memory")


async def recorded(server: Harness) -> tuple[Script, str]:
    """Draw a script and do it; return it with the digest of what is stored."""
    known = corpus()
    mutator = Mutator(seeded(server.setup.seed).rng, known)
    async with record(server) as session:
        recorder = Recorder(session, mutator, known)
        for definition in known.definitions:
            await session.request("POST", DEFINED, definition)
        await session.settle()
        for _ in range(SEQUENCES):
            await recorder.between()
            area = Area(
                mutator=mutator,
                corpus=known,
                send=recorder.send,
                settle=lambda seconds: session.move(seconds=seconds),
                length=LENGTH,
                protobuf=PROTOBUF_SHARE,
            )
            try:
                await draw(area)
            except RecursionError:
                pass  # ours: an object that grew too deep to change
        await session.settle()
        return session.script, await server.digest()


async def replay(script: Script, server: Harness) -> tuple[Script, str]:
    """Do a script again; return it with the answers of now, and the digest of what is stored."""
    async with record(server) as session:
        for step in script.steps:
            await session.do(step)
        return session.script, await server.digest()


def play(what: str, folder: Path, seeds: Sequence[int]) -> Iterator[Played]:
    """Record scripts into a folder, or replay those that are there.

    Args:
        what: `RECORD` or `REPLAY`.
        folder: of scripts; replays go beside them.
        seeds: of the scripts.
    """
    for seed in seeds:
        if what == RECORD:
            script, store = run(recorded, setup_of(seed))
        else:
            given = Script.load(folder / f"{seed}-{RECORD}.json")
            script, store = run(partial(replay, given), given.setup)
        script.save(folder / f"{seed}-{what}.json")
        answers = sha256(str(script).encode()).hexdigest()
        yield Played(seed, answers, store, len(script.steps))


def in_process(what: str, folder: Path, seeds: Sequence[int], hash_seed: int) -> list[Played]:
    """Have a process of its own play scripts.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    command = [sys.executable, __file__, "--child", what, "--keep", str(folder), *map(str, seeds)]
    env = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True)
    return [Played(**json.loads(line)) for line in done.stdout.splitlines()]


def compare(folder: Path, one: Played, other: Played) -> list[str]:
    """Lines about what differs between a recorded script and its replay."""
    lines = []
    if one.answers != other.answers:
        scripts = [Script.load(folder / f"{one.seed}-{what}.json") for what in (RECORD, REPLAY)]
        lines += [f"seed {one.seed}: {each}" for each in diff(*scripts)[:20]]
    if one.store != other.store:
        lines.append(f"seed {one.seed}: other objects are stored")
    return lines


def prove(seed: int, scripts: int, folder: Path) -> tuple[int, list[str]]:
    """Record and replay scripts; return the number of their steps, and what differs."""
    steps, findings = 0, []
    for first in range(seed, seed + scripts, BATCH):
        seeds = range(first, min(first + BATCH, seed + scripts))
        pairs = zip(
            in_process(RECORD, folder, seeds, 1), in_process(REPLAY, folder, seeds, 2), strict=True
        )
        for one, other in pairs:
            steps += one.steps
            differs = compare(folder, one, other)
            findings += differs
            if not differs:
                for what in (RECORD, REPLAY):
                    (folder / f"{one.seed}-{what}.json").unlink()
        done = f"seeds {seed} to {seeds[-1]}"
        print(f"{done}: {steps} steps, {len(findings)} differences", flush=True)
    return steps, findings


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scripts", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for scripts with findings")
    parser.add_argument("--child", choices=(RECORD, REPLAY), help=argparse.SUPPRESS)
    parser.add_argument("seeds", nargs="*", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        for played in play(options.child, options.keep, options.seeds):
            print(json.dumps(played._asdict()), flush=True)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        _, findings = prove(options.seed, options.scripts, folder)
    for line in findings:
        print(line)
    if findings:
        sys.exit(1)


if __name__ == "__main__":
    main()
