"""Which resource a key of the store is of."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.machinery.names import GroupResource


class Folders:
    """Which resource a key is of.

    Args:
        builtin: folders of built-in resources, ``/registry/minions/`` to nodes.
    """

    def __init__(self, builtin: Mapping[str, GroupResource]) -> None:
        self._builtin = builtin

    def folder_of(self, key: str) -> str:
        """The folder of a key's collection; empty for what is in none."""
        at = key.find("/", key.find("/", 1) + 1) + 1
        folder = key[:at]
        if folder in self._builtin or not folder:
            return folder
        return key[: key.find("/", at) + 1]

    def resource_of(self, folder: str) -> GroupResource | None:
        """What is in a folder: custom resources are in one of their group and then of theirs."""
        known = self._builtin.get(folder)
        if known is not None or not folder.startswith("/registry/"):
            return known
        group, _, resource = folder[len("/registry/") : -1].partition("/")
        return GroupResource(group, resource) if "." in group and resource else None
