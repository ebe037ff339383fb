"""What expressions of admission look at: the request, objects in a version, namespace, authorizer.

Source: docs "Validating Admission Policy" (variables of expressions), ``AdmissionRequest``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.criteria import name_in, namespace_of
from kubetrio.cel.authorizing import Question, authorizer, resource_check
from kubetrio.cel.programs import Inputs
from kubetrio.machinery.identity import user_info
from kubetrio.plugins.dynamic.answers import Answers
from kubetrio.plugins.dynamic.objects import shown
from kubetrio.schema.kind import Kind

Object = dict[str, Any]

_OPTIONS = {
    Operation.CREATE: "CreateOptions",
    Operation.UPDATE: "UpdateOptions",
    Operation.DELETE: "DeleteOptions",
}
_NAMESPACE_META = (
    "name", "generateName", "namespace", "uid", "resourceVersion", "generation",
    "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "labels",
    "annotations", "finalizers",
)  # fmt: skip


def _kind(resource: Kind, subresource: str) -> Object:
    below = resource.subresources.get(subresource)
    group, version, kind = resource.group_version_kind if below is None else below.kind
    return {"group": group, "version": version, "kind": kind}


def _resource(resource: Kind) -> Object:
    return {
        "group": resource.group,
        "version": resource.version,
        "resource": resource.resource,
    }


def request_of(attributes: Attributes, matched: Kind) -> Object:
    """The variable ``request``.

    Args:
        attributes: the request.
        matched: the resource as which the policy means it.
    """
    user, resource, below = attributes.user, attributes.resource, attributes.subresource
    namespace = namespace_of(attributes)
    options: Object = {"apiVersion": "meta.k8s.io/v1"}
    if attributes.operation in _OPTIONS:
        options["kind"] = _OPTIONS[attributes.operation]
    if attributes.dry_run:
        options["dryRun"] = ["All"]
    request: Object = {
        "uid": "",
        "kind": _kind(matched, below),
        "resource": _resource(matched),
        "requestKind": _kind(resource, below),
        "requestResource": _resource(resource),
        "operation": attributes.operation.value,
        "userInfo": user_info(user),
        "dryRun": attributes.dry_run,
        "options": options,
    }
    if below:
        request["subResource"] = request["requestSubResource"] = below
    if name := attributes.name or name_in(attributes.obj):
        request["name"] = name
    if namespace:
        request["namespace"] = namespace
    return request


def namespace_object(namespace: Object | None) -> Object | None:
    """The variable ``namespaceObject``: what expressions may see of a namespace."""
    if namespace is None:
        return None
    meta = namespace["metadata"]
    return {
        "metadata": {name: meta[name] for name in _NAMESPACE_META if name in meta},
        "spec": namespace.get("spec") or {},
        "status": namespace.get("status") or {},
    }


async def inputs_of(
    attributes: Attributes,
    matched: Kind,
    *,
    namespace: Object | None,
    params: Object | None,
    answers: Answers,
) -> Inputs:
    """Everything the expressions of one policy may look at.

    Args:
        attributes: the request.
        matched: the resource as which the policy means it.
        namespace: the namespace of the request.
        params: parameters, or None.
        answers: what authorizers answer; evaluate within `Answers.decided`.

    Raises:
        ValueError: an object cannot be converted to the version of `matched`.
    """
    question: Question = {
        "group": attributes.resource.group,
        "resource": attributes.resource.resource,
        "subresource": attributes.subresource,
        "namespace": namespace_of(attributes),
        "name": attributes.name or name_in(attributes.obj),
    }
    values = {
        "object": await shown(attributes.obj, attributes, matched),
        "oldObject": await shown(attributes.old, attributes, matched),
        "request": request_of(attributes, matched),
        "namespaceObject": namespace_object(namespace),
        "params": params,
        "authorizer": authorizer(),
        "authorizer.requestResource": resource_check(question),
    }
    return Inputs(values, partial(answers.ask, attributes.user))
