"""Bindings and evictions: writes of pods by what is not a pod."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from kubetrio.api import options
from kubetrio.api.admitting import admitted
from kubetrio.api.api import Api, Edge, Storage, Writes, status_response
from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse
from kubetrio.api.routing import check_name
from kubetrio.api.verbs import Verb
from kubetrio.kinds.core.pods import binding, eviction
from kubetrio.kinds.core.pods.eviction import Guard
from kubetrio.kinds.core.pods.subresources import BINDING, EVICTION
from kubetrio.machinery.status import ApiError, bad_request, success
from kubetrio.machinery.timestamps import format_time
from kubetrio.resources import deletion, reading
from kubetrio.resources.fieldmanager import FieldManager
from kubetrio.resources.opening import clear_identity
from kubetrio.resources.preconditions import check_identity, told_key
from kubetrio.resources.serverwrites import update_as_server
from kubetrio.resources.writes import DeleteOptions, Target, WriteOptions, delete_options
from kubetrio.schema.kind import Kind
from kubetrio.schema.wellknown import BUDGETS, CORE_PODS

Object = dict[str, Any]
PDB_ATTEMPTS = 20


def _pods(storage: Storage) -> Kind:
    return storage.registry.resources[CORE_PODS]


def _created(request: Request) -> AnyResponse:
    return status_response(request, {**success(), "code": 201}, 201)


def check_namespace(request: Request) -> None:
    """The body must not name another namespace than the path; fills it in.

    Raises:
        ApiError: 400.
    """
    meta = request.body.setdefault("metadata", {})
    if meta.get("namespace") not in (None, "", request.info.namespace):
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    meta["namespace"] = request.info.namespace


def _note_owner(request: Request, kind: Kind, chosen: WriteOptions, now: str) -> None:
    """Note who owns the fields of a body, as of any object that is created."""
    FieldManager(kind, chosen.field_manager, now, request.info.subresource).created(request.body)


async def bind(
    storage: Storage, writes: Writes, edge: Edge, request: Request, resource: Kind
) -> AnyResponse:
    """A pod bound to a node, by its subresource or through ``bindings``."""
    chosen = options.write_options(request, "CreateOptions")
    if not request.info.subresource:  # the subresource pins the pod that its body names
        clear_identity(request.body, namespaced=True)
    check_namespace(request)
    name = request.info.name or request.body["metadata"].get("name", "")
    now = format_time(edge.env.now())
    _note_owner(request, BINDING, chosen, now)
    async with admitted(
        writes,
        request,
        resource,
        request.body,
        name=name,
        dry_run=chosen.dry_run,
        options=chosen.options,
    ) as body:
        binding.check_binding(body, name)
    if not name:
        raise bad_request("Name parameter required.")
    check_name(name)
    pods, namespace = _pods(storage), request.info.namespace

    def bound(pod: Object) -> Object:
        check_identity(
            pods.group_resource,
            told_key(pods.key(namespace, name), dry_run=chosen.dry_run),
            pod["metadata"],
            body["metadata"],
        )
        return binding.bound(pod, body, now)

    await update_as_server(storage.store, pods, namespace, name, bound, dry_run=chosen.dry_run)
    return _created(request)


async def evict(
    storage: Storage, writes: Writes, edge: Edge, request: Request, resource: Kind
) -> AnyResponse:
    """A pod deleted, if the disruption budgets allow it."""
    how = options.write_options(request, "CreateOptions")
    clear_identity(request.body, namespaced=True)
    check_namespace(request)
    info = request.info
    _note_owner(request, EVICTION, how, format_time(edge.env.now()))
    async with admitted(
        writes, request, resource, request.body, dry_run=how.dry_run, options=how.options
    ) as body:
        # A kubelet that may not evict the pod is told so first.
        eviction.check_eviction(body, info.name)
        raw = eviction.delete_options_of(body, request.query_list("dryRun"))
    chosen = delete_options(raw)
    for _ in range(PDB_ATTEMPTS):
        pod = await reading.read(storage.store, resource, info.namespace, info.name)
        if not eviction.ends_anyway(pod):
            await _evict_guarded(storage, writes, edge, request, resource, pod, chosen)
            return _created(request)
        try:
            await _remove(storage, writes, edge, request, resource, _pinned(pod, chosen))
        except ApiError as error:
            # The pod may have been started meanwhile, and count now.
            if error.code != 409 or chosen.resource_version or chosen.uid:
                raise
        else:
            break
    return _created(request)


def _pinned(pod: Object, chosen: DeleteOptions) -> DeleteOptions:
    """Options that delete this version of a pod, unless it can only end."""
    meta = pod["metadata"]
    over = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    if over or meta.get("deletionTimestamp") or chosen.resource_version:
        return chosen
    return replace(chosen, resource_version=meta["resourceVersion"])


async def _evict_guarded(
    storage: Storage,
    writes: Writes,
    edge: Edge,
    request: Request,
    resource: Kind,
    pod: Object,
    chosen: DeleteOptions,
) -> None:
    """Delete a pod that a budget may guard."""
    budgets = storage.registry.resources[BUDGETS]
    namespace = request.info.namespace
    known = await reading.read_all(storage.store, budgets, namespace)
    guarding = eviction.budgets_of(pod, known)
    guard = eviction.guard_of(pod, guarding)
    if guard is Guard.COUNTED:
        now = format_time(edge.env.now())
        await update_as_server(
            storage.store,
            budgets,
            namespace,
            guarding[0]["metadata"]["name"],
            lambda budget: eviction.take_disruption(budget, request.info.name, now),
            dry_run=chosen.dry_run,
        )
    if guard is not Guard.PINNED:
        await _remove(storage, writes, edge, request, resource, chosen)
        return
    try:
        await _remove(storage, writes, edge, request, resource, _pinned(pod, chosen))
    except ApiError as error:
        if error.code == 409 and not chosen.resource_version:
            raise eviction.refused(guarding[0]["metadata"]["name"]) from error
        raise


async def _remove(
    storage: Storage,
    writes: Writes,
    edge: Edge,
    request: Request,
    resource: Kind,
    chosen: DeleteOptions,
) -> None:
    """Say in the pod why it goes, and delete it."""
    info = request.info
    now = format_time(edge.env.now())

    def mark(pod: Object) -> Object:
        deletion.check_preconditions(resource, pod, chosen)
        return eviction.marked(pod, now)

    if not chosen.dry_run:
        marked = await update_as_server(storage.store, resource, info.namespace, info.name, mark)
        if chosen.resource_version:
            version = marked["metadata"]["resourceVersion"]
            chosen = replace(chosen, resource_version=version)
    target = Target(resource=resource, namespace=info.namespace, name=info.name)
    # Admission was asked about the eviction, and as in kube-apiserver not about the deletion.
    await writes.operations.delete_as_server(target, chosen)


def verbs_of(api: Api) -> Mapping[tuple[str, str], Verb]:
    """See `kubetrio.api.subresources.verbs`."""
    storage, writes, edge = api.storage, api.writes, api.edge
    return {
        ("binding", "create"): partial(bind, storage, writes, edge),
        ("eviction", "create"): partial(evict, storage, writes, edge),
    }
