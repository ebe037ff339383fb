"""What writes of apiextensions.k8s.io do beside what their clients say."""

from __future__ import annotations

from kubetrio.kinds.apiextensions.conditions import CLEANUP, with_condition
from kubetrio.schema.rules import Context, Json


def _note_storage_version(definition: Json, stored: list[str]) -> None:
    # with two of them, which is refused, the first one counts
    versions = definition["spec"].get("versions") or ()
    storage = [item.get("name") or "" for item in versions if item.get("storage")][:1]
    missing = [name for name in storage if name not in stored]
    definition["status"] = {**definition["status"], "storedVersions": [*stored, *missing]}


def _drop_empty_webhook(definition: Json) -> None:
    """A webhook about which nothing is said is none: the internal version has no place for it."""
    conversion = definition["spec"].get("conversion") or {}
    webhook = conversion.get("webhook")
    if webhook is not None and all(value is None for value in webhook.values()):
        definition["spec"]["conversion"] = {**conversion}
        del definition["spec"]["conversion"]["webhook"]


def create_definition(definition: Json, _: Context) -> None:
    """Objects are stored in the storage version from the beginning."""
    _drop_empty_webhook(definition)
    _note_storage_version(definition, [])


def update_definition(new: Json, old: Json, _: Context, subresource: str) -> None:
    """A new storage version is noted beside those that may still be stored."""
    if not subresource:
        _drop_empty_webhook(new)
    if not subresource and "status" in new:
        _note_storage_version(new, list((old.get("status") or {}).get("storedVersions") or ()))


def marked_definition(definition: Json, now: str) -> Json:
    """A definition whose deletion begins: its objects go first."""
    meta = dict(definition["metadata"])
    meta["deletionTimestamp"] = now
    finalizers = meta.get("finalizers") or []
    if CLEANUP not in finalizers:
        meta["finalizers"] = [*finalizers, CLEANUP]
    marked = {**definition, "metadata": meta}
    return with_condition(
        marked,
        "Terminating",
        ("True", "InstanceDeletionPending", PENDING),
        now,
    )


PENDING = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
