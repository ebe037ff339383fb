"""AlwaysPullImages: who may not pull an image cannot use one that a node has already.

Source: docs "Admission Control in Kubernetes" (AlwaysPullImages).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.chain import Plugin
from kubetrio.admission.plugin import Base, about, denied, put
from kubetrio.machinery.fielderrors import not_supported
from kubetrio.machinery.status import ApiError
from kubetrio.plugins.containers import containers
from kubetrio.schema.wellknown import POD_RESOURCE as PODS

if TYPE_CHECKING:
    from kubetrio.plugins.context import PluginContext

Object = dict[str, Any]
ALWAYS = "Always"
_CORE = "io.k8s.api.core.v1."


class AlwaysPullImages(Base):
    """The plugin."""

    name = "AlwaysPullImages"
    resources = frozenset({PODS})
    operations = frozenset({Operation.CREATE, Operation.UPDATE})

    async def mutate(self, attributes: Attributes) -> None:
        """Set the policy of all containers and image volumes."""
        pod = _concerned(attributes)
        if pod is None:
            return
        for path, container in containers(pod["spec"]):
            kind = "EphemeralContainer" if "ephemeral" in path else "Container"
            whole = {"it": container}
            put(whole, "it", _CORE + kind, imagePullPolicy=ALWAYS)
            container.clear()
            container.update(whole["it"])
        for _, volume in _image_volumes(pod):
            volume["image"] = {**volume["image"], "pullPolicy": ALWAYS}

    async def validate(self, attributes: Attributes) -> None:
        """Refuse what others changed since.

        Raises:
            ApiError: 403 about one place, 500 about several, as kube-apiserver.
        """
        pod = _concerned(attributes)
        if pod is None:
            return
        wrong = [
            (f"{path}.imagePullPolicy", container.get("imagePullPolicy") or "")
            for path, container in containers(pod["spec"])
        ] + [
            (f"{path}.image.pullPolicy", volume["image"].get("pullPolicy") or "")
            for path, volume in _image_volumes(pod)
        ]
        refusals = []
        for path, policy in wrong:
            if policy != ALWAYS:
                cause = not_supported(path, policy, [ALWAYS])
                refusals.append(denied(attributes, f"{path}: {cause.message}"))
        if len(refusals) == 1:
            raise refusals[0]
        if refusals:
            texts = dict.fromkeys(str(one) for one in refusals)
            raise ApiError(500, "", f"[{', '.join(texts)}]")


def _concerned(attributes: Attributes) -> Object | None:
    """The pod, unless an update brings no image that it does not have."""
    pod = about(attributes, PODS)
    if pod is None or attributes.operation is not Operation.UPDATE or attributes.old is None:
        return pod
    known = {one.get("image") for _, one in containers(attributes.old["spec"])}
    new = {one.get("image") for _, one in containers(pod["spec"])}
    return None if new <= known else pod


def _image_volumes(pod: Object) -> Iterator[tuple[str, Object]]:
    for index, volume in enumerate(pod["spec"].get("volumes") or ()):
        if volume.get("image") is not None:
            yield f"spec.volumes[{index}]", volume


def always_pull(_: PluginContext) -> Plugin:
    """Make the plugin AlwaysPullImages."""
    return AlwaysPullImages()
