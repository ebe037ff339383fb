"""Which container of a pod a request is about."""

from __future__ import annotations

from typing import Any

from kubetrio.machinery.status import bad_request

Object = dict[str, Any]
CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")


def container_of(pod: Object, wanted: str) -> str:
    """The container a request is about.

    Args:
        pod: the pod.
        wanted: name in the request, or empty for the only one.

    Raises:
        ApiError: 400.
    """
    spec, pod_name = pod["spec"], pod["metadata"]["name"]
    names = [each["name"] for key in CONTAINER_LISTS for each in spec.get(key) or ()]
    if wanted:
        if wanted not in names:
            raise bad_request(f"container {wanted} is not valid for pod {pod_name}")
        return wanted
    plain = spec["containers"]
    if len(plain) == 1:
        return str(plain[0]["name"])
    text = f"a container name must be specified for pod {pod_name}"
    if plain:
        text += f", choose one of: [{' '.join(names)}]"
    raise bad_request(text)
