"""PodNodeSelector: a namespace says on which nodes its pods run.

Source: docs "Admission Control in Kubernetes" (PodNodeSelector).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from kubetrio.admission.attributes import Attributes
from kubetrio.admission.chain import Plugin
from kubetrio.admission.configuration import (
    ConfigurationError,
    declared,
    decode_unversioned,
)
from kubetrio.admission.plugin import POD_SPEC, Base, about, put
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.names_validation import label_value, qualified_name
from kubetrio.machinery.status import ApiError, forbidden, internal_error
from kubetrio.schema.structural_shapes import Shape, ShapeKind
from kubetrio.schema.wellknown import POD_RESOURCE as PODS

if TYPE_CHECKING:
    from kubetrio.plugins.context import PluginContext

Object = dict[str, Any]
ANNOTATION = "scheduler.alpha.kubernetes.io/node-selector"
CLUSTER = "clusterDefaultNodeSelector"
MEMBER = "podNodeSelectorPluginConfig"
_TEXTS = Shape(ShapeKind.MAP, "map[string]string", Shape(ShapeKind.STRING, "string"))
_SHAPE = declared("podnodeselector.pluginConfig", **{MEMBER: _TEXTS})

NamespaceObject = Callable[[str], Awaitable[Object | None]]
"""A namespace, None when there is none of that name."""


def configured(data: bytes | None) -> Mapping[str, str]:
    """Selectors by namespace, and that of namespaces that say nothing.

    As in kube-apiserver, what cannot be read configures nothing.

    Args:
        data: YAML.
    """
    if data is None:
        return {}
    try:
        return dict(decode_unversioned(data, _SHAPE).get(MEMBER) or {})
    except ConfigurationError:
        return {}


def labels_of(selector: str) -> dict[str, str]:
    """Labels that a selector such as ``a=b,c=d`` names.

    Raises:
        ApiError: 500, it is none, as in kube-apiserver.
    """
    labels: dict[str, str] = {}
    for term in selector.split(",") if selector else ():
        parts = term.split("=")
        if len(parts) != 2:
            raise ApiError(500, "", f"invalid selector: [{' '.join(parts)}]")
        key, value = (part.strip() for part in parts)
        if wrong := qualified_name(key):
            raise _wrong("<nil>", key, wrong)
        if wrong := label_value(value):
            raise _wrong(f"[{key}]", value, wrong)
        labels[key] = value
    return labels


def _wrong(path: str, value: str, messages: list[str]) -> ApiError:
    return ApiError(500, "", f"{path}: Invalid value: {quote(value)}: {'; '.join(messages)}")


class PodNodeSelector(Base):
    """The plugin.

    Args:
        namespace: reads namespaces.
        selectors: what is configured.
    """

    name = "PodNodeSelector"
    resources = frozenset({PODS})

    def __init__(self, namespace: NamespaceObject, selectors: Mapping[str, str]) -> None:
        self._namespace = namespace
        self._selectors = selectors

    async def mutate(self, attributes: Attributes) -> None:
        """Add the namespace's selector to a pod's.

        Raises:
            ApiError: 403, they do not go together.
        """
        pod = about(attributes, PODS)
        if pod is None:
            return
        selector = await self._wanted(attributes.namespace)
        own = pod["spec"].get("nodeSelector") or {}
        self._compare(pod, selector, own)
        if selector:
            put(pod, "spec", POD_SPEC, nodeSelector=dict(sorted({**selector, **own}.items())))
        await self.validate(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Refuse what others changed since, and what is not on the namespace's list.

        Raises:
            ApiError: 403.
        """
        pod = about(attributes, PODS)
        if pod is None:
            return
        own = pod["spec"].get("nodeSelector") or {}
        self._compare(pod, await self._wanted(attributes.namespace), own)
        listed = labels_of(self._selectors.get(attributes.namespace, ""))
        if listed and not own.items() <= listed.items():
            raise forbidden(
                PODS,
                pod["metadata"].get("name") or "",
                "pod node label selector labels conflict with its namespace whitelist",
            )

    @staticmethod
    def _compare(pod: Object, wanted: Mapping[str, str], own: Mapping[str, str]) -> None:
        if any(wanted.get(key, value) != value for key, value in own.items()):
            raise forbidden(
                PODS,
                pod["metadata"].get("name") or "",
                "pod node label selector conflicts with its namespace node label selector",
            )

    async def _wanted(self, name: str) -> dict[str, str]:
        namespace = await self._namespace(name)
        if namespace is None:
            raise internal_error(f"namespace {name} does not exist")
        annotations = namespace["metadata"].get("annotations") or {}
        text = annotations.get(ANNOTATION)
        return labels_of(self._selectors.get(CLUSTER, "") if text is None else text)


def node_selector(context: PluginContext) -> Plugin:
    """Make the plugin PodNodeSelector."""
    selectors = context.configurations["PodNodeSelector"]
    return PodNodeSelector(context.namespaces.get, selectors)
