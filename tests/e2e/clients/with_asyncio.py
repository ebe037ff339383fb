"""kubernetes-asyncio."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from kubernetes_asyncio import client, config, watch

from clients import scenario, worker
from clients.scenario import Data, Event, Object, Refused


@contextmanager
def told() -> Iterator[None]:
    """Errors of the client in words of the scenario."""
    try:
        yield
    except client.ApiException as error:
        raise Refused(error.status) from error


class Asyncio:
    lacks: frozenset[str] = frozenset()

    def __init__(self, kubeconfig: str, namespace: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._namespace = namespace
        self._api = self._wait(config.new_client_from_config(kubeconfig))
        self._core = client.CoreV1Api(self._api)
        self._events: asyncio.Queue[Any] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    def _wait(self, what: Coroutine[Any, Any, Any]) -> Any:
        with told():
            return self._loop.run_until_complete(what)

    def _plain(self, what: Coroutine[Any, Any, Any]) -> Object:
        made: Object = self._api.sanitize_for_serialization(self._wait(what))
        return made

    def create(self, name: str, data: Data) -> Object:
        body = scenario.configmap(name, data)
        return self._plain(self._core.create_namespaced_config_map(self._namespace, body))

    def read(self, name: str) -> Object:
        return self._plain(self._core.read_namespaced_config_map(name, self._namespace))

    def patch(self, name: str, data: Data) -> Object:
        return self._plain(
            self._core.patch_namespaced_config_map(
                name,
                self._namespace,
                {"data": data},
                _content_type="application/merge-patch+json",
            )
        )

    def apply(self, name: str, data: Data) -> Object:
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
        return self._plain(self._core.replace_namespaced_config_map(name, self._namespace, body))

    def names(self) -> list[str]:
        found: list[str] = []
        more: dict[str, str] = {}
        while True:
            page = self._wait(
                self._core.list_namespaced_config_map(
                    self._namespace, label_selector=scenario.SELECTOR, limit=scenario.PAGE, **more
                )
            )
            found += [item.metadata.name for item in page.items]
            if not page.metadata._continue:
                return found
            more = {"_continue": page.metadata._continue}

    async def _follow(self, since: str) -> None:
        stream = watch.Watch().stream(
            self._core.list_namespaced_config_map,
            self._namespace,
            label_selector=scenario.SELECTOR,
            resource_version=since,
            timeout_seconds=60,
        )
        async for event in stream:
            self._events.put_nowait(scenario.event_of(event["type"], event["raw_object"]))

    def watch(self) -> None:
        listed = self._wait(self._core.list_namespaced_config_map(self._namespace))
        self._task = self._loop.create_task(self._follow(listed.metadata.resource_version))

    def event(self) -> Event:
        found: Event = self._wait(self._events.get())
        return found

    def delete(self, name: str) -> None:
        self._wait(self._core.delete_namespaced_config_map(name, self._namespace))


if __name__ == "__main__":
    worker.serve(Asyncio(*sys.argv[1:]))
