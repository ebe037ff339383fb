"""Rows about attacks: what the server holds for them, and what they leave to an honest user."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator

from benchmarks.errors import BenchError
from benchmarks.overload import rights, scene
from benchmarks.overload.bystander import Phase
from benchmarks.overload.catalog import ATTACKS, CBOR, MIXED, Attack
from benchmarks.overload.scene import Outcome, Script
from benchmarks.rows import BenchmarkRow, Lab, Opened, Sample, Target
from benchmarks.subjects import Running, Subject

WARM = 10  # objects that the honest user reads
MEMORY = Target("value", "<", 100)
WATCHES = Target("value", "<", 60)
BESIDE = (Target("readyz_p99_ms", "<", 100), Target("kept_mb", "<", scene.BACK_MB))
LATENCY = (Target("p99_ratio", "<", 10),)
MIXED_PARTIES = 3
MIXED_SLICE_S = 20.0


def _script(lab: Lab, parties: tuple[tuple[str, ...], ...]) -> Script:
    plan = lab.plan
    return Script(
        parties=parties,
        calm_s=plan.calm_s,
        attack_s=plan.attack_s,
        back_s=plan.back_s,
        scale=plan.attack_scale,
    )


def _under(attack: Attack) -> Callable[[Lab, Subject], Opened]:
    @contextlib.contextmanager
    def opened(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
        script = _script(lab, ((attack.name,),) * attack.processes)
        with subject.running(objects=WARM, flags=attack.flags, allowed=rights.ALLOWED) as run:
            rights.prepare(run)
            _warm(run, attack.warm)
            yield lambda: _sample(scene.play(run, script), script.scale, attack)

    return opened


def mixed(calm_s: float, attack_s: float, back_s: float, scale: float) -> Script:
    """Three attackers who take all attacks in turn, beside a writer and a watcher.

    Args:
        calm_s: seconds before.
        attack_s: seconds of attack.
        back_s: seconds afterwards at most.
        scale: share of the connections of a full attack.
    """
    names = [attack.name for attack in MIXED]
    step = len(names) // MIXED_PARTIES
    return Script(
        parties=tuple(
            tuple(names[party * step :] + names[: party * step]) for party in range(MIXED_PARTIES)
        ),
        calm_s=calm_s,
        attack_s=attack_s,
        back_s=back_s,
        scale=scale,
        slice_s=min(MIXED_SLICE_S, attack_s / len(names)),
        keeper=True,
    )


@contextlib.contextmanager
def mixed_server(subject: Subject) -> Iterator[Running]:
    """A server for the mixed attack."""
    with subject.running(objects=WARM, flags=CBOR, allowed=rights.ALLOWED) as run:
        rights.prepare(run)
        _warm(run, tuple(itertools.chain.from_iterable(attack.warm for attack in MIXED)))
        yield run


@contextlib.contextmanager
def _under_all(lab: Lab, subject: Subject) -> Iterator[Callable[[], Sample]]:
    plan = lab.plan
    script = mixed(plan.calm_s, 3 * plan.attack_s, plan.back_s, plan.attack_scale)
    with mixed_server(subject) as run:

        def sample() -> Sample:
            outcome = scene.play(run, script)
            if outcome.kept is not None and outcome.kept.problems:
                raise BenchError("; ".join(outcome.kept.problems))
            return _sample(outcome, script.scale)

        yield sample


def _warm(run: Running, paths: tuple[str, ...]) -> None:
    for path in paths:
        run.endpoint.call("GET", path)


def _sample(outcome: Outcome, scale: float, attack: Attack | None = None) -> Sample:
    """What was measured, as a row."""
    watches = outcome.tally.get("watches", 0)
    return Sample(
        value=outcome.grown_mb * 1e3 / watches if attack and attack.watches else outcome.grown_mb,
        p50_ms=outcome.attacked.p50_ms,
        p99_ms=outcome.attacked.p99_ms,
        p50_yardstick_ms=outcome.calm.p50_ms,
        p99_yardstick_ms=outcome.calm.p99_ms,
        readyz_p99_ms=outcome.attacked_readyz.p99_ms,
        kept_mb=outcome.kept_mb,
        note=note(outcome) + (f"; scale {scale:g}" if scale != 1 else ""),
    )


def note(outcome: Outcome) -> str:
    """All numbers in one line."""
    calm, attacked = outcome.calm, outcome.attacked
    calm_readyz, readyz = outcome.calm_readyz, outcome.attacked_readyz
    memory = (outcome.before_mb, outcome.peak_mb, outcome.after_mb)
    parts = [
        f"RSS {_arrows(memory)} MB after {outcome.back_s:.0f} s",
        f"files {_arrows(outcome.descriptors)}",
        f"GET p99 {_phases(calm, attacked)}",
        f"readyz p99 {_phases(calm_readyz, readyz)}",
        f"server {outcome.cpu:.0%} busy for {outcome.attack_s:.0f} s",
        "attackers: " + ", ".join(f"{what} {n:,}" for what, n in sorted(outcome.tally.items())),
    ]
    if outcome.kept is not None:
        kept = outcome.kept
        parts.append(
            f"{kept.seen:,} writes seen once, {kept.unsure} unsure, {kept.refused} refused,"
            f" watch resumed {kept.resumed} times, {len(kept.problems)} problems"
        )
    return "; ".join(parts)


def _arrows(numbers: Iterable[float]) -> str:
    return " -> ".join(f"{number:.0f}" for number in numbers)


def _phases(calm: Phase, attacked: Phase) -> str:
    return (
        f"calm {calm.p99_ms:.1f}, attacked {attacked.p99_ms:.1f}, at most {attacked.max_ms:.0f} ms,"
        f" {attacked.failed} of {attacked.requests} failed"
    )


def missed(outcome: Outcome) -> list[str]:
    """The targets that an outcome misses, as text."""
    sample = _sample(outcome, 1.0)
    targets = (MEMORY, *LATENCY, *BESIDE)
    return [str(each) for each in targets if not each.met(getattr(sample, each.on))]


def _row(attack: Attack) -> BenchmarkRow:
    held = attack.watches > 0
    return BenchmarkRow(
        name=f"overload-{attack.name}",
        title=attack.title,
        unit="KB" if held else "MB",
        open=_under(attack),
        target=WATCHES if held else MEMORY,
        latency=LATENCY,
        beside=BESIDE,
        most_rounds=1,
    )


ROWS = (
    *map(_row, ATTACKS),
    BenchmarkRow(
        name="overload-mixed",
        title="all attacks but the watches, three at a time, beside a writer and a watcher",
        unit="MB",
        open=_under_all,
        target=MEMORY,
        latency=LATENCY,
        beside=BESIDE,
        most_rounds=1,
    ),
)
