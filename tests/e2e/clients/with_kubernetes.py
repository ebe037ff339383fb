"""The official client of Python, its typed API."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kubernetes import client, config, watch

from clients import scenario, worker
from clients.scenario import Data, Event, Object, Refused


@contextmanager
def told() -> Iterator[None]:
    """Errors of the client in words of the scenario."""
    try:
        yield
    except client.ApiException as error:
        raise Refused(error.status) from error


class Official:
    lacks: frozenset[str] = frozenset()

    def __init__(self, kubeconfig: str, namespace: str) -> None:
        self._api = config.new_client_from_config(kubeconfig)
        self._core = client.CoreV1Api(self._api)
        self._namespace = namespace
        self._watch: Iterator[Any] = iter(())

    def _plain(self, found: Any) -> Object:
        made: Object = self._api.sanitize_for_serialization(found)
        return made

    def create(self, name: str, data: Data) -> Object:
        meta = client.V1ObjectMeta(name=name, labels={scenario.LABEL: scenario.VALUE})
        body = client.V1ConfigMap(metadata=meta, data=data)
        with told():
            return self._plain(self._core.create_namespaced_config_map(self._namespace, body))

    def read(self, name: str) -> Object:
        with told():
            return self._plain(self._core.read_namespaced_config_map(name, self._namespace))

    def patch(self, name: str, data: Data) -> Object:
        with told():
            return self._plain(
                self._core.patch_namespaced_config_map(name, self._namespace, {"data": data})
            )

    def apply(self, name: str, data: Data) -> Object:
        with told():
            return self._plain(
                self._core.patch_namespaced_config_map(
                    name,
                    self._namespace,
                    scenario.applied(name, data),
                    field_manager=scenario.MANAGER,
                    _content_type="application/apply-patch+yaml",
                )
            )

    def replace(self, body: Object) -> Object:
        name = body["metadata"]["name"]
        with told():
            return self._plain(
                self._core.replace_namespaced_config_map(name, self._namespace, body)
            )

    def names(self) -> list[str]:
        found: list[str] = []
        token = None
        while True:
            page = self._core.list_namespaced_config_map(
                self._namespace,
                label_selector=scenario.SELECTOR,
                limit=scenario.PAGE,
                _continue=token,
            )
            found += [item.metadata.name for item in page.items]
            token = page.metadata._continue
            if not token:
                return found

    def watch(self) -> None:
        since = self._core.list_namespaced_config_map(self._namespace).metadata.resource_version
        self._watch = watch.Watch().stream(
            self._core.list_namespaced_config_map,
            self._namespace,
            label_selector=scenario.SELECTOR,
            resource_version=since,
            timeout_seconds=60,
        )

    def event(self) -> Event:
        found = next(self._watch)
        return scenario.event_of(found["type"], found["raw_object"])

    def delete(self, name: str) -> None:
        with told():
            self._core.delete_namespaced_config_map(name, self._namespace)


if __name__ == "__main__":
    worker.serve(Official(*sys.argv[1:]))
