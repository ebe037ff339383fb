"""Defaults of apiextensions.k8s.io."""

from __future__ import annotations

from kubetrio.kinds.common.defaulting import (
    WEBHOOK_SERVICE,
    Call,
    Default,
    Json,
    Rules,
    within,
)


def default_names(names: Json) -> None:
    """Singular and list names follow from the kind."""
    kind = names.get("kind") or ""
    if not names.get("singular"):
        names["singular"] = kind.lower()
    if kind and not names.get("listKind"):
        names["listKind"] = f"{kind}List"
    if not names["singular"]:
        del names["singular"]


def default_stored_versions(definition: Json) -> None:
    """Objects of a definition that knows of none are stored in its storage version."""
    status = definition.get("status") or {}
    if status.get("storedVersions"):
        return
    for version in (definition.get("spec") or {}).get("versions") or ():
        if version.get("storage"):
            stored = [version.get("name") or ""]
            definition["status"] = {**status, "storedVersions": stored}
            return


CUSTOMRESOURCEDEFINITIONS: Rules = (
    within(
        "spec",
        Default("conversion", {"strategy": "None"}),
        within("names", Call(default_names)),
        within("conversion.webhook.clientConfig", WEBHOOK_SERVICE),
    ),
    Call(default_stored_versions, grows=("status",)),
)
