"""Query parameters of the verbs: parse and validate, in kube-apiserver's words.

Source: docs "API concepts" (resource versions, watch, dry run) and the API reference of
ListOptions, CreateOptions, UpdateOptions, PatchOptions and DeleteOptions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from kubetrio.api.request import Request, truthy
from kubetrio.gotext import numbers as gonumbers
from kubetrio.machinery import fields, labels
from kubetrio.machinery.names import GroupKind
from kubetrio.machinery.objectmeta import MANAGER_BYTES, validate_field_manager
from kubetrio.machinery.remember import counted
from kubetrio.machinery.status import Cause, bad_request, invalid
from kubetrio.resources.listing import ListOptions, plain_revision
from kubetrio.resources.selection import Selection
from kubetrio.resources.watching import WatchOptions
from kubetrio.resources.writes import (
    IGNORE_READ_ERROR,
    Object,
    WriteOptions,
    dry_run_causes,
)
from kubetrio.schema.kind import Kind
from kubetrio.wire.negotiate import APPLIES

LIST_OPTIONS = GroupKind("meta.k8s.io", "ListOptions")
REMEMBERED_BYTES = 256  # of a user agent whose name is remembered
FIELD_VALIDATION = ("", "Ignore", "Strict", "Warn")


def integer(text: str) -> int:
    """A 64-bit decimal query value.

    Raises:
        ApiError: 400 in the words of Go's ``strconv``.
    """
    try:
        return gonumbers.parse_int(text)
    except ValueError as error:
        raise bad_request(str(error)) from None


def number(query: Mapping[str, str], name: str) -> int:
    """A 64-bit decimal parameter, 0 when it is absent; an empty one is no number.

    Args:
        query: first value of each parameter.
        name: its name.

    Raises:
        ApiError: 400, as `integer`.
    """
    return integer(query[name]) if name in query else 0


_Selectors = tuple[labels.Selector, fields.Selector]


def _parsed_selectors(request: Request) -> _Selectors | None:
    """The selectors of a request, None where there are none.

    Raises:
        ApiError: 400 for what does not parse.
    """
    query = request.query
    if not query.get("labelSelector") and not query.get("fieldSelector"):
        return None
    try:
        return request.selectors.labels(), request.selectors.fields()
    except ValueError as error:
        raise bad_request(str(error)) from None


def _selection(selectors: _Selectors | None, resource: Kind) -> Selection | None:
    """What selectors choose of a collection; None when they select everything.

    kube-apiserver looks at the labels of fields when the other options are known to be valid.

    Raises:
        ApiError: 400 for fields that are not supported.
    """
    if selectors is None:
        return None
    by_label, by_field = selectors
    resource.selectors.check(by_field, resource.group, resource.version, resource.kind)
    if by_label.empty and by_field.empty:
        return None
    return Selection(
        None if by_label.empty else by_label,
        None if by_field.empty else by_field,
        resource.selectors.values,
    )


def list_options(request: Request, resource: Kind) -> ListOptions:
    """Options of a list.

    Raises:
        ApiError: 400 or 422.
    """
    query = request.query
    if not query:
        return EVERYTHING
    number(query, "timeoutSeconds")
    limit = number(query, "limit")
    selectors = _parsed_selectors(request)
    if causes := _list_causes(query):
        raise invalid(LIST_OPTIONS, "", causes)
    chosen = _selection(selectors, resource)
    version = query.get("resourceVersion", "")
    if version == "0" and resource.cached:
        limit = 0  # answered from memory in kube-apiserver, which does not page there
    return ListOptions(
        limit=max(limit, 0),
        continue_token=query.get("continue", ""),
        resource_version=version,
        match=query.get("resourceVersionMatch", ""),
        selection=chosen,
    )


EVERYTHING = ListOptions()


def _list_causes(query: Mapping[str, str]) -> list[Cause]:
    """What is wrong with the options of a list."""
    version, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
    causes: list[Cause] = []
    if match:
        if not version:
            causes.append(_forbidden_match("is forbidden unless resourceVersion is provided"))
        if query.get("continue"):
            causes.append(_forbidden_match("is forbidden when continue is provided"))
        if match not in ("Exact", "NotOlderThan"):
            causes.append(_unsupported_match(match, '"Exact", "NotOlderThan", ""'))
        if match == "Exact" and version == "0":
            causes.append(_forbidden_match('"exact" is forbidden for resourceVersion "0"'))
    if "sendInitialEvents" in query:
        causes.append(_forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return causes


def _forbidden(field: str, text: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {text}", field)


def _forbidden_match(text: str) -> Cause:
    return _forbidden("resourceVersionMatch", f"resourceVersionMatch {text}")


def _unsupported_match(value: str, supported: str) -> Cause:
    return Cause(
        "FieldValueNotSupported",
        f'Unsupported value: "{value}": supported values: {supported}',
        "resourceVersionMatch",
    )


def watch_options(
    request: Request, resource: Kind, namespace: str, default_timeout_s: float
) -> WatchOptions:
    """Options of a watch.

    Args:
        request: the request.
        resource: what is watched.
        namespace: namespace, or empty for all.
        default_timeout_s: seconds when the client names no time-out.

    Raises:
        ApiError: 400, 422, or 500 for a malformed resourceVersion, as kube-apiserver answers.
    """
    query = request.query
    timeout = number(query, "timeoutSeconds")
    number(query, "limit")
    selectors = _parsed_selectors(request)
    # The deprecated ``/watch/`` paths need no parameter, and without it are checked as lists.
    asked = truthy(query.get("watch", "0"))
    legacy = asked and _from_any_version(query)
    if causes := _watch_causes(query, legacy=legacy) if asked else _list_causes(query):
        raise invalid(LIST_OPTIONS, "", causes)
    chosen = _selection(selectors, resource)
    name = request.info.name
    by_field = chosen.fields if chosen is not None and _single(request) else None
    if by_field is not None and by_field.exact("metadata.name") != name:
        raise bad_request("fieldSelector metadata.name doesn't match requested name")
    version = query.get("resourceVersion", "")
    revision = plain_revision(version) if version else 0
    bookmarks = truthy(query.get("allowWatchBookmarks", "0"))
    initial = query.get("sendInitialEvents")
    stream = initial is not None and truthy(initial)
    state = stream or (initial is None and revision == 0)
    return WatchOptions(
        prefix=resource.key(namespace, name) if _single(request) else resource.prefix(namespace),
        start=None if state or revision == 0 else revision,
        begin_now=not state and revision == 0,
        initial_bookmark=(stream or legacy) and bookmarks,
        not_older_than=revision if stream else 0,
        any_version=version != "",
        bookmarks=bookmarks,
        timeout_s=float(max(timeout, 0)) if timeout else default_timeout_s,
        selection=chosen,
    )


def _from_any_version(query: Mapping[str, str]) -> bool:
    """Whether a watch says neither where it begins nor what it wants first.

    It is as one that asks for its initial events (defaults.go of metainternalversion, with the
    feature WatchList).
    """
    said = "sendInitialEvents" in query or query.get("resourceVersionMatch")
    return not said and query.get("resourceVersion", "") in ("", "0")


def _watch_causes(query: Mapping[str, str], *, legacy: bool) -> list[Cause]:
    """What is wrong with the options of a watch.

    Args:
        query: first value of each parameter.
        legacy: whether it is taken as one that asks for its initial events.
    """
    initial = query.get("sendInitialEvents")
    match = "NotOlderThan" if legacy else query.get("resourceVersionMatch", "")
    causes: list[Cause] = []
    if initial is not None and match != "NotOlderThan":
        text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        causes.append(_forbidden("resourceVersionMatch", text))
    if match:
        if initial is None and not legacy:
            causes.append(
                _forbidden_match("is forbidden for watch unless sendInitialEvents is provided")
            )
        if match != "NotOlderThan":
            causes.append(_unsupported_match(match, '"NotOlderThan"'))
        if query.get("continue"):
            causes.append(_forbidden_match("is forbidden when continue is provided"))
    return causes


def _single(request: Request) -> bool:
    """Whether the deprecated ``/watch/`` path names one object."""
    info = request.info
    return len(info.parts) > 1 and bool(info.name)


def write_options(request: Request, kind: str) -> WriteOptions:
    """Options of a create, update or patch.

    Args:
        request: the request.
        kind: kind of its options, such as ``CreateOptions``, for messages.

    Raises:
        ApiError: 422.
    """
    return request.write_options or _write_options(request, kind, [])


def _write_options(request: Request, kind: str, causes: list[Cause]) -> WriteOptions:
    """Options of a write, given what else is wrong with them."""
    query = request.query
    manager = query.get("fieldManager", "")
    if not query and not causes:
        manager = default_manager(request)
        return WriteOptions(
            user=request.user,
            field_manager=manager,
            warn=request.warn,
            annotations=request.annotations,
            body_annotations=request.body_annotations,
        )
    causes += validate_field_manager(manager, "fieldManager")
    dry = []
    if "dryRun" in query:
        dry = request.query_list("dryRun")
        causes += dry_run_causes(dry)
    validation = query.get("fieldValidation", "")
    if validation not in FIELD_VALIDATION:
        supported = ", ".join(f'"{value}"' for value in FIELD_VALIDATION)
        causes.append(
            Cause(
                "FieldValueNotSupported",
                f'Unsupported value: "{validation}": supported values: {supported}',
                "fieldValidation",
            )
        )
    if causes:
        raise invalid(GroupKind("meta.k8s.io", kind), "", causes)
    given = {"dryRun": dry, "fieldManager": manager, "fieldValidation": validation}
    # A write reads them before its body, and again when it has come.
    request.write_options = chosen = WriteOptions(
        user=request.user,
        dry_run=bool(dry),
        field_manager=manager or default_manager(request),
        warn=request.warn,
        options={name: value for name, value in given.items() if value},
        annotations=request.annotations,
        body_annotations=request.body_annotations,
    )
    return chosen


def patch_options(request: Request) -> WriteOptions:
    """Options of a patch: apply needs a manager, and only apply can be forced.

    Raises:
        ApiError: 422.
    """
    if request.write_options is not None:
        return request.write_options
    query = request.query
    causes = []
    if request.patch_type in APPLIES:
        if not query.get("fieldManager"):
            text = "Required value: is required for apply patch"
            causes.append(Cause("FieldValueRequired", text, "fieldManager"))
    elif "force" in query:
        causes.append(_forbidden("force", "may not be specified for non-apply patch"))
    return _write_options(request, "PatchOptions", causes)


def default_manager(request: Request) -> str:
    """Field manager of a client that names none: the program that its user agent names."""
    agent = request.headers.get(b"user-agent", b"")
    return _remembered_name(agent) if len(agent) <= REMEMBERED_BYTES else _program_name(agent)


def _program_name(agent: bytes) -> str:
    """The printable characters in front of the first slash, as many as a manager may have."""
    name, size = "", 0
    # As Go reads UTF-8: each byte that is none of it is one replacement character.
    text = agent.partition(b"/")[0].decode("utf-8", "surrogateescape")
    for char in _no_utf8.sub("\ufffd", text):
        if not char.isprintable():
            continue
        size += len(char.encode())
        if size > MANAGER_BYTES:
            break
        name += char
    return name


_remembered_name = counted(lru_cache(256)(_program_name))
_no_utf8 = re.compile("[\udc80-\udcff]")


def delete_query(request: Request) -> Object:
    """DeleteOptions made from the query, used when there is no body.

    Raises:
        ApiError: 400 for malformed numbers.
    """
    query = request.query
    raw: Object = {}
    if "gracePeriodSeconds" in query:
        raw["gracePeriodSeconds"] = integer(query["gracePeriodSeconds"])
    if "propagationPolicy" in query:
        raw["propagationPolicy"] = query["propagationPolicy"]
    if "orphanDependents" in query:
        raw["orphanDependents"] = truthy(query["orphanDependents"])
    if IGNORE_READ_ERROR in query:
        raw[IGNORE_READ_ERROR] = truthy(query[IGNORE_READ_ERROR])
    named = {name: query[name] for name in ("uid", "resourceVersion") if query.get(name)}
    if named:
        raw["preconditions"] = named
    dry = request.query_list("dryRun")
    if dry:
        raw["dryRun"] = dry
    return raw
