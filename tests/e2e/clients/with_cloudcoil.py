"""cloudcoil, which has neither patches nor server-side apply."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from cloudcoil.client import Config
from cloudcoil.errors import ResourceConflict, ResourceNotFound
from cloudcoil.models.kubernetes.core.v1 import ConfigMap

from clients import scenario, worker
from clients.scenario import Data, Event, Object, Refused


@contextmanager
def told() -> Iterator[None]:
    """Errors of the client in words of the scenario."""
    try:
        yield
    except ResourceNotFound as error:
        raise Refused(404) from error
    except ResourceConflict as error:
        raise Refused(409) from error
    except httpx.HTTPStatusError as error:
        raise Refused(error.response.status_code) from error


def plain(found: Any) -> Object:
    """An object as JSON has it."""
    made: Object = found.model_dump(by_alias=True, exclude_none=True, mode="json")
    return made


class Cloudcoil:
    lacks = frozenset({"patch", "apply"})

    def __init__(self) -> None:
        self._watch: Iterator[Any] = iter(())

    def create(self, name: str, data: Data) -> Object:
        with told():
            return plain(ConfigMap.model_validate(scenario.configmap(name, data)).create())

    def read(self, name: str) -> Object:
        with told():
            return plain(ConfigMap.get(name))

    def replace(self, body: Object) -> Object:
        with told():
            return plain(ConfigMap.model_validate(body).update())

    def names(self) -> list[str]:
        found: list[str] = []
        token = None
        while True:
            page = ConfigMap.list(
                label_selector=scenario.SELECTOR, limit=scenario.PAGE, continue_=token
            )
            found += [str(item.name) for item in page.items]
            token = page.metadata.continue_ if page.metadata else None
            if not token:
                return found

    def watch(self) -> None:
        since = ConfigMap.list().metadata.resource_version
        self._watch = ConfigMap.watch(label_selector=scenario.SELECTOR, resource_version=since)

    def event(self) -> Event:
        kind, found = next(self._watch)
        return scenario.event_of(kind, plain(found))

    def delete(self, name: str) -> None:
        with told():
            ConfigMap.delete(name)


if __name__ == "__main__":
    with Config(kubeconfig=sys.argv[1], namespace=sys.argv[2]):
        worker.serve(Cloudcoil())
