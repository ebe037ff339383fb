"""Flags of faults on demand."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from kubetrio.config.flag import Section, flag, section
from kubetrio.config.kinds import BOOLEAN, FILE

GUIDE = "../how-to/inject-faults.md"


@section
class Faults(Section):
    """What goes wrong on demand, to test clients; see the reference of flags."""

    TITLE: ClassVar[str] = "faults"

    file: Path | None = flag(
        "faults", FILE, None, "faults to inject from the start, as rules in YAML or JSON",
        more=f"It implies `--fault-injection`. See [faults]({GUIDE}).",
    )  # fmt: skip
    enabled: bool = flag(
        "fault-injection", BOOLEAN, False,
        "let administrators inject faults into the running server, with kubetrio faults",
        more="Serves `/debug/faults` to who may do so.",
    )  # fmt: skip
