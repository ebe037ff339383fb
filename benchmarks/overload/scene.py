"""One attack from calm to calm, with all that is measured beside it."""

from __future__ import annotations

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks import levels, process, requests, tools
from benchmarks.clock import perf_counter, sleep
from benchmarks.overload import rights
from benchmarks.overload.attacker import AttackSpec
from benchmarks.overload.bystander import BystanderSpec, Phase
from benchmarks.overload.keeper import KeeperResult, KeeperSpec
from benchmarks.subjects import Running
from benchmarks.tools import Tool

SAMPLED_S = 0.2
MEMORY_EACH_S = 1.0  # of its course
HONEST_EVERY_MS = 10.0
READYZ_EVERY_MS = 100.0
BACK_MB = 20.0
BACK_FILES = 10  # and those of the bystanders


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """How long and how strong.

    Args:
        parties: for each attacking process the names of its attacks, which take turns.
        calm_s: seconds before the attack.
        attack_s: seconds at full strength.
        back_s: seconds afterwards at most, for memory to come back.
        scale: share of the connections of a full attack.
        slice_s: seconds of a turn.
        keeper: whether a client writes and watches, and may lose nothing.
    """

    parties: tuple[tuple[str, ...], ...]
    calm_s: float
    attack_s: float
    back_s: float
    scale: float = 1.0
    slice_s: float = 10.0
    keeper: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was measured.

    Args:
        calm, attacked: GETs of an honest user before and during the attack.
        calm_readyz, attacked_readyz: `/readyz` on a new connection each time.
        before_mb, peak_mb, after_mb: resident memory of the server before, at its most during,
            and after the attack.
        back_s: seconds until memory and descriptors had come back, or the wait ended.
        descriptors: open files before, at their most, and after.
        cpu: CPU time of the server by time, 1.0 is one whole core.
        attack_s: seconds of the attack, with its beginning.
        tally: what the attackers met.
        kept: the keeper's result, None without.
        memory: seconds since the beginning of the attack, and resident memory of the server in MB.
        facts: of the machine, where they were asked for.
    """

    calm: Phase
    attacked: Phase
    calm_readyz: Phase
    attacked_readyz: Phase
    before_mb: float
    peak_mb: float
    after_mb: float
    back_s: float
    descriptors: tuple[int, int, int]
    cpu: float
    attack_s: float
    tally: Mapping[str, int]
    kept: KeeperResult | None
    memory: Sequence[tuple[float, float]] = ()
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def grown_mb(self) -> float:
        """How much memory grew by at most."""
        return self.peak_mb - self.before_mb

    @property
    def kept_mb(self) -> float:
        """How much of it was not given back."""
        return self.after_mb - self.before_mb


def play(run: Running, script: Script) -> Outcome:
    """Measure calm, attack, and wait for calm.

    Args:
        run: the server, prepared for it.
        script: what happens.

    Raises:
        BenchError: attackers or bystanders could not do what they should, or the server ended.
    """
    with contextlib.ExitStack() as stack:
        honest = stack.enter_context(tools.running("overload.bystander", _honest(run)))
        readyz = stack.enter_context(tools.running("overload.bystander", _readyz(run)))
        bystanders = (honest, readyz)
        for tool in bystanders:
            tool.answer()
        keeper = None
        if script.keeper:
            spec = KeeperSpec(endpoint=levels.acting(run, rights.HONEST), namespace=rights.KEPT)
            keeper = stack.enter_context(tools.running("overload.keeper", dataclasses.asdict(spec)))
            keeper.answer()
        attackers = [
            stack.enter_context(tools.running("overload.attacker", dataclasses.asdict(spec)))
            for spec in _attacks(run, script)
        ]
        for tool in attackers:
            tool.answer()
        _phases(bystanders)  # what they started with does not count
        sleep(script.calm_s)
        calm, calm_readyz = _phases(bystanders)
        process.forget_peak(run.pids)
        before, files = process.memory_mb(run.pids), process.descriptors(run.pids)
        begin, cpu = perf_counter(), process.cpu_seconds(run.pids)
        for tool in attackers:
            tool.tell({})
        most_files, memory = _sampled(run, attackers, script.attack_s)
        attacked, attacked_readyz = _phases(bystanders)
        lasted = perf_counter() - begin
        share = (process.cpu_seconds(run.pids) - cpu) / lasted
        peak = process.memory_mb(run.pids, peak=True)
        tally = _ended(attackers)
        ended = perf_counter()
        while perf_counter() < ended + script.back_s and (
            process.memory_mb(run.pids) > before + BACK_MB
            or process.descriptors(run.pids) > files + BACK_FILES
        ):
            sleep(SAMPLED_S)
        after = process.memory_mb(run.pids)
        back = perf_counter() - ended
        kept = None
        if keeper is not None:
            keeper.tell("end")
            kept = KeeperResult(**keeper.answer())
        return Outcome(
            calm=calm,
            attacked=attacked,
            calm_readyz=calm_readyz,
            attacked_readyz=attacked_readyz,
            before_mb=before,
            peak_mb=peak,
            after_mb=after,
            back_s=back,
            descriptors=(files, most_files, process.descriptors(run.pids)),
            cpu=share,
            attack_s=lasted,
            tally=dict(tally),
            kept=kept,
            memory=memory,
        )


def _honest(run: Running) -> dict[str, object]:
    path = f"{run.collection}/{requests.NAME % 0}"
    endpoint = levels.acting(run, rights.HONEST)
    return dataclasses.asdict(BystanderSpec(endpoint=endpoint, path=path, every_ms=HONEST_EVERY_MS))


def _readyz(run: Running) -> dict[str, object]:
    endpoint = levels.acting(run, "")
    return dataclasses.asdict(
        BystanderSpec(endpoint=endpoint, path="/readyz", every_ms=READYZ_EVERY_MS, fresh=True)
    )


def _attacks(run: Running, script: Script) -> list[AttackSpec]:
    return [
        AttackSpec(
            endpoint=levels.acting(run, ""),
            stranger=rights.STRANGER,
            holder=rights.HOLDER,
            attacks=names,
            scale=script.scale,
            share=1 / script.parties.count(names),
            slice_s=script.slice_s,
        )
        for names in script.parties
    ]


def _phases(bystanders: Sequence[Tool]) -> list[Phase]:
    for tool in bystanders:
        tool.tell("phase")
    return [Phase(**tool.answer()) for tool in bystanders]


def _sampled(
    run: Running, attackers: Sequence[Tool], attack_s: float
) -> tuple[int, list[tuple[float, float]]]:
    """Wait for the full strength and then for some seconds; the most open files, and memory."""
    most, begin = 0, perf_counter()
    memory: list[tuple[float, float]] = []
    opening = list(attackers)
    until = perf_counter() + attack_s
    while perf_counter() < until:
        sleep(SAMPLED_S)
        most = max(most, process.descriptors(run.pids))
        at = perf_counter() - begin
        if not memory or at >= memory[-1][0] + MEMORY_EACH_S:
            memory.append((round(at, 1), round(process.memory_mb(run.pids), 1)))
        for tool in [tool for tool in opening if tool.said()]:
            tool.answer()
            opening.remove(tool)
            if not opening:
                until = perf_counter() + attack_s
        if opening:
            until = perf_counter() + attack_s
        # An attack that failed says so before its time.
        for tool in set(attackers) - set(opening):
            if tool.said():
                tool.answer()
    return most, memory


def _ended(attackers: Sequence[Tool]) -> Counter[str]:
    for tool in attackers:
        tool.tell("end")
    total: Counter[str] = Counter()
    for tool in attackers:
        total.update(tool.answer()["tally"])
    return total
