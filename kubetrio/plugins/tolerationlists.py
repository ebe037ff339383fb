"""PodTolerationRestriction: a namespace says what its pods tolerate, and what they may.

Source: docs "Admission Control in Kubernetes" (PodTolerationRestriction).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.chain import Plugin
from kubetrio.admission.configuration import (
    ConfigurationError,
    decode,
    listed,
    of_type_meta,
)
from kubetrio.admission.plugin import POD_SPEC, Base, about, put
from kubetrio.kinds.core.amounts import qos_class
from kubetrio.kinds.core.validation.scheduling import tolerations as check_tolerations
from kubetrio.machinery.status import ApiError, Cause, not_found
from kubetrio.schema.structural_shapes import Shape, ShapeKind, shape_of
from kubetrio.schema.wellknown import NAMESPACE_RESOURCE as NAMESPACES
from kubetrio.schema.wellknown import POD_RESOURCE as PODS

if TYPE_CHECKING:
    from kubetrio.plugins.context import PluginContext

Object = dict[str, Any]
Tolerations = list[Object]
DEFAULTS = "scheduler.alpha.kubernetes.io/defaultTolerations"
ALLOWED = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
PRESSURE = {
    "key": "node.kubernetes.io/memory-pressure",
    "operator": "Exists",
    "effect": "NoSchedule",
}
_GROUP = "podtolerationrestriction.admission.k8s.io"

NamespaceObject = Callable[[str], Awaitable[Object | None]]


class Lists(NamedTuple):
    """What holds in namespaces that say nothing.

    Args:
        default: added to pods.
        allowed: what pods may tolerate; anything when empty.
    """

    default: Sequence[Object] = ()
    allowed: Sequence[Object] = ()


def _shape() -> Shape:
    toleration = shape_of({"$ref": "#/io.k8s.api.core.v1.Toleration".removeprefix("#/")})
    return of_type_meta(
        "v1alpha1.Configuration", default=listed(toleration), whitelist=listed(toleration)
    )


def configured(data: bytes | None) -> Lists:
    """Read the plugin's configuration.

    Raises:
        ConfigurationError: it is none.
    """
    if data is None:
        return Lists()
    value = decode(
        data,
        {(f"{_GROUP}/v1alpha1", "Configuration"): _shape()},
        location="k8s.io/kubernetes/plugin/pkg/admission/podtolerationrestriction/config.go:33",
        strict=False,
    )
    causes: list[Cause] = []
    for member in ("default", "whitelist"):
        check_tolerations(value.get(member) or (), f"podtolerationrestriction.{member}", causes)
    if causes:
        texts = " ".join(map(str, causes))
        raise ConfigurationError(f"invalid config: [{texts}]")
    return Lists(value.get("default") or (), value.get("whitelist") or ())


class PodTolerationRestriction(Base):
    """The plugin.

    Args:
        namespace: reads namespaces.
        lists: what is configured.
    """

    name = "PodTolerationRestriction"
    resources = frozenset({PODS})
    operations = frozenset({Operation.CREATE, Operation.UPDATE})

    def __init__(self, namespace: NamespaceObject, lists: Lists) -> None:
        self._namespace = namespace
        self._lists = lists

    async def mutate(self, attributes: Attributes) -> None:
        """Add what the namespace's pods tolerate.

        Raises:
            ApiError: 500, that is more than they may, as in kube-apiserver.
        """
        pod = about(attributes, PODS)
        if pod is None:
            return
        more: Tolerations = []
        if attributes.operation is Operation.CREATE:
            own = await self._of(attributes.namespace, DEFAULTS)
            more = list(self._lists.default if own is None else own)
        if qos_class(pod["spec"]) != "BestEffort":
            more.append(dict(PRESSURE))
        if more:
            before = pod["spec"].get("tolerations") or []
            put(pod, "spec", POD_SPEC, tolerations=merged([*before, *more]))
        await self.validate(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Refuse pods that tolerate more than they may; raises as `mutate`."""
        pod = about(attributes, PODS)
        tolerations = [] if pod is None else pod["spec"].get("tolerations") or []
        if not tolerations:
            return
        own = await self._of(attributes.namespace, ALLOWED)
        allowed, scope = (self._lists.allowed, "cluster") if own is None else (own, "namespace")
        if allowed and not all(any(covers(one, each) for one in allowed) for each in tolerations):
            why = "pod tolerations (possibly merged with namespace default tolerations) conflict"
            raise ApiError(500, "", f"{why} with its {scope} whitelist")

    async def _of(self, name: str, annotation: str) -> Tolerations | None:
        namespace = await self._namespace(name)
        if namespace is None:
            raise not_found(NAMESPACES, name)
        text = (namespace["metadata"].get("annotations") or {}).get(annotation)
        return None if text is None else _read(text)


def _read(text: str) -> Tolerations:
    """Tolerations of an annotation.

    Raises:
        ApiError: 500, it has none, as in kube-apiserver.
    """
    if not text:
        return []
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        from kubetrio.wire.gojson import GoJsonError, parse

        try:
            value = parse(text.encode()).value
        except GoJsonError as error:
            raise ApiError(500, "", str(error)) from None
    if value is None:
        return []
    from kubetrio.schema.structural_strict import Walk
    from kubetrio.wire.gojson import GoJsonError

    element = shape_of({"$ref": "io.k8s.api.core.v1.Toleration"})
    try:
        tolerations = Walk({}, []).clean(Shape(ShapeKind.LIST, "[]v1.Toleration", element), value)
    except GoJsonError as error:
        raise ApiError(500, "", str(error)) from None
    return [one or {} for one in tolerations]


def merged(every: Tolerations) -> Tolerations:
    """Tolerations without those that others cover."""
    kept: Tolerations = []
    for at, one in enumerate(every):
        if any(covers(other, one) for other in kept):
            continue
        if any(not _same(one, other) and covers(other, one) for other in every[at + 1 :]):
            continue
        kept.append(one)
    return kept


def _same(one: Object, two: Object) -> bool:
    return all((one.get(name) or "") == (two.get(name) or "") for name in _TEXTS) and (
        one.get("tolerationSeconds") == two.get("tolerationSeconds")
    )


_TEXTS = ("key", "operator", "value", "effect")


def covers(wide: Object, one: Object) -> bool:
    """Whether a toleration tolerates all that another does."""
    if _same(wide, one):
        return True
    operator, key, effect = (wide.get(name) or "" for name in ("operator", "key", "effect"))
    if (one.get("key") or "") != key and (key or operator != "Exists"):
        return False
    if effect and (one.get("effect") or "") != effect:
        return False
    most, seconds = wide.get("tolerationSeconds"), one.get("tolerationSeconds")
    if effect == "NoExecute" and most is not None and (seconds is None or seconds > most):
        return False
    if operator in ("", "Equal"):
        same = (one.get("value") or "") == (wide.get("value") or "")
        return one.get("operator") == "Equal" and same
    return bool(operator == "Exists")


def toleration_lists(context: PluginContext) -> Plugin:
    """Make the plugin PodTolerationRestriction."""
    lists = context.configurations["PodTolerationRestriction"]
    return PodTolerationRestriction(context.namespaces.get, lists)
