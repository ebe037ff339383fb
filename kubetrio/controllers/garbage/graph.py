"""Which objects own which, as far as that has to be remembered.

Only objects that name owners are in the graph, and those that are named.  Whether an owner is there
is looked up in the store, and remembered for as long as it holds; so an object that has to do with
no other costs nothing.

Source: docs "Garbage Collection", "Owners and Dependents".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from sys import intern
from typing import Any, NamedTuple

Object = dict[str, Any]


class Ref(NamedTuple):
    """One owner that an object names.

    Args:
        uid: of the owner.
        api_version: its ``apiVersion``.
        kind: its kind.
        name: its name.
        blocks: whether the owner waits for the object when it is deleted in foreground.
    """

    uid: str
    api_version: str
    kind: str
    name: str
    blocks: bool


class Owner:
    """What is known of an owner.

    Attributes:
        ref: how one of its dependents calls it.
        blockers: how many of its dependents it has to wait for.
        dependents: keys of the objects that name it.
        place: key under which it was seen to live; empty when it was not looked for, or is gone.
        waits: whether it is deleted, and waits for its dependents.
        gone: whether it was seen to go.
    """

    __slots__ = ("blockers", "dependents", "gone", "place", "ref", "waits")

    def __init__(self, ref: Ref) -> None:
        self.ref = ref
        self.blockers = 0
        self.dependents: dict[str, None] = {}
        self.place = ""
        self.waits = False
        self.gone = False


def references(meta: Object) -> tuple[Ref, ...]:
    """The owners that metadata name."""
    return tuple(
        Ref(
            one.get("uid") or "",
            intern(one.get("apiVersion") or ""),
            intern(one.get("kind") or ""),
            one.get("name") or "",
            one.get("blockOwnerDeletion") is True,
        )
        for one in meta.get("ownerReferences") or ()
    )


def others(meta: Object, refs: tuple[Ref, ...]) -> tuple[Ref, ...]:
    """Those of the owners that are not the object itself, which never waits for itself."""
    uid = meta.get("uid")  # another server's object may have none
    if all(ref.uid != uid for ref in refs):
        return refs
    return tuple(ref for ref in refs if ref.uid != uid or ref.name != meta["name"])


class Graph:
    """Owners by uid and dependents by storage key; nothing here waits."""

    def __init__(self) -> None:
        self.refs: dict[str, tuple[Ref, ...]] = {}
        self.owners: dict[str, Owner] = {}
        # Objects that are deleted in foreground, and their uids.
        self.foreground: dict[str, str] = {}

    def link(self, key: str, refs: tuple[Ref, ...]) -> list[str]:
        """Note the owners that an object names.

        Args:
            key: of the object.
            refs: its owners; none to forget it.

        Returns:
            Keys of owners that wait for nothing any more.
        """
        old = self.refs.get(key, ())
        if refs == old:
            return []
        before, after = _blocked(old), _blocked(refs)
        kept: list[Ref] = []
        for ref in refs:
            owner = self.owners.get(ref.uid)
            if owner is None:
                owner = self.owners[ref.uid] = Owner(ref)
            owner.dependents[key] = None
            kept.append(owner.ref if owner.ref == ref else ref)
        for one in after - before:
            self.owners[one].blockers += 1
        if kept:
            self.refs[key] = tuple(kept)
        else:
            self.refs.pop(key, None)
        released: list[str] = []
        named = {ref.uid for ref in refs}
        for one in dict.fromkeys(ref.uid for ref in old):
            owner = self.owners[one]
            if one in before and one not in after:
                owner.blockers -= 1
                if owner.waits and not owner.blockers:
                    released.append(owner.place)
            if one not in named:
                del owner.dependents[key]
                if not owner.dependents:
                    del self.owners[one]
        return released

    def gone(self, key: str, uid: str) -> tuple[list[str], bool]:
        """Note that an object is gone.

        Returns:
            Keys of owners that wait for nothing any more, and whether objects name it.
        """
        self.foreground.pop(key, None)
        released = self.link(key, ())
        owner = self.owners.get(uid)
        if owner is None:
            return released, False
        owner.place, owner.waits, owner.gone = "", False, True
        return released, True

    def seen(self, uid: str, key: str, *, waits: bool) -> None:
        """Note that an owner lives under a key.

        Args:
            uid: of the owner.
            key: where it is.
            waits: whether it is deleted, and waits for its dependents.
        """
        owner = self.owners.get(uid)
        if owner is not None:
            owner.place, owner.waits = key, waits

    def lives(self, ref: Ref, place: str) -> bool:
        """Whether an owner is known to live where a dependent says, and is not about to go."""
        owner = self.owners.get(ref.uid)
        return owner is not None and owner.place == place and not owner.waits

    def dependents(self, uid: str) -> list[str]:
        """Keys of the objects that name an owner."""
        owner = self.owners.get(uid)
        return [] if owner is None else list(owner.dependents)

    def blocking(self, uid: str, key: str) -> list[str]:
        """Keys of the objects that an owner waits for; never for itself.

        Args:
            uid: of the owner.
            key: of the owner.
        """
        return [
            one
            for one in self.dependents(uid)
            if one != key and any(ref.uid == uid and ref.blocks for ref in self.refs.get(one, ()))
        ]

    def circle(self, uid: str, key: str) -> list[str]:
        """Objects that an owner waits for, while they wait for the owner.

        Args:
            uid: of the owner, which is deleted in foreground.
            key: of the owner.

        Returns:
            Their keys.
        """
        suspects = [one for one in self.blocking(uid, key) if one in self.foreground]
        above: set[str] = set()
        ahead = [key] if suspects else []
        while ahead:
            for ref in self.refs.get(ahead.pop(), ()):
                owner = self.owners.get(ref.uid) if ref.blocks else None
                if owner is not None and owner.waits and owner.place not in above:
                    above.add(owner.place)
                    ahead.append(owner.place)
        return [one for one in suspects if one in above]

    def forget(self, prefix: str) -> Iterator[str]:
        """Forget the objects of a collection, a step at a time.

        Args:
            prefix: of their keys.

        Yields:
            After each object looked at: the uid of an owner that is looked up anew, or nothing.
        """
        for key in list(self.refs):
            if key.startswith(prefix):
                self.link(key, ())
            yield ""
        for key in [key for key in self.foreground if key.startswith(prefix)]:
            del self.foreground[key]
        for uid, owner in list(self.owners.items()):
            lost = owner.place.startswith(prefix)
            if lost:
                owner.place, owner.waits = "", False
            yield uid if lost else ""


def _blocked(refs: Iterable[Ref]) -> set[str]:
    return {ref.uid for ref in refs if ref.blocks}
