"""What each node's pods use, kept as counts: no objects, only who leads where.

A kubelet may read what leads to its node: what a pod on it names, the claims of the pod, the
volumes bound to these and the Secrets of the volumes.  So of each thing that is used the nodes are
kept, with the number of pods that use it there; a volume is found by its claim, and a Secret of a
volume by the volume.  To ask costs two or three looks into dictionaries, however many pods there
are.

Source: docs "Using Node Authorization".
"""

from __future__ import annotations

from collections.abc import Iterable

from kubetrio.auth.node.uses import VOLUME, Use


class _Used:
    """A thing that is used.

    Args:
        what: it.

    Attributes:
        nodes: how many objects lead from it to a node.
        further: what it leads to that is no node: from a volume to its claim, from a Secret to
            volumes.
    """

    __slots__ = ("further", "nodes", "what")

    def __init__(self, what: Use) -> None:
        self.what = what
        self.nodes: dict[str, int] = {}
        self.further: set[Use] = set()


class Graph:
    """The edges between nodes and what their kubelets may read."""

    def __init__(self) -> None:
        self._used: dict[Use, _Used] = {}
        # What an object leads to, so that its edges can be taken back.
        self._of_user: dict[Use, tuple[str, tuple[_Used, ...]]] = {}
        self._of_volume: dict[str, tuple[_Used, ...]] = {}

    def __len__(self) -> int:
        """How many things are used."""
        return len(self._used)

    def bind(self, user: Use, node: str, uses: Iterable[Use] = ()) -> None:
        """Note that an object belongs to a node, and what it uses there, in place of before.

        Args:
            user: the object.
            node: name of the node.
            uses: what the node's kubelet may read because of it, beside itself.
        """
        old = self._of_user.get(user)
        edges = dict.fromkeys((user, *uses))
        if old is not None and old[0] == node and [one.what for one in old[1]] == list(edges):
            return
        self.release(user)
        things = tuple(map(self._thing, edges))
        for thing in things:
            thing.nodes[node] = thing.nodes.get(node, 0) + 1
        self._of_user[user] = (node, things)

    def release(self, user: Use) -> None:
        """Forget what an object led to; nothing if it led nowhere."""
        node, things = self._of_user.pop(user, ("", ()))
        for thing in things:
            thing.nodes[node] -= 1
            if not thing.nodes[node]:
                del thing.nodes[node]
            self._drop(thing)

    def bind_volume(self, name: str, claim: Use, secrets: Iterable[Use]) -> None:
        """Note to which claim a volume is bound, and its Secrets, in place of before.

        Args:
            name: of the volume.
            claim: a claim.
            secrets: what its kubelet needs to mount it.
        """
        self.release_volume(name)
        volume = self._thing((VOLUME, "", name))
        volume.further.add(claim)
        led = [volume]
        for secret in dict.fromkeys(secrets):
            thing = self._thing(secret)
            thing.further.add(volume.what)
            led.append(thing)
        self._of_volume[name] = tuple(led)

    def release_volume(self, name: str) -> None:
        """Forget what a volume was bound to."""
        for thing in self._of_volume.pop(name, ()):
            if thing.what[0] == VOLUME:
                thing.further.clear()
            else:
                thing.further.discard((VOLUME, "", name))
            self._drop(thing)

    def leads(self, what: Use, node: str) -> bool:
        """Whether something is used on a node.

        Args:
            what: the thing.
            node: name of the node.
        """
        thing = self._used.get(what)
        if thing is None:
            return False
        if node in thing.nodes:
            return True
        return any(self.leads(further, node) for further in thing.further)

    def _thing(self, what: Use) -> _Used:
        thing = self._used.get(what)
        if thing is None:
            thing = self._used[what] = _Used(what)
        return thing

    def _drop(self, thing: _Used) -> None:
        if not thing.nodes and not thing.further:
            self._used.pop(thing.what, None)
