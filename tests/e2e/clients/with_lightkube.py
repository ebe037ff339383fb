"""lightkube."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lightkube import ApiError, Client, KubeConfig
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap
from lightkube.types import PatchType

from clients import scenario, worker
from clients.scenario import Data, Event, Object, Refused


@contextmanager
def told() -> Iterator[None]:
    """Errors of the client in words of the scenario."""
    try:
        yield
    except ApiError as error:
        raise Refused(error.status.code) from error


class Lightkube:
    lacks: frozenset[str] = frozenset()

    def __init__(self, kubeconfig: str, namespace: str) -> None:
        config = KubeConfig.from_file(kubeconfig)
        self._client = Client(config=config, namespace=namespace, field_manager="lightkube")
        self._watch: Iterator[Any] = iter(())

    def create(self, name: str, data: Data) -> Object:
        body = ConfigMap.from_dict(scenario.configmap(name, data))
        with told():
            made: Object = self._client.create(body).to_dict()
            return made

    def read(self, name: str) -> Object:
        with told():
            found: Object = self._client.get(ConfigMap, name).to_dict()
            return found

    def patch(self, name: str, data: Data) -> Object:
        with told():
            made: Object = self._client.patch(
                ConfigMap, name, {"data": data}, patch_type=PatchType.MERGE
            ).to_dict()
            return made

    def apply(self, name: str, data: Data) -> Object:
        body = ConfigMap(metadata=ObjectMeta(name=name), data=dict(data))
        with told():
            made: Object = self._client.apply(body, field_manager=scenario.MANAGER).to_dict()
            return made

    def replace(self, body: Object) -> Object:
        with told():
            made: Object = self._client.replace(ConfigMap.from_dict(body)).to_dict()
            return made

    def names(self) -> list[str]:
        found = self._client.list(
            ConfigMap, labels={scenario.LABEL: scenario.VALUE}, chunk_size=scenario.PAGE
        )
        return [item.metadata.name for item in found]

    def watch(self) -> None:
        listed = self._client.list(ConfigMap)
        assert list(listed)  # it knows its revision then
        self._watch = self._client.watch(
            ConfigMap,
            labels={scenario.LABEL: scenario.VALUE},
            resource_version=listed.resourceVersion,
        )

    def event(self) -> Event:
        kind, found = next(self._watch)
        return scenario.event_of(kind, found.to_dict())

    def delete(self, name: str) -> None:
        with told():
            self._client.delete(ConfigMap, name)


if __name__ == "__main__":
    worker.serve(Lightkube(*sys.argv[1:]))
