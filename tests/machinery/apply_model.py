"""A small reference model of field ownership: flat paths, no sharing, no schema.

It knows one object with a granular map and a list with keys; a path is a tuple, an item of the list
is a path of its own, and its parts are paths below it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Path = tuple[str, ...]
Values = dict[Path, object]


class ModelConflict(Exception):
    """Others own what would change."""

    def __init__(self, fields: set[tuple[str, Path]]) -> None:
        super().__init__(str(sorted(fields)))
        self.fields = fields


def paths(data: dict[str, str], items: dict[str, str | None]) -> Values:
    """All paths of an object, with the values of leaves."""
    out: Values = {("d", key): value for key, value in data.items()}
    for name, value in items.items():
        out["i", name] = True
        out["i", name, "name"] = name
        if value is not None:
            out["i", name, "v"] = value
    return out


@dataclass
class Model:
    """An object and its owners."""

    live: Values = field(default_factory=dict)
    owners: dict[tuple[str, str], set[Path]] = field(default_factory=dict)

    def _others(self, who: tuple[str, str]) -> list[tuple[str, str]]:
        return [owner for owner in self.owners if owner != who]

    def _tidy(self) -> None:
        gone = {who for who, owned in self.owners.items() if not owned}
        for who in gone:
            del self.owners[who]

    def update(self, name: str, new: Values) -> None:
        """Replace the object."""
        who = (name, "Update")
        changed = {path for path in new if path not in self.live or self.live[path] != new[path]}
        removed = self.live.keys() - new.keys()
        for other in self.owners:
            self.owners[other] -= removed | changed
        self.owners.setdefault(who, set()).update(changed)
        self.live = dict(new)
        self._tidy()

    def apply(self, name: str, config: Values, *, force: bool) -> None:
        """Say all that one manager wants to say."""
        who = (name, "Apply")
        changed = {path for path in config if self.live.get(path) != config[path]}
        conflicts = {
            (other[0], path) for other in self._others(who) for path in changed & self.owners[other]
        }
        if conflicts and not force:
            raise ModelConflict(conflicts)
        last = self.owners.get(who, set())
        held = {path for other in self._others(who) for path in self.owners[other]}
        dropped = last - config.keys() - held
        self.live = {
            path: value
            for path, value in {**self.live, **config}.items()
            if not any(path[: len(gone)] == gone for gone in dropped)
        }
        for other in self._others(who):
            self.owners[other] -= changed
            self.owners[other] &= self.live.keys()
        self.owners[who] = set(config)
        self._tidy()
