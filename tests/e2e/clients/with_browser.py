"""A page in a browser, with fetch and streams; used from a thread beside Trio."""

from __future__ import annotations

import json
from typing import Any

import trio

from clients import scenario
from clients.scenario import Data, Event, Object, Refused

PAGE = """
globalThis.events = []; globalThis.waiting = [];
globalThis.ask = async (method, path, body, type) => {
  const headers = body === null ? {} : {"Content-Type": type};
  const text = body === null ? null : JSON.stringify(body);
  const answer = await fetch(path, {method, headers, body: text});
  return [answer.status, await answer.json()];
};
globalThis.follow = async (path) => {
  const answer = await fetch(path);
  (async () => {
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const {done, value} = await reader.read();
      if (done) return;
      const lines = (text + value).split("\\n");
      text = lines.pop();
      for (const line of lines) {
        const next = waiting.shift();
        if (next) next(JSON.parse(line)); else events.push(JSON.parse(line));
      }
    }
  })();
  return answer.status;
};
globalThis.next = () => events.shift() ?? new Promise((resolve) => waiting.push(resolve));
"""


class Browser:
    """See `scenario.Client`.

    Args:
        tab: a page of the server's origin; its `value` evaluates JavaScript.
        namespace: where it works.
    """

    lacks: frozenset[str] = frozenset()

    def __init__(self, tab: Any, namespace: str) -> None:
        self._tab = tab
        self._path = f"/api/v1/namespaces/{namespace}/configmaps"

    def _value(self, expression: str) -> Any:
        return trio.from_thread.run(self._tab.value, expression)

    def prepare(self) -> None:
        """Give the page its functions."""
        self._value(f"{PAGE}; 1")

    def _ask(
        self, method: str, rest: str, body: Any = None, kind: str = "application/json"
    ) -> Object:
        words = json.dumps([method, self._path + rest, body, kind])
        code, found = self._value(f"ask(...{words})")
        if code >= 400:
            raise Refused(code)
        made: Object = found
        return made

    def create(self, name: str, data: Data) -> Object:
        return self._ask("POST", "", scenario.configmap(name, data))

    def read(self, name: str) -> Object:
        return self._ask("GET", f"/{name}")

    def patch(self, name: str, data: Data) -> Object:
        return self._ask("PATCH", f"/{name}", {"data": data}, "application/merge-patch+json")

    def apply(self, name: str, data: Data) -> Object:
        return self._ask(
            "PATCH",
            f"/{name}?fieldManager={scenario.MANAGER}",
            scenario.applied(name, data),
            "application/apply-patch+yaml",
        )

    def replace(self, body: Object) -> Object:
        return self._ask("PUT", f"/{body['metadata']['name']}", body)

    def names(self) -> list[str]:
        found: list[str] = []
        token = ""
        while True:
            rest = f"?limit={scenario.PAGE}&labelSelector={scenario.SELECTOR}&continue={token}"
            page = self._ask("GET", rest)
            found += [item["metadata"]["name"] for item in page["items"]]
            token = page["metadata"].get("continue", "")
            if not token:
                return found

    def watch(self) -> None:
        since = self._ask("GET", "")["metadata"]["resourceVersion"]
        rest = f"?watch=1&labelSelector={scenario.SELECTOR}&resourceVersion={since}"
        assert self._value(f"follow({json.dumps(self._path + rest)})") == 200

    def event(self) -> Event:
        found = self._value("next()")
        return scenario.event_of(found["type"], found["object"])

    def delete(self, name: str) -> None:
        self._ask("DELETE", f"/{name}")
