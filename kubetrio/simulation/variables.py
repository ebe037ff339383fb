"""What the environment variables of containers need: keys of Secrets and ConfigMaps.

A kubelet does not create a container that lacks one of them.

Source: k8s.io/kubernetes/pkg/kubelet (``makeEnvironmentVariables``: order and words).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubetrio.simulation.mounting import CONFIG_MAP, SECRET, Part, Source
from kubetrio.simulation.plans import LISTS, Role, plan_of, role_of, runs_again

Object = dict[str, Any]

_WHOLE = (("configMapRef", CONFIG_MAP), ("secretRef", SECRET))
_KEYS = (("configMapKeyRef", CONFIG_MAP), ("secretKeyRef", SECRET))


def needs_of_container(container: Object) -> list[Part]:
    """What the variables of a container need, in the order in which a kubelet looks for it.

    What is optional is left out.

    Args:
        container: of a pod's spec.
    """
    parts = (*_from_all(container), *_from_keys(container))
    return [*dict.fromkeys(part for part in parts if not part.optional)]


def _from_all(container: Object) -> Iterator[Part]:
    for origin in container.get("envFrom") or ():
        for member, kind in _WHOLE:
            if (ref := origin.get(member)) is not None:
                source = Source(kind, ref.get("name") or "")
                yield Part(source, optional=bool(ref.get("optional")))


def _from_keys(container: Object) -> Iterator[Part]:
    for variable in container.get("env") or ():
        origin = variable.get("valueFrom") or {}
        for member, kind in _KEYS:
            if (ref := origin.get(member)) is not None:
                source = Source(kind, ref.get("name") or "")
                yield Part(source, (ref["key"],), bool(ref.get("optional")))


def needs_of_starting(pod: Object) -> dict[str, list[Part]]:
    """What the variables of containers need that may start now, by the name of the container.

    Containers that run until the pod goes, those that have ended for good, and those that need
    nothing are left out.

    Args:
        pod: as stored.
    """
    status: Object = pod.get("status") or {}
    needs: dict[str, list[Part]] = {}
    for path in LISTS:
        for container in pod["spec"].get(path) or ():
            role, name = role_of(container, path), container["name"]
            parts = needs_of_container(container)
            if not parts:
                continue
            rows = status.get(role.statuses) or ()
            row: Object = next((one for one in rows if one["name"] == name), {})
            if _may_start(pod, container, role, row.get("state") or {}):
                needs[name] = parts
    return needs


def _may_start(pod: Object, container: Object, role: Role, state: Object) -> bool:
    if "running" in state:  # one that exits may start again in the same step
        return plan_of(pod, container["name"], role).run_s is not None
    if "terminated" in state:
        return runs_again(container, role, pod, int(state["terminated"].get("exitCode") or 0))
    return True


def problem_of(
    namespace: str, parts: Sequence[Part], objects: Mapping[Source, Object | None]
) -> str:
    """The first thing that variables lack, in a kubelet's words; empty for nothing.

    Args:
        namespace: of the pod.
        parts: what the variables need, see `needs_of_container`.
        objects: the objects that they need, None for those that are missing.
    """
    for part in parts:
        kind, name = part.source
        obj = objects[part.source]
        if obj is None:
            return f'{kind} "{name}" not found'
        data = obj.get("data") or {}  # variables have text: a kubelet does not read binaryData
        for key in part.keys:
            if key not in data:
                word = "Secret" if kind == SECRET else "ConfigMap"
                return f"couldn't find key {key} in {word} {namespace}/{name}"
    return ""
