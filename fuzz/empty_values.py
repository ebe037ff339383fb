"""Absent, null and empty members are told apart as in kube-apiserver, kind by kind.

python fuzz/empty_values.py --server URL --against URL --token-file FILE [--only WORD]

For each built-in kind an object is made on both servers.  Then each list, map and struct in it, and
each that could be in it, is set to null and to the empty value, one at a time, and the object is
sent as a create, an update and an apply, all in dry run.  Answers that differ in status, message,
object, generation or owners are told, grouped by the kind and the member.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fuzz.comparing import Findings, Remote
from fuzz.corpus import Object, Schema, corpus, resolved
from fuzz.mutated_requests import REMOTE_NAMESPACE
from fuzz.mutations import dumps
from fuzz.steps import Reply, Step, collection
from kubetrio.schema.kind import Kind

Path_ = tuple[str | int, ...]
JSON = "application/json"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
VOLATILE = ("uid", "resourceVersion", "creationTimestamp")
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
ADDRESS = re.compile(r"10\.0\.0\.\d+")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def places(value: Any, schema: Schema, prefix: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    """Members that hold, or could hold, a list, a map or a struct, with the empty value."""
    _, schema = resolved(schema)
    if isinstance(value, dict):
        for name, inner in schema.get("properties", {}).items():
            if not prefix and name in ("apiVersion", "kind"):
                continue
            empty = _empty(inner)
            if empty is not None:
                yield (*prefix, name), empty
            if name in value:
                yield from places(value[name], inner, (*prefix, name))
        extra = schema.get("additionalProperties")
        if isinstance(extra, dict):
            for name, inner in value.items():
                empty = _empty(extra)
                if empty is not None:
                    yield (*prefix, name), empty
                yield from places(inner, extra, (*prefix, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value[:2]):
            yield from places(inner, schema.get("items") or {}, (*prefix, index))


def _empty(schema: Schema) -> Any:
    name, schema = resolved(schema)
    if name.endswith((".Time", ".MicroTime", ".Quantity", ".IntOrString")):
        return None
    form = schema.get("type")
    if form == "array":
        return []
    return {} if form == "object" or schema.get("properties") else None


def put(obj: Object, path: Path_, value: Any) -> Object:
    """A copy of an object with a member set."""
    out: Object = copy.deepcopy(obj)
    at: Any = out
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return out


def comparable(reply: Reply) -> Any:
    """An answer without what differs between any two servers."""
    value = reply.json()
    if not isinstance(value, dict):
        return str(value)
    meta = value.get("metadata") or {}
    for name in VOLATILE:
        meta.pop(name, None)
    if isinstance(meta.get("managedFields"), list):
        meta["managedFields"].sort(key=json.dumps)
    text = ADDRESS.sub("ADDRESS", UID.sub("UID", TIME.sub("TIME", json.dumps(value))))
    return json.loads(text)


def difference(left: Any, right: Any, at: str = "") -> str:
    """The first places where two JSON values differ."""
    if isinstance(left, dict) and isinstance(right, dict):
        found = [
            difference(left.get(key, "absent"), right.get(key, "absent"), f"{at}.{key}")
            for key in sorted({*left, *right})
        ]
        return "; ".join(filter(None, found))
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        both = enumerate(zip(left, right, strict=True))
        found = [difference(one, two, f"{at}[{place}]") for place, (one, two) in both]
        return "; ".join(filter(None, found))
    if left == right and type(left) is type(right):
        return ""
    return f"{at}: there {json.dumps(left)[:500]} here {json.dumps(right)[:500]}"


class Pair:
    """Two servers that get the same requests."""

    def __init__(self, ours: Remote, theirs: Remote, findings: Findings) -> None:
        self._ours, self._theirs, self._findings = ours, theirs, findings
        self.sent = 0
        self.codes: dict[int, int] = {}

    def send(self, step: Step) -> tuple[Reply, Reply]:
        """Send a request to both."""
        self.sent += 1
        return self._theirs.send(step), self._ours.send(step)

    def compare(self, step: Step, where: str) -> None:
        """Send a request to both and tell how the answers differ."""
        theirs, ours = self.send(step)
        self.codes[theirs.status] = self.codes.get(theirs.status, 0) + 1
        text = difference(comparable(theirs), comparable(ours))
        if theirs.status != ours.status or text:
            key = f"{step.what} {where}: {theirs.status}/{ours.status}"
            self._findings.add(key, text[:3000])


def size(value: Any) -> int:
    """How many members an object has, in all."""
    if isinstance(value, dict):
        return len(value) + sum(map(size, value.values()))
    return sum(map(size, value)) if isinstance(value, list) else 0


def variants(kind: Kind, base: Object) -> Iterator[tuple[str, Object]]:
    """An object with one member after the other null, and empty."""
    for path, empty in places(base, {"$ref": kind.schema_name}):
        for value in (None, empty):
            label = f"{'.'.join(map(str, path))} = {json.dumps(value)}"
            with contextlib.suppress(KeyError, TypeError, IndexError):
                yield label, put(base, path, value)


def explore(pair: Pair, kind: Kind, base: Object, name: str) -> bool:
    """Send all variants of an object; whether it could be made."""
    base = json.loads(json.dumps(base))
    base["apiVersion"], base["kind"] = kind.api_version, kind.kind
    if kind.namespaced:
        base["metadata"]["namespace"] = REMOTE_NAMESPACE
    at, headers = collection(kind, REMOTE_NAMESPACE), {"Content-Type": JSON}
    one = f"{at}/{base['metadata'].get('name', '')}"
    query = "dryRun=All&fieldManager="
    made = pair.send(Step("POST", f"{at}?dryRun=All", headers, dumps(base), "make"))
    if any(reply.status != 201 for reply in made):
        return False
    for label, new in variants(kind, base):
        step = Step("POST", f"{at}?{query}two", headers, dumps(new), "create")
        pair.compare(step, f"{name} {label}")
    if "update" not in kind.verbs:
        return True
    pair.send(Step("POST", f"{at}?fieldManager=init", headers, dumps(base), "make"))
    pair.compare(Step("GET", one, {}, None, "made"), name)
    for label, obj in variants(kind, base):
        body, place = dumps(obj), f"{name} {label}"
        merge, apply = {"Content-Type": MERGE}, {"Content-Type": APPLY}
        pair.compare(Step("PUT", f"{one}?{query}two", headers, body, "update"), place)
        pair.compare(Step("PATCH", f"{one}?{query}two", merge, body, "merge"), place)
        pair.compare(Step("PATCH", f"{one}?{query}ap&force=true", apply, body, "apply"), place)
        if "status" in kind.subresources:
            pair.compare(Step("PUT", f"{one}/status?{query}two", headers, body, "status"), place)
    pair.send(Step("DELETE", one, {}, None, "clean"))
    return True


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", required=True)
    parser.add_argument("--against", required=True)
    parser.add_argument("--token-file", type=Path, required=True)
    parser.add_argument("--only", default="")
    options = parser.parse_args(arguments)
    token = options.token_file.read_text().strip()
    findings = Findings()
    pair = Pair(Remote(options.server, token), Remote(options.against, token), findings)
    namespace = dumps({"metadata": {"name": REMOTE_NAMESPACE}})
    pair.send(Step("POST", "/api/v1/namespaces", {"Content-Type": JSON}, namespace, "namespace"))
    for kind, bases in corpus().bases.items():
        name = f"{kind.api_version}/{kind.resource}"
        if options.only not in name:
            continue
        tried = sorted(bases, key=size, reverse=True)
        if not any(explore(pair, kind, base, name) for base in tried):
            print(f"== {name}: none of {len(tried)} objects can be made", flush=True)
    print(f"\n{pair.sent} requests, {len(findings.seen)} findings, {pair.codes}")


if __name__ == "__main__":
    main()
