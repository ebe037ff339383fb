"""Objects as kubectl names them on a command line: ``deploy/web``, ``deploy,svc``, ``pod a b``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kubetrio.cli.common import Failure

if TYPE_CHECKING:
    from kubetrio.datadir.objects import Kinds
    from kubetrio.schema.kind import Kind


@dataclass(slots=True)
class Wanted:
    """Objects of one kind.

    Args:
        kind: in the version in which it is stored.
        names: of the objects; all of the kind where there are none.
        missing: names that no object was found for yet.
    """

    kind: Kind
    names: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)

    def takes(self, name: str) -> bool:
        """Whether an object is one of them; it is not missing from then on."""
        self.missing.discard(name)
        return not self.names or name in self.names


def wanted(words: Iterable[str], kinds: Kinds) -> list[Wanted]:
    """What words ask for.

    A word behind a kind that names no kind is the name of an object.

    Args:
        words: arguments in order.
        kinds: those there are.

    Raises:
        UnknownKind: a word names no kind where it has to.
        Failure: a word has no kind or no name.
    """
    found: dict[int, Wanted] = {}
    whole: set[int] = set()
    for asked, name in _pairs(words, kinds):
        one = found.setdefault(id(asked), Wanted(asked))
        if name:
            one.names.add(name)
            one.missing.add(name)
        else:
            whole.add(id(asked))
    for key in whole:  # all of a kind and some of it: all, and those have to be there
        found[key].names.clear()
    return list(found.values())


def _pairs(words: Iterable[str], kinds: Kinds) -> Iterator[tuple[Kind, str]]:
    """Kinds with a name, or with none for all objects of the kind."""
    from kubetrio.datadir.objects import UnknownKind

    last: list[Kind] = []
    named = False
    for word in words:
        of, slash, name = word.partition("/")
        if slash:
            if not of or not name or "/" in name:
                raise Failure(f"{word!r} is not KIND/NAME")
            yield kinds.named(of), name
            continue
        try:
            these = [kinds.named(each) for each in word.split(",")]
        except UnknownKind:
            if not last:
                raise
            yield from ((kind, word) for kind in last)
            named = True
            continue
        if not named:
            yield from ((kind, "") for kind in last)
        last, named = these, False
    if not named:
        yield from ((kind, "") for kind in last)
