"""Secrets, ConfigMaps and claims that pods on simulated nodes need, read when they are needed.

Nothing is kept of them: a kubelet that lacks one looks again after a while, and so does this.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubetrio.controllers.controller import Context
from kubetrio.machinery.status import ApiError
from kubetrio.resources.reading import read
from kubetrio.simulation.mounting import CLAIM, CONFIG_MAP, SECRET, Source
from kubetrio.simulation.variables import needs_of_starting, problem_of

Object = dict[str, Any]
NOT_FOUND = 404


class Sources:
    """Objects that pods take files and environment variables from.

    Args:
        context: of the controllers.
    """

    def __init__(self, context: Context) -> None:
        self._store = context.informers.store
        self._kinds = {
            kind: context.registry.resources["", "v1", f"{kind}s"]
            for kind in (SECRET, CONFIG_MAP, CLAIM)
        }

    async def read(self, namespace: str, sources: Iterable[Source]) -> dict[Source, Object | None]:
        """Return objects; None for those that are missing.

        Args:
            namespace: of all of them.
            sources: which ones; each is read once.

        Raises:
            StoreError: one cannot be read.
        """
        return {source: await self._read(namespace, source) for source in dict.fromkeys(sources)}

    async def unset(self, namespace: str, pod: Object) -> dict[str, str]:
        """What environment variables of containers that may start lack, by the container's name.

        Args:
            namespace: of the pod.
            pod: as stored.

        Raises:
            StoreError: what they need cannot be read.
        """
        if not (needs := needs_of_starting(pod)):
            return {}
        sources = (part.source for parts in needs.values() for part in parts)
        objects = await self.read(namespace, sources)
        problems = {name: problem_of(namespace, parts, objects) for name, parts in needs.items()}
        return {name: problem for name, problem in problems.items() if problem}

    async def _read(self, namespace: str, source: Source) -> Object | None:
        try:
            return await read(self._store, self._kinds[source.kind], namespace, source.name)
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise
            return None
