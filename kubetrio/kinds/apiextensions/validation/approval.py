"""Approval of APIs in groups of the Kubernetes community.

Source: "api-approved.kubernetes.io" in the Kubernetes documentation; KEP-1111.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubetrio.gotext.urls import GoURL, GoURLError, parse_url
from kubetrio.kinds.common.checks import Causes, member
from kubetrio.machinery.fielderrors import invalid, required

_APPROVED = "api-approved.kubernetes.io"
_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"


def approval_state(obj: Mapping[str, Any]) -> tuple[str, str]:
    """Whether an API of the community is approved, and what to say when not."""
    annotations = obj["metadata"].get("annotations") or {}
    text = annotations.get(_APPROVED) or ""
    if not text:
        detail = f'protected groups must have approval annotation "{_APPROVED}", {_SEE}'
        return "missing", detail
    if text.startswith("unapproved"):
        return "bypassed", ""
    try:
        parts = parse_url(text)
    except GoURLError:
        parts = GoURL()
    if parts.scheme and parts.host:
        return "approved", ""
    detail = (
        f'protected groups must have approval annotation "{_APPROVED}" with either a URL or a '
        f'reason starting with "unapproved", {_SEE}'
    )
    return "invalid", detail


def check_approval(new: Mapping[str, Any], old: Mapping[str, Any] | None, out: Causes) -> None:
    """Check that an API of the community is approved, unless it was not before either.

    Args:
        new: the definition.
        old: the one that is stored, None for none.
        out: receives causes.
    """
    group = member(new, "spec").get("group") or ""
    if not f".{group}".endswith((".k8s.io", ".kubernetes.io")):
        return
    state, detail = approval_state(new)
    if not detail or (old is not None and approval_state(old)[0] == state):
        return
    path = f"metadata.annotations[{_APPROVED}]"
    if state == "missing":
        out.append(required(path, detail))
    else:
        out.append(invalid(path, new["metadata"]["annotations"][_APPROVED], detail))
