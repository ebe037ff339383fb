"""``serviceaccounts/token``: a token for a service account, bound to an object if asked for.

Source: docs "Managing Service Accounts", API reference of TokenRequest.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from kubetrio.api import options
from kubetrio.api.admitting import admitted
from kubetrio.api.api import Api, ApiConfig, Edge, Storage, Writes
from kubetrio.api.encoding.encoders import encoder_for
from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse, Response
from kubetrio.api.subresources.pods import check_namespace
from kubetrio.api.verbs import Verb
from kubetrio.auth.issuing import EXTENSION_S, WARN_AFTER_S, TokenIssuer, claims_of
from kubetrio.auth.serviceaccounts import credential_id
from kubetrio.kinds.authentication.tokenrequests import TOKEN_REQUEST
from kubetrio.kinds.common.defaulters import ordered
from kubetrio.machinery.fielderrors import invalid as invalid_value
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.names import GroupResource, GroupVersion
from kubetrio.machinery.status import ApiError, Cause, bad_request, conflict, invalid
from kubetrio.machinery.timestamps import format_time
from kubetrio.resources import reading
from kubetrio.resources.fieldmanager import FieldManager
from kubetrio.schema.kind import Kind
from kubetrio.schema.wellknown import CORE_NODES, NODES, PODS, SECRETS
from kubetrio.wire import jsonwire
from kubetrio.wire.negotiate import NO_TABLE

Object = dict[str, Any]

META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
SPEC = "io.k8s.api.authentication.v1.TokenRequestSpec"
DEFAULT_LIFE_S = 3600
SHORTEST_S, LONGEST_S = 600, 1 << 32
ISSUED = "authentication.kubernetes.io/issued-credential-id"
"""Annotation of the audit log."""
BINDABLE = {"Pod": PODS, "Secret": SECRETS, "Node": NODES}


def check_name(meta: Object, name: str) -> None:
    """The name, if the body has one, is that of the path.

    Raises:
        ApiError: 422.
    """
    given = meta.get("name")
    if given and given != name:
        detail = "must match the service account name if specified"
        cause = invalid_value("metadata.name", given, detail)
        raise invalid(TOKEN_REQUEST.group_kind, name, [cause])


def check_uid(meta: Object, name: str, uid: str) -> None:
    """A request for a service account that is no more must not get a token of its successor.

    Raises:
        ApiError: 409.
    """
    given = meta.get("uid")
    if given and given != uid:
        raise conflict(
            GroupResource(TOKEN_REQUEST.group, TOKEN_REQUEST.kind),
            name,
            f"the UID in the token request ({given}) does not match the UID of the service "
            f"account ({uid})",
        )


def default_request(body: Object) -> None:
    """Fill in what a request leaves open, as Kubernetes does when it decodes one."""
    body["spec"] = spec = dict(body.get("spec") or {})
    if spec.get("expirationSeconds") is None:
        spec["expirationSeconds"] = DEFAULT_LIFE_S


def check_life(seconds: int) -> None:
    """A token lives ten minutes at least.

    Raises:
        ApiError: 422.
    """
    causes: list[Cause] = []
    path = "spec.expirationSeconds"
    if seconds < SHORTEST_S:
        detail = "may not specify a duration less than 10 minutes"
        causes.append(invalid_value(path, seconds, detail))
    if seconds > LONGEST_S:
        detail = "may not specify a duration larger than 2^32 seconds"
        causes.append(invalid_value(path, seconds, detail))
    if causes:
        raise invalid(TOKEN_REQUEST.group_kind, "", causes)


async def _bound(
    storage: Storage, request: Request, reference: Object
) -> dict[str, dict[str, str]]:
    """The objects a token is bound to, by role.

    Raises:
        ApiError: 400, 404 or 409.
    """
    try:
        group, version = GroupVersion.parse(reference.get("apiVersion") or "")
    except ValueError:
        group, version = "", ""  # so upstream (schema.FromAPIVersionAndKind)
    kind, name = reference.get("kind") or "", reference.get("name") or ""
    info = request.info
    if group or kind not in BINDABLE:
        shown = f"{group}/{version}, Kind={kind}"
        raise bad_request(f"cannot bind token to object of type {shown}")
    if not name:
        raise bad_request("Name parameter required.")
    resource = storage.registry.resources["", "v1", BINDABLE[kind]]
    namespace = info.namespace if resource.namespaced else ""
    referent = await reading.read(storage.store, resource, namespace, name)
    uid = referent["metadata"]["uid"]
    bound = {kind.lower(): {"name": name, "uid": uid}}
    if kind == "Pod":
        spec = referent["spec"]
        if spec.get("serviceAccountName", "") != info.name:
            raise bad_request(
                f"cannot bind token for serviceaccount {quote(info.name)} to pod running with "
                "different serviceaccount name."
            )
        if node := spec.get("nodeName"):
            nodes = storage.registry.resources[CORE_NODES]
            stored = await storage.store.get(nodes.key("", node))
            bound["node"] = {"name": node}
            if stored is not None:
                read = await reading.read(storage.store, nodes, "", node)
                bound["node"]["uid"] = read["metadata"]["uid"]
    if reference.get("uid") and reference["uid"] != uid:
        raise conflict(
            GroupResource(group, kind),
            name,
            f"the UID in the bound object reference ({reference['uid']}) does not match the UID "
            "in record. The object might have been deleted and then recreated",
        )
    return bound


async def create(
    storage: Storage,
    writes: Writes,
    edge: Edge,
    issuer: TokenIssuer | None,
    request: Request,
    resource: Kind,
) -> AnyResponse:
    """Issue a token."""
    encoder = encoder_for(request, TOKEN_REQUEST, NO_TABLE, edge.env.now, edge.cache)
    chosen = options.write_options(request, "CreateOptions")
    if issuer is None:
        raise ApiError(501, "NotImplemented", "this server has no key that signs tokens", {})
    check_namespace(request)
    now = edge.env.now()
    sent = _opened(request, chosen.field_manager, now)
    async with admitted(
        writes, request, resource, sent, dry_run=chosen.dry_run, options=chosen.options
    ) as shown:
        account = await _complete(storage, edge.config, request, resource, shown, now)
    spec: Object = shown["spec"]
    reference = spec.get("boundObjectRef")
    bound = await _bound(storage, request, reference) if reference is not None else {}
    seconds: int = spec.get("expirationSeconds") or 0
    longest = edge.config.longest_token_s
    if longest and seconds > longest:
        request.warn([f"requested expiration of {seconds} seconds shortened to {longest} seconds"])
        seconds = longest
        shown["spec"] = spec = ordered(SPEC, {**spec, "expirationSeconds": longest})
    extended = (
        edge.config.extend_tokens
        and "pod" in bound
        and seconds == WARN_AFTER_S
        and set(spec["audiences"]) <= set(edge.config.audiences)
    )
    token_id = edge.env.new_uid()
    claims = claims_of(
        account,
        issuer=issuer.issuer,
        audiences=spec["audiences"],
        now=int(now),
        life_s=EXTENSION_S if extended else seconds,
        warn_after_s=seconds if extended else 0,
        token_id=token_id,
        bound=bound,
    )
    token = await edge.env.run_blocking(issuer.sign, claims)
    request.annotations[ISSUED] = credential_id(token_id)
    status = {"token": token, "expirationTimestamp": format_time(now + seconds)}
    body = encoder.object(jsonwire.encode({**shown, "status": status}))
    return Response(201, body, encoder.content_type)


def _opened(request: Request, field_manager: str, now: float) -> Object:
    """The request for a token as admission sees it first, with defaults and owned fields."""
    body = request.body
    default_request(body)
    subresource = request.info.subresource
    FieldManager(TOKEN_REQUEST, field_manager, format_time(now), subresource).created(body)
    return {
        "kind": TOKEN_REQUEST.kind,
        "apiVersion": TOKEN_REQUEST.api_version,
        "metadata": ordered(META, body["metadata"]),
        "spec": ordered(SPEC, body["spec"]),
        "status": {"token": "", "expirationTimestamp": None},
    }


async def _complete(
    storage: Storage,
    config: ApiConfig,
    request: Request,
    resource: Kind,
    shown: Object,
    now: float,
) -> Object:
    """Fill in what a request leaves open; return its service account.

    That happens behind mutating admission: for kubelets it makes a difference.

    Raises:
        ApiError: 404, 409 or 422.
    """
    info = request.info
    meta: Object = dict(shown.get("metadata") or {})
    spec: Object = dict(shown.get("spec") or {})
    check_name(meta, info.name)
    account = await reading.read(storage.store, resource, info.namespace, info.name)
    uid = account["metadata"]["uid"]
    check_uid(meta, info.name, uid)
    spec["audiences"] = list(spec.get("audiences") or config.audiences)
    meta.update(name=info.name, namespace=info.namespace, uid=uid)
    meta["creationTimestamp"] = format_time(now)
    check_life(spec.get("expirationSeconds") or 0)
    shown.update(metadata=ordered(META, meta), spec=ordered(SPEC, spec))
    return account


def verbs_of(api: Api) -> Mapping[tuple[str, str], Verb]:
    """See `kubetrio.api.subresources.verbs`."""
    issuer = api.security.issuer
    return {("token", "create"): partial(create, api.storage, api.writes, api.edge, issuer)}
