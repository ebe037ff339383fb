"""What controls of the Pod Security Standards share: parts of a pod, words for what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Violation:
    """A control that a pod violates.

    Args:
        reason: in a few words.
        detail: who violates it and how.
    """

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})"


CheckPod = Callable[[Object], Violation | None]


def plural(count: int, noun: str) -> str:
    """A noun in the right number."""
    return noun if count == 1 else f"{noun}s"


def quoted(names: Iterable[str]) -> str:
    """Names in double quotes; nothing in them is escaped."""
    return ", ".join(f'"{name}"' for name in names)


def listed(noun: str, names: list[str]) -> str:
    """The names of some things, behind what they are."""
    return f"{plural(len(names), noun)} {quoted(names)}"


def uses(names: list[str]) -> str:
    """The verb of sentences about these things."""
    return "uses" if len(names) == 1 else "use"


def setters(pod_does: bool, containers: list[str]) -> str:
    """Who set something: the pod, containers or both."""
    who = ["pod"] if pod_does else []
    if containers:
        who.append(listed("container", containers))
    return " and ".join(who)


def containers_of(pod: Object) -> Iterator[Object]:
    """Containers of all kinds, in the order in which violations name them."""
    spec = pod["spec"]
    for member in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(member) or ()


def context_of(holder: Object) -> Object:
    """The security context of a container or of a pod's spec."""
    return holder.get("securityContext") or {}


def contexts_of(pod: Object) -> Iterator[tuple[str, Object]]:
    """Security contexts of all containers, with their names."""
    return ((each["name"], context_of(each)) for each in containers_of(pod))


def where(pod: Object, bad: Callable[[Object], bool]) -> list[str]:
    """Names of the containers with a bad security context."""
    return [name for name, context in contexts_of(pod) if bad(context)]


def annotations_of(pod: Object) -> Mapping[str, str]:
    """The annotations of a pod or template."""
    return (pod.get("metadata") or {}).get("annotations") or {}
