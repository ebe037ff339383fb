"""Request bodies to objects: media types, field validation, delete options."""

from __future__ import annotations

from kubetrio.api.request import Request
from kubetrio.machinery.names import GroupVersionKind
from kubetrio.machinery.status import bad_request
from kubetrio.schema.registry import ResourceType
from kubetrio.schema.structural_scheme import scheme_of
from kubetrio.wire import gojson, jsonwire

WARNING_CODE = b"299 - "


def warning_header(text: str) -> tuple[bytes, bytes]:
    """A ``Warning`` response header (RFC 7234) as kube-apiserver writes it."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return (b"Warning", WARNING_CODE + b'"' + quoted.encode("utf-8", "replace") + b'"')


async def decode_body(request: Request, resource: ResourceType, max_bytes: int) -> None:
    """Read and decode the body of a write into ``request.body``.

    Raises:
        ApiError: 400, 413 or 415.
    """
    body = await request.read_body(max_bytes)
    verb = request.info.verb
    if verb in ("delete", "deletecollection"):
        request.body = _delete_options(body) if body else None
        return
    gvk = resource.group_version_kind
    if request.info.subresource:
        gvk = resource.subresources[request.info.subresource].kind
    decoded = jsonwire.decode_request(body, gvk, scheme_of(resource.group))
    validation = request.query.get("fieldValidation") or "Warn"
    if decoded.strict and validation == "Strict":
        decoded.check_strict()
    if validation == "Warn":
        request.response_headers += [warning_header(text) for text in decoded.strict]
    request.body = decoded.value


DELETE_OPTIONS = frozenset({"DeleteOptions", ""})
OPTIONS_SCHEME = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"


def _delete_options(body: bytes) -> dict[str, object]:
    try:
        parsed = gojson.parse(body)
    except gojson.GoJsonError as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    try:
        said = jsonwire.find_kind(parsed)
    except ValueError as error:
        raise bad_request(str(error)) from None
    if said.kind not in DELETE_OPTIONS:
        version = said.api_version
        raise bad_request(
            f'no kind "{said.kind}" is registered for version "{version}" '
            f'in scheme "{OPTIONS_SCHEME}"'
        )
    gvk = GroupVersionKind("", "v1", "DeleteOptions")
    strict: list[str] = []
    try:
        return scheme_of("").decode(gvk, parsed.value, strict, parsed.repeated)
    except ValueError as error:
        raise bad_request(str(error)) from None
