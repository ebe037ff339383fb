"""Functions that templates of stages may call: Go's own, kwok's, and a few of sprig's.

Source: pkg.go.dev/text/template (functions); kwok.sigs.k8s.io, "Go templates".
"""

from __future__ import annotations

from functools import partial
from typing import Any

import orjson

from kubetrio.machinery.timestamps import format_time
from kubetrio.release import KUBERNETES_VERSION
from kubetrio.simulation.goexpressions import Functions
from kubetrio.simulation.gotemplates import shown, truth

Object = dict[str, Any]


def quoted(value: Any) -> str:
    """A value as a string of JSON."""
    if isinstance(value, str):
        return orjson.dumps(value).decode()
    return orjson.dumps(orjson.dumps(value).decode()).decode()


def index(value: Any, *keys: Any) -> Any:
    """A member or an element, and so on; nothing of nothing.

    Raises:
        LookupError: a list has no such element.
    """
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list):
            value = value[key]
    return value


def _any(*values: Any) -> Any:
    return next((one for one in values if truth(one)), values[-1])


def _all(*values: Any) -> Any:
    return next((one for one in values if not truth(one)), values[-1])


def _equal(value: Any, *others: Any) -> bool:
    return any(type(value) is type(one) and value == one for one in others)


def _default(default: Any, value: Any = None) -> Any:
    return value if truth(value) else default


def _dict(*parts: Any) -> Object:
    return dict(zip(map(str, parts[::2]), parts[1::2], strict=True))


def _yaml(value: Any, indent: int = 0) -> str:
    """JSON is YAML, and needs no indentation."""
    del indent
    return orjson.dumps(value).decode()


def functions_of(pod: Object, now: float, host_ip: str, pod_ip: str) -> Functions:
    """Return the functions for a pod.

    Args:
        pod: whose template is rendered.
        now: wall clock, in seconds.
        host_ip: address of its node.
        pod_ip: its address.
    """

    def pod_address(_: Any, host_network: Any = False, *__: Any) -> str:
        known = (pod.get("status") or {}).get("podIP")
        return str(known or (host_ip if host_network else pod_ip))

    return {
        "and": _all,
        "or": _any,
        "not": lambda value: not truth(value),
        "eq": _equal,
        "ne": lambda one, other: not _equal(one, other),
        "lt": lambda one, other: one < other,
        "le": lambda one, other: one <= other,
        "gt": lambda one, other: one > other,
        "ge": lambda one, other: one >= other,
        "index": index,
        "len": len,
        "print": lambda *values: "".join(map(shown, values)),
        "default": _default,
        "dict": _dict,
        "list": lambda *values: [*values],
        "add": lambda *values: sum(values),
        "quote": quoted,
        "Quote": quoted,
        "YAML": _yaml,
        "Now": partial(format_time, now),
        "Version": lambda: f"v{KUBERNETES_VERSION}",
        "NodeIPWith": lambda _: host_ip,
        "NodeIPsWith": lambda _: [host_ip],
        "PodIPWith": pod_address,
        "PodIPsWith": lambda *values: [pod_address(*values)],
    }
