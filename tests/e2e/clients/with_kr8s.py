"""kr8s, its API of asyncio; for what that has no method, requests through its `call_api`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import kr8s
from kr8s.asyncio import api
from kr8s.asyncio.objects import ConfigMap

from clients import scenario, worker
from clients.scenario import Data, Event, Object, Refused


class Kr8s:
    lacks: frozenset[str] = frozenset()

    def __init__(self, kubeconfig: str, namespace: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._api = self._wait(api(kubeconfig=kubeconfig, namespace=namespace))
        self._namespace = namespace
        self._watch: AsyncIterator[Any] | None = None

    def _wait(self, what: Coroutine[Any, Any, Any]) -> Any:
        try:
            return self._loop.run_until_complete(what)
        except kr8s.NotFoundError as error:
            raise Refused(404) from error
        except kr8s.ServerError as error:
            if error.response is None:
                raise
            raise Refused(error.response.status_code) from error

    async def _made(self, body: Object) -> Any:
        return await ConfigMap(body, namespace=self._namespace, api=self._api)

    async def _created(self, body: Object) -> Object:
        one = await self._made(body)
        await one.create()
        return dict(one.to_dict())

    def create(self, name: str, data: Data) -> Object:
        made: Object = self._wait(self._created(scenario.configmap(name, data)))
        return made

    def read(self, name: str) -> Object:
        found = self._wait(ConfigMap.get(name, namespace=self._namespace, api=self._api))
        return dict(found.to_dict())

    async def _patched(self, name: str, data: Data) -> Object:
        one = await self._made(scenario.configmap(name, {}))
        await one.patch({"data": data})
        return dict(one.to_dict())

    def patch(self, name: str, data: Data) -> Object:
        made: Object = self._wait(self._patched(name, data))
        return made

    async def _answered(self, method: str, name: str, **more: Any) -> Object:
        url = f"configmaps/{name}" if name else "configmaps"
        async with self._api.call_api(
            method, version="v1", url=url, namespace=self._namespace, **more
        ) as answer:
            found: Object = answer.json()
            return found

    def _call(self, method: str, name: str, **more: Any) -> Object:
        found: Object = self._wait(self._answered(method, name, **more))
        return found

    def apply(self, name: str, data: Data) -> Object:
        return self._call(
            "PATCH",
            name,
            content=json.dumps(scenario.applied(name, data)),
            headers={"Content-Type": "application/apply-patch+yaml"},
            params={"fieldManager": scenario.MANAGER},
        )

    def replace(self, body: Object) -> Object:
        return self._call("PUT", body["metadata"]["name"], content=json.dumps(body))

    def names(self) -> list[str]:
        found: list[str] = []
        params: dict[str, Any] = {"labelSelector": scenario.SELECTOR, "limit": scenario.PAGE}
        while True:
            page = self._call("GET", "", params=params)
            found += [item["metadata"]["name"] for item in page["items"]]
            params["continue"] = page["metadata"].get("continue")
            if not params["continue"]:
                return found

    def watch(self) -> None:
        since = self._call("GET", "")["metadata"]["resourceVersion"]
        self._watch = self._api.async_watch(
            "configmaps",
            namespace=self._namespace,
            label_selector=scenario.SELECTOR,
            since=since,
        )

    async def _next(self) -> Any:
        assert self._watch is not None
        return await anext(self._watch)

    def event(self) -> Event:
        kind, found = self._wait(self._next())
        return scenario.event_of(kind, found.to_dict())

    async def _deleted(self, name: str) -> None:
        await (await self._made(scenario.configmap(name, {}))).delete()

    def delete(self, name: str) -> None:
        self._wait(self._deleted(name))


if __name__ == "__main__":
    worker.serve(Kr8s(*sys.argv[1:]))
