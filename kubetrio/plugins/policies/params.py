"""Parameters of admission policies: which objects a binding names.

Source: docs "Validating Admission Policy" (parameter resources); KEP-3488.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.admission.objectcache import ObjectCache
from kubetrio.machinery.labels import from_label_selector
from kubetrio.machinery.names import GroupVersion, GroupVersionKind
from kubetrio.machinery.status import ApiError
from kubetrio.resources.conversion import from_stored
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry

Object = dict[str, Any]


class ConfigurationError(Exception):
    """A policy or binding cannot be carried out as it is; the text says why."""


def param_resource(registry: LiveRegistry, kind: Mapping[str, Any]) -> Kind:
    """The resource of a ``paramKind``.

    Raises:
        ConfigurationError: there is none.
    """
    api_version, name = kind.get("apiVersion") or "", kind.get("kind") or ""
    gvk = GroupVersionKind(*GroupVersion.parse(api_version), name)
    resource = registry.by_kind.get(gvk)
    if resource is None:
        raise ConfigurationError(
            f"failed to find resource referenced by paramKind: '{api_version}, Kind={name}'"
        )
    return resource


async def params_of(
    resource: Kind | None,
    ref: Mapping[str, Any] | None,
    namespace: str,
    cache: ObjectCache,
) -> list[Object | None]:
    """The parameters with which a policy runs; one None where it runs without.

    Args:
        resource: the resource of the policy's ``paramKind``, or None.
        ref: the binding's ``paramRef``, or None.
        namespace: the namespace of the request.
        cache: reads objects.

    Raises:
        ConfigurationError: they cannot be found and must be.
    """
    if resource is None or ref is None:
        return [None]
    given = ref.get("namespace") or ""
    if not resource.namespaced:
        if given:
            raise ConfigurationError(
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
            )
        namespace = ""
    else:
        namespace = given or namespace
        if not namespace:
            raise ConfigurationError(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped "
                "resources"
            )
    objects: list[Object | None] = []
    if ref.get("name"):
        one = await cache.get(resource.key(namespace, ref["name"]))
        objects = [] if one is None else [one]
    else:
        selector = from_label_selector(ref.get("selector") or {})
        objects += [
            one
            for one in await cache.under(resource.prefix(namespace))
            if selector.matches(one["metadata"].get("labels") or {})
        ]
    if not objects and ref.get("parameterNotFoundAction") == "Deny":
        raise ConfigurationError(
            "no params found for policy binding with `Deny` parameterNotFoundAction"
        )
    try:
        shown = iter(await from_stored(resource, [one for one in objects if one is not None]))
    except ApiError as error:
        raise ConfigurationError(error.message) from error
    return [one and next(shown) for one in objects]
