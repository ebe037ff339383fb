"""Writes ``cases/empty_texts.json``: what a kube-apiserver says about texts that are set but empty.

    python make_empty_texts.py https://HOST:PORT TOKEN

Every member that is a pointer to a string in Go is set to ``""`` in a small object of its kind,
which is sent as a dry run.  Members inside pods are left out: ``test_podspec`` and its like have
them.
"""

from __future__ import annotations

import copy
import json
import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kubetrio.kinds.builtin import registry
from kubetrio.schema.structural_shapes import Shape, ShapeKind, struct

HERE = Path(__file__).parent
SAMPLES = HERE.parent / "defaults" / "samples.json"
POD_SPEC = "io.k8s.api.core.v1.PodSpec"
OTHERS = ("reviews", "namespaces", "certificatesigningrequests", "customresourcedefinitions")
_TEXTS = (ShapeKind.STRING, ShapeKind.INT_OR_STRING)


def pointers(shape: Shape, path: tuple[str, ...], seen: tuple[str, ...]) -> Iterator[str]:
    """Dotted paths of pointers to texts below a type; places in lists are 0."""
    target = shape.struct
    if target is None or target.type_name in seen or target.type_name == POD_SPEC:
        return
    for name, field in target.fields.items():
        if not path and name in ("metadata", "status"):
            continue
        inner, where = field.shape, (*path, name)
        if field.pointer and inner.kind in _TEXTS:
            yield ".".join(where)
        if inner.kind is ShapeKind.LIST and inner.element is not None:
            inner, where = inner.element, (*where, "0")
        yield from pointers(inner, where, (*seen, target.type_name))


def with_empty(body: Any, path: str) -> Any:
    """A copy with one member set to the empty text, and all that is missing on the way to it."""
    out = copy.deepcopy(body)
    target = out
    names = path.split(".")
    for name, after in zip(names, [*names[1:], ""], strict=True):
        value: Any = "" if not after else [] if after == "0" else {}
        if isinstance(target, list):
            if not target:
                target.append(value)
            target = target[0]
        elif after:
            if not isinstance(target.get(name), type(value)):
                target[name] = value
            target = target[name]
        else:
            target[name] = value
    return out


def main(server: str, token: str) -> None:
    """Ask and write."""
    context = ssl._create_unverified_context()  # a server of one's own
    known: set[str] = set()
    cases = []
    for sample in json.loads(SAMPLES.read_text()).values():
        path, body = sample["path"], sample["input"]
        plural = path.rpartition("/")[2]
        if plural in known or plural.endswith(OTHERS) or plural == "events":
            continue
        known.add(plural)
        group, _, version = body["apiVersion"].rpartition("/")
        kind = registry().get(group, version, plural)
        if kind is None:
            continue
        body = copy.deepcopy(body)
        body["metadata"].pop("namespace", None)
        root = Shape(ShapeKind.STRUCT, "", struct=struct(kind.schema_name))
        for member in pointers(root, (), ()):
            changed = with_empty(body, member)
            request = urllib.request.Request(
                f"{server}{path}?dryRun=All",
                json.dumps(changed).encode(),
                {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
            )
            try:
                with urllib.request.urlopen(request, context=context):
                    told = []
            except urllib.error.HTTPError as error:
                status = json.load(error)
                if status["code"] != 422:
                    continue
                told = sorted(f"{c['field']}: {c['message']}" for c in status["details"]["causes"])
            cases.append(
                {
                    "resource": [group, version, plural],
                    "path": member,
                    "body": changed,
                    "told": told,
                }
            )
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    (HERE / "cases" / "empty_texts.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
