"""The official client of Python, its dynamic client, which learns kinds from discovery."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kubernetes import config, dynamic
from kubernetes.dynamic.exceptions import DynamicApiError

from clients import scenario, worker
from clients.scenario import Data, Event, Object, Refused


@contextmanager
def told() -> Iterator[None]:
    """Errors of the client in words of the scenario."""
    try:
        yield
    except DynamicApiError as error:
        raise Refused(error.status) from error


class Dynamic:
    lacks: frozenset[str] = frozenset()

    def __init__(self, kubeconfig: str, namespace: str) -> None:
        client = dynamic.DynamicClient(config.new_client_from_config(kubeconfig))
        self._kind = client.resources.get(api_version="v1", kind="ConfigMap")
        self._namespace = namespace
        self._watch: Iterator[Any] = iter(())

    def create(self, name: str, data: Data) -> Object:
        with told():
            made: Object = self._kind.create(
                body=scenario.configmap(name, data), namespace=self._namespace
            ).to_dict()
            return made

    def read(self, name: str) -> Object:
        with told():
            found: Object = self._kind.get(name=name, namespace=self._namespace).to_dict()
            return found

    def patch(self, name: str, data: Data) -> Object:
        with told():
            made: Object = self._kind.patch(
                body={"data": data},
                name=name,
                namespace=self._namespace,
                content_type="application/merge-patch+json",
            ).to_dict()
            return made

    def apply(self, name: str, data: Data) -> Object:
        with told():
            made: Object = self._kind.server_side_apply(
                body=scenario.applied(name, data),
                namespace=self._namespace,
                field_manager=scenario.MANAGER,
            ).to_dict()
            return made

    def replace(self, body: Object) -> Object:
        with told():
            made: Object = self._kind.replace(body=body, namespace=self._namespace).to_dict()
            return made

    def names(self) -> list[str]:
        found: list[str] = []
        token = None
        while True:
            page = self._kind.get(
                namespace=self._namespace,
                label_selector=scenario.SELECTOR,
                limit=scenario.PAGE,
                _continue=token,
            )
            found += [item.metadata.name for item in page.items]
            token = page.metadata.get("continue")
            if not token:
                return found

    def watch(self) -> None:
        since = self._kind.get(namespace=self._namespace).metadata.resourceVersion
        self._watch = self._kind.watch(
            namespace=self._namespace,
            label_selector=scenario.SELECTOR,
            resource_version=since,
            timeout=60,
        )

    def event(self) -> Event:
        found = next(self._watch)
        return scenario.event_of(found["type"], found["raw_object"])

    def delete(self, name: str) -> None:
        with told():
            self._kind.delete(name=name, namespace=self._namespace)


if __name__ == "__main__":
    worker.serve(Dynamic(*sys.argv[1:]))
