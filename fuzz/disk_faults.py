"""Every operation of a store on its disk fails once, and power is lost behind every one of them.

python fuzz/disk_faults.py --all --seed 1
python fuzz/disk_faults.py --each --seed 1
python fuzz/disk_faults.py --seconds 60 --seed 1

A workload is lives of a store, one behind the other, of at least 500 writes (creations, updates,
deletions, times to live, compactions, checkpoints).  It is recorded once, operation by operation.

Then each operation fails once, in each way there is, and its life is lived again: open, write,
sync, truncation, allocation, rename and removal of the database, its log, its journal, its notes
and its directory.  Nothing is lost that was answered or announced, refusals say whether anything
was kept, the store takes writes again, no descriptor stays open, and all of that holds when power
is lost at the end, too.

And behind each operation power is lost: the disk is made as it may be then, without what was not
synced, with all of it, with some of it, with torn writes.  The store opens, and has all that was
answered and announced, in whole transactions.

With --each an operation fails in one way, by turns, which takes a third of the time of --all.  With
--seconds the points are drawn at random.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random  # noqa: TID251  (a type; the generator is seeded)
from typing import TypeVar

import trio
from trio.testing import MockClock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fuzz.disk_images import LOST, SOME, WAYS, Platter, read_files, write_files
from fuzz.disk_lives import Broken, Life, Witness, check, live, require
from fuzz.disk_ops import FAULTS_OF, Disk, Fault, Kind, Op, descriptors_kept
from kubetrio.env import monotonic, seeded
from kubetrio.harness.scheduler import seed_scheduler
from kubetrio.runtime.groups import leaves
from kubetrio.store.errors import StoreClosed, StoreUnavailable
from kubetrio.store.sqlite.commits import MAX_BATCH
from kubetrio.store.sqlite.errors import DatabaseUnusable, StoreBroken

T = TypeVar("T")

LIVES = 20
HANGS_S = 1e6  # of a clock that does not wait
SHARED = Path("/dev/shm")


@dataclass
class Recorded:
    """A life without faults.

    Args:
        life: which.
        base: files at its beginning.
        ops: what the disk carried out.
        points: what was asked of it.
        witness: what was seen.
        begun: of whom the life before was seen.
    """

    life: Life
    base: dict[str, bytes]
    ops: list[Op]
    points: list[Op]
    witness: Witness
    begun: Witness


@dataclass
class Counts:
    """What was tried, and what did not hold.

    Attributes:
        numbers: by what it was.
        problems: what did not hold.
    """

    numbers: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def found(self, text: str) -> None:
        """Note a problem."""
        self.problems.append(text)
        print(text, flush=True)

    def text(self) -> str:
        """All of it, a line each."""
        lines = [f"{number:8d}  {what}" for what, number in sorted(self.numbers.items())]
        return "\n".join([*lines, f"{len(self.problems)} problems", *self.problems])


def run(what: Callable[[], Awaitable[T]]) -> T:
    """Run something on a clock that does not wait."""

    async def main() -> T:
        with trio.fail_after(HANGS_S):
            return await what()

    seed_scheduler(0)  # the order of tasks is that of the recording
    try:
        return trio.run(main, clock=MockClock(autojump_threshold=0))
    except BaseExceptionGroup as group:
        found = next((each for each in leaves(group) if isinstance(each, Broken)), None)
        if found is None:
            raise
        raise found from group


def record(folder: Path, seed: int, lives: int) -> list[Recorded]:
    """Live all lives without faults.

    Args:
        folder: for their files.
        seed: of the workload.
        lives: how many.
    """
    directory = folder / "recorded"
    done = []
    begun = Witness()
    for number in range(lives):
        life = Life(seed, number)
        base = read_files(directory)
        witness = begun.next()
        with Disk(directory, ring=life.ring) as disk:
            run(partial(live, directory, life, witness, disk))
        done.append(Recorded(life, base, disk.ops, disk.points, witness, begun.next()))
        begun = witness
    shutil.rmtree(directory)
    return done


def again(begun: Witness) -> Witness:
    """A witness of a life that begins as another did."""
    return Witness(dict(begun.before), begun.revision)


def fail(folder: Path, given: Recorded, number: int, fault: Fault, counts: Counts) -> None:
    """Live a life again in which one operation fails.

    Args:
        folder: for its files.
        given: the life.
        number: of the operation.
        fault: what goes wrong with it.
        counts: told.
    """
    life, directory = given.life, folder / "failed"
    op = given.points[number]
    title = f"--seed {life.seed} --life {life.number} --operation {number} ({fault.value} of "
    title += f"{op.kind.value} of {op.name or 'the directory'} by {op.by})"
    witness = again(given.begun)
    if given.base:
        write_files(directory, given.base)
    try:
        with descriptors_kept(), Disk(directory, number, fault, ring=life.ring) as disk:
            raised = _lived(directory, life, witness, disk)
        require(disk.fired, "the operation did not come")
        broken = any(isinstance(each, StoreBroken) for each in raised)
        _judge(raised, witness, fault, op, broken=broken, directory=directory)
        ahead = MAX_BATCH if broken else 0
        heads = range(witness.newest, witness.newest + ahead + 1)
        run(partial(check, directory, life, witness, heads))
        # And power is lost behind the last answer.
        platter = Platter(given.base)
        for each in disk.ops[: witness.worked or len(disk.ops)]:
            platter.apply(each)
        if image := platter.image((LOST, SOME)[number % 4 == 0], seeded(number).rng):
            _look(folder, image, life, witness, heads)
        counts.numbers[f"fault: {fault.value} of {op.kind.value}"] += 1
        counts.numbers["faults: writes that were answered and are there"] += len(witness.answered)
        for what in ("StoreUnavailable", "StoreFull", "undecided", "unread"):
            counts.numbers[f"faults: answers {what}"] += witness.answers[what]
        counts.numbers["faults: starts that were refused"] += not witness.started
        counts.numbers["faults: stores that ended at a failed sync"] += broken
    except (Broken, AssertionError, trio.TooSlowError) as error:
        counts.found(f"{title}: {error!r}")
    except Exception as error:  # noqa: BLE001  (told, with how to repeat it)
        counts.found(f"{title}: {error!r}")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _lived(directory: Path, life: Life, witness: Witness, disk: Disk) -> list[BaseException]:
    raised: list[BaseException] = []
    try:
        run(partial(live, directory, life, witness, disk))
    except* (OSError, DatabaseUnusable, StoreBroken, StoreClosed, StoreUnavailable) as group:
        raised = list(leaves(group))
    return raised


def _judge(
    raised: Sequence[BaseException],
    witness: Witness,
    fault: Fault,
    op: Op,
    *,
    broken: bool,
    directory: Path,
) -> None:
    """See that a life ended as its fault may end it."""
    if not witness.started:
        require(raised, "it neither started nor failed")
        text = str(raised[0])
        require("\n" not in text, f"not a line: {text}")
        require(str(directory) in text, f"names no file: {text}")
        return
    if broken:
        require(op.kind is Kind.SYNC, "it ends without a failed sync")
        return
    require(not raised, f"it ended by {raised}")
    require(not witness.answers["undecided"], "a refused write is undecided without need")
    if fault is Fault.REFUSED:
        require(set(witness.answers) <= {"made"}, f"answers {witness.answers}")


def _look(folder: Path, image: dict[str, bytes], life: Life, seen: Witness, heads: range) -> int:
    place = folder / "image"
    write_files(place, image)
    try:
        return run(partial(check, place, life, seen, heads))
    finally:
        shutil.rmtree(place)


def lose_power(
    folder: Path, given: Recorded, counts: Counts, chosen: frozenset[int] | None = None
) -> None:
    """Lose power behind operations of a life, in each way there is.

    Args:
        folder: for images.
        given: the life.
        counts: told.
        chosen: behind how many operations; None for all.
    """
    platter, seen, life = Platter(given.base), given.witness, given.life
    known: set[int] = set()
    for number in range(len(given.ops) + 1):
        if number:
            platter.apply(given.ops[number - 1])
        if chosen is not None and number not in chosen:
            continue
        announced = seen.revision + sum(heard <= number for heard in seen.heard)
        answered = max([rev for rev, by in seen.answered if by <= number], default=seen.revision)
        least = max(announced, answered)
        counts.numbers["crash points"] += 1
        for way in WAYS:
            image = platter.image(way, seeded(number).rng)
            mark = hash((least, *sorted(image.items())))
            if mark in known or not image:
                continue
            known.add(mark)
            counts.numbers["crash images that were opened"] += 1
            heads = range(least, min(least + MAX_BATCH, seen.newest) + 1)
            try:
                newest = _look(folder, image, life, seen, heads)
                counts.numbers["crashes: writes under way that were kept"] += newest - least
                counts.numbers["crashes: announced writes that are there"] += least - seen.revision
            except (Broken, AssertionError, trio.TooSlowError) as error:
                counts.found(
                    f"--seed {life.seed} --life {life.number} --crash {number} ({way}): {error!r}"
                )


def every_fault(given: Recorded) -> Iterator[tuple[int, Fault]]:
    """Numbers of the operations of a life, with what may go wrong with each."""
    for number, op in enumerate(given.points):
        yield from ((number, fault) for fault in FAULTS_OF[op.kind])
        if op.by == "ring":
            yield number, Fault.REFUSED


def one_fault_each(given: Recorded) -> Iterator[tuple[int, Fault]]:
    """Numbers of the operations of a life with one of their faults: each of them by turns."""
    faults: dict[int, list[Fault]] = {}
    for number, fault in every_fault(given):
        faults.setdefault(number, []).append(fault)
    for number, some in faults.items():
        yield number, some[(number + given.life.number) % len(some)]


def enumerate_all(
    folder: Path,
    recorded: Sequence[Recorded],
    counts: Counts,
    chosen: Callable[[Recorded], Iterator[tuple[int, Fault]]],
) -> None:
    """Try everything.

    Args:
        folder: for files.
        recorded: lives.
        counts: told.
        chosen: numbers of the operations of a life that fail, and how.
    """
    for given in recorded:
        for number, fault in chosen(given):
            fail(folder, given, number, fault, counts)
        lose_power(folder, given, counts)
        told = f"life {given.life.number}: {sum_of(counts, 'fault: ')} faults, "
        told += f"{counts.numbers['crash points']} crash points, {len(counts.problems)} problems"
        print(told, flush=True)


def sum_of(counts: Counts, begin: str) -> int:
    """Sum of the numbers whose names begin so."""
    return sum(number for what, number in counts.numbers.items() if what.startswith(begin))


def try_one(folder: Path, recorded: Sequence[Recorded], counts: Counts, rng: Random) -> None:
    """Have one operation fail, and lose power behind one, both drawn."""
    given = rng.choice(recorded)
    number, fault = rng.choice(list(every_fault(given)))
    fail(folder, given, number, fault, counts)
    lose_power(folder, given, counts, frozenset({rng.randint(0, len(given.ops))}))


def draw(folder: Path, recorded: Sequence[Recorded], counts: Counts, seed: int, end: float) -> None:
    """Try points at random until a time."""
    rng = seeded(seed).rng
    while monotonic() < end:
        try_one(folder, recorded, counts, rng)


def noted(recorded: Sequence[Recorded], counts: Counts) -> None:
    """Count what was recorded."""
    counts.numbers["recorded: lives"] = len(recorded)
    for given in recorded:
        counts.numbers["recorded: writes"] += len(given.witness.events)
        counts.numbers["recorded: operations"] += len(given.points)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lives", type=int, default=LIVES, help="of the workload")
    parser.add_argument("--all", action="store_true", help="every point, in each way")
    parser.add_argument("--each", action="store_true", help="every point, in one way each")
    parser.add_argument("--life", type=int, help="only this one")
    parser.add_argument("--operation", type=int, help="only this one fails, with --life")
    parser.add_argument("--crash", type=int, help="only behind so many operations, with --life")
    options = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    counts = Counts()
    place = SHARED if SHARED.is_dir() else None
    with tempfile.TemporaryDirectory(dir=place, prefix="kubetrio-disk-") as name:
        folder = Path(name)
        recorded = record(folder, options.seed, options.lives)
        noted(recorded, counts)
        if options.life is not None:
            recorded = [recorded[options.life]]
        if options.operation is not None:
            for number, fault in every_fault(recorded[0]):
                if number == options.operation:
                    fail(folder, recorded[0], number, fault, counts)
        elif options.crash is not None:
            lose_power(folder, recorded[0], counts, frozenset({options.crash}))
        elif options.all or options.each or options.life is not None:
            chosen = one_fault_each if options.each else every_fault
            enumerate_all(folder, recorded, counts, chosen)
        else:
            draw(folder, recorded, counts, options.seed, monotonic() + options.seconds)
    logging.disable(logging.NOTSET)
    print(counts.text())
    return 1 if counts.problems else 0


if __name__ == "__main__":
    sys.exit(main())
