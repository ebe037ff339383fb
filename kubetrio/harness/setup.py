"""How a server of the harness is made: a value that can be printed and kept as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kubetrio.config import Config
from kubetrio.env import STARTED
from kubetrio.faults import Rule, RuleError
from kubetrio.flags.given import FlagsError, configured

MEMORY, DISK = "memory", "disk"
STORAGES = (MEMORY, DISK)
LATEST_START = 32503680000.0
"""The year 3000: certificates and times of objects have four digits of a year."""


class SetupError(ValueError):
    """A setup that cannot be meant; one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How a server of the harness is made.

    Args:
        seed: decides identities, generated names, the order of tasks and the chances of fault
            rules that have no seed of their own.
        flags: of ``kubetrio serve``, each in one text: ``--event-ttl=5m``.
        storage: ``memory``, or ``disk`` for SQLite on a disk that can be made to fail.
        listen: whether the server also listens on a socket of 127.0.0.1, as ``serve`` does.
        start: wall clock when the server begins, seconds since the epoch.
        faults: rules that are in force from the start.

    Raises:
        SetupError: it cannot be meant.
    """

    seed: int = 0
    flags: Sequence[str] = ()
    storage: str = MEMORY
    listen: bool = False
    start: float = STARTED
    faults: Sequence[Rule] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "flags", tuple(self.flags))
        object.__setattr__(self, "faults", tuple(self.faults))
        if self.storage not in STORAGES:
            raise SetupError(f"storage: {self.storage!r} is none of {', '.join(STORAGES)}")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise SetupError("seed: must be a whole number")
        if not 0 <= self.start <= LATEST_START:
            raise SetupError(f"start: must be seconds since 1970, at most {LATEST_START:g}")
        for flag in self.flags:
            if not str(flag).startswith("--"):
                raise SetupError(f"flags: {flag!r} is no flag: --name or --name=value")

    def config(self, data_dir: Path) -> Config:
        """The configuration of the server.

        Args:
            data_dir: of its keys, and of the database where it has one.

        Raises:
            SetupError: a flag cannot be used.
        """
        # No write has to outlive the process, so none waits for the disk.
        own = [f"--data-dir={data_dir}", "--durability=normal", "--secure-port=0"]
        if self.storage == MEMORY:
            own.append("--in-memory")
        if not self.listen:
            own.append("--secure-serving=false")
        try:
            return configured(own, self.flags)
        except FlagsError as error:
            raise SetupError(f"flags: {error}") from error

    def seeded(self, seed: int) -> Setup:
        """Return a copy with another seed."""
        return replace(self, seed=seed)

    def as_dict(self) -> dict[str, Any]:
        """What differs from the default, but for the seed, as JSON has it."""
        shown: dict[str, Any] = {}
        if self.flags:
            shown["flags"] = list(self.flags)
        if self.storage != MEMORY:
            shown["storage"] = self.storage
        if self.listen:
            shown["listen"] = True
        if self.start != STARTED:
            shown["start"] = self.start
        if self.faults:
            shown["faults"] = [rule.as_dict() for rule in self.faults]
        return shown

    @classmethod
    def of(cls, data: object, seed: int = 0) -> Setup:
        """The setup that a JSON object means.

        Args:
            data: as `as_dict` returns it.
            seed: see `Setup`.

        Raises:
            SetupError: it means none.
        """
        if not isinstance(data, Mapping):
            raise SetupError("server: must be an object")
        given = dict(data)
        unknown = set(given) - {"flags", "storage", "listen", "start", "faults"}
        if unknown:
            raise SetupError(f"server: there is no field {min(map(str, unknown))!r}")
        for field in ("flags", "faults"):
            if not isinstance(given.get(field, []), list):
                raise SetupError(f"{field}: must be a list")
        if not isinstance(given.get("listen", False), bool):
            raise SetupError("listen: must be true or false")
        start = given.get("start", STARTED)
        if isinstance(start, bool) or not isinstance(start, int | float):
            raise SetupError("start: must be a number of seconds")
        try:
            given["faults"] = [Rule.of(one) for one in given.get("faults", [])]
        except RuleError as error:
            raise SetupError(f"faults: {error}") from error
        return cls(seed=seed, **given)
