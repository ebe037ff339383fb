"""A seed decides every byte: random scripts get the same answers in two processes.

python fuzz/determinism.py --scripts 200 --seed 1
python fuzz/determinism.py --scripts 200 --python /usr/bin/python3.12 --python /usr/bin/python3.13

A script is sequences of requests about objects of all kinds, valid ones that were changed at
random, with watches, moves of the clock, faults and restarts between them, on a server in memory or
on a disk, with all controllers.  One process records it, another one, with another hash seed,
replays it.  A finding is a byte of an answer or of a watch that differs, or another digest of what
is stored.  Scripts with findings are kept with --keep.  With --python the interpreters take turns
at recording, and the others replay, each in a process of its own.  With --light most scripts
are short ones about copies of one server in memory, which need not be opened for each of them.
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
from fuzz.runs import facts
from fuzz.steps import Reply, Step, collection
from kubetrio.env import seeded
from kubetrio.faults import Rule
from kubetrio.harness import Harness, Request, Script, Session, Setup, diff, record, run
from kubetrio.harness.script import ScriptError

BATCH = 20  # scripts of one process
SEQUENCES, SHORT = 3, 1  # of a script, and of one about a copy
LENGTH = 6  # requests about one object
PROTOBUF_SHARE = 0.15
DISK_SHARE = 0.2  # of scripts whose server has SQLite
WHOLE_EACH = 20  # with --light: one of so many scripts is not about a copy
LONGEST_MOVE_S = 7200
COPY_S = 600.0  # of the real clock, for one script
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


async def define(session: Session) -> None:
    """Create the custom resources that scripts are about."""
    for definition in corpus().definitions:
        await session.request("POST", DEFINED, definition)
    await session.settle()


async def recorded(server: Harness) -> tuple[Script, str]:
    """Draw a script and do it; return it with the digest of what is stored."""
    async with record(server) as session:
        await define(session)
        await _drawn(session, server.setup.seed, SEQUENCES)
        return session.script, await server.digest()


async def _drawn(session: Session, seed: int, sequences: int) -> None:
    """Draw the requests of a script and do them."""
    known = corpus()
    mutator = Mutator(seeded(seed).rng, known)
    recorder = Recorder(session, mutator, known)
    for _ in range(sequences):
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


async def replay(script: Script, server: Harness) -> tuple[Script, str]:
    """Do a script again; return it with the answers of now, and the digest of what is stored."""
    async with record(server) as session:
        for step in script.steps:
            await session.do(step)
        return session.script, await server.digest()


async def _copied(what: str, folder: Path, seeds: Sequence[int], server: Harness) -> list[Played]:
    """Play scripts with a copy of a server each."""
    async with record(server) as session:
        await define(session)
    return [
        await server.fork(partial(_of_copy, what, folder, seed), limit_s=COPY_S) for seed in seeds
    ]


async def _of_copy(what: str, folder: Path, seed: int, server: Harness) -> Played:
    if what == RECORD:
        async with record(server) as session:
            await _drawn(session, seed, SHORT)
            script, store = session.script, await server.digest()
    else:
        script, store = await replay(Script.load(folder / f"{seed}-{RECORD}.json"), server)
    return _kept(what, folder, seed, script, store)


def _kept(what: str, folder: Path, seed: int, script: Script, store: str) -> Played:
    script.save(folder / f"{seed}-{what}.json")
    answers = sha256(str(script).encode()).hexdigest()
    return Played(seed, answers, store, len(script.steps))


def play(what: str, folder: Path, seeds: Sequence[int], *, light: bool = False) -> Iterator[Played]:
    """Record scripts into a folder, or replay those that are there.

    Args:
        what: `RECORD` or `REPLAY`.
        folder: of scripts; replays go beside them.
        seeds: of the scripts.
        light: whether most of them are about copies of one server.
    """
    copies = [seed for seed in seeds if light and seed % WHOLE_EACH]
    for seed in seeds:
        if seed in copies:
            continue
        if what == RECORD:
            script, store = run(recorded, setup_of(seed))
        else:
            given = Script.load(folder / f"{seed}-{RECORD}.json")
            script, store = run(partial(replay, given), given.setup)
        yield _kept(what, folder, seed, script, store)
    if copies:
        yield from run(partial(_copied, what, folder, copies), Setup(seed=copies[0]))


@dataclass(frozen=True)
class Plan:
    """What is recorded and replayed.

    Args:
        seed: of the first script.
        scripts: how many.
        folder: for scripts; those with differences stay.
        pythons: interpreters; they take turns at recording, and the others replay; one alone
            replays what it recorded.
        light: see `play`.
        batch: scripts of one process.
    """

    seed: int
    scripts: int
    folder: Path
    pythons: Sequence[str] = (sys.executable,)
    light: bool = False
    batch: int = BATCH

    def in_process(
        self, what: str, seeds: Sequence[int], hash_seed: int, python: str
    ) -> list[Played]:
        """Have a process of its own play scripts.

        Args:
            what: see `play`.
            seeds: see `play`.
            hash_seed: of its dictionaries and sets of texts.
            python: interpreter.

        Raises:
            subprocess.CalledProcessError: it failed.
        """
        command = [python, __file__, "--child", what, "--keep", str(self.folder)]
        command += [*(["--light"] if self.light else ()), *map(str, seeds)]
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


def prove(plan: Plan) -> Iterator[tuple[int, int, list[str]]]:
    """Record and replay scripts; yield after each batch their number, their steps and findings."""
    steps, findings, folder = 0, [], plan.folder
    names = {python: version(python) for python in plan.pythons}
    end = plan.seed + plan.scripts
    for number, first in enumerate(range(plan.seed, end, plan.batch)):
        seeds = range(first, min(first + plan.batch, end))
        by = plan.pythons[number % len(plan.pythons)]
        made = plan.in_process(RECORD, seeds, 1, by)
        steps += sum(one.steps for one in made)
        differing: set[int] = set()
        others = [python for python in plan.pythons if python != by] or [by]
        for hash_seed, python in enumerate(others, 2):
            for one, other in zip(
                made, plan.in_process(REPLAY, seeds, hash_seed, python), strict=True
            ):
                if differs := compare(folder, one, other):
                    differing.add(one.seed)
                    findings += [f"{names[by]}, {names[python]}: {line}" for line in differs]
                    kept = folder / f"{one.seed}-{REPLAY}.json"
                    kept.rename(folder / f"{one.seed}-{REPLAY}-{hash_seed - 1}.json")
        for one in made:
            if one.seed not in differing:
                for what in (RECORD, REPLAY):
                    (folder / f"{one.seed}-{what}.json").unlink(missing_ok=True)
        yield seeds[-1] + 1 - plan.seed, steps, findings


def version(python: str) -> str:
    """The version of an interpreter."""
    command = [python, "-c", "import platform; print(platform.python_version())"]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scripts", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for scripts with findings")
    parser.add_argument(
        "--python", action="append", help="interpreter beside this one; may be repeated"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers there")
    parser.add_argument("--light", action="store_true", help="copies of one server")
    parser.add_argument("--batch", type=int, default=BATCH, help="scripts of one process")
    parser.add_argument("--child", choices=(RECORD, REPLAY), help=argparse.SUPPRESS)
    parser.add_argument("seeds", nargs="*", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        for played in play(options.child, options.keep, options.seeds, light=options.light):
            print(json.dumps(played._asdict()), flush=True)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        plan = Plan(
            seed=options.seed,
            scripts=options.scripts,
            folder=folder,
            pythons=[sys.executable, *(options.python or ())],
            light=options.light,
            batch=options.batch,
        )
        about = {
            "what": "determinism",
            "facts": facts(),
            "seed": options.seed,
            "pythons": [version(python) for python in plan.pythons],
        }
        findings: list[str] = []
        for scripts, steps, findings in prove(plan):
            print(f"{scripts} scripts, {steps} steps, {len(findings)} differences", flush=True)
            if options.json:
                data = {**about, "scripts": scripts, "steps": steps, "differences": findings}
                options.json.write_text(json.dumps(data, indent=1))
    for line in findings:
        print(line)
    if findings:
        sys.exit(1)


if __name__ == "__main__":
    main()
