"""Takes a Deployment back to an older revision, as an annotation asks (``rollbackTo`` of old).

Source: k8s.io/kubernetes/pkg/controller/deployment (``rollback.go``).
"""

from __future__ import annotations

from typing import Any

from kubetrio.controllers.deployment.annotations import (
    ROLLBACK_TO,
    annotations_of,
    last_revision,
    revision,
    rolled_back,
    with_annotations,
)
from kubetrio.controllers.deployment.progress import Sets
from kubetrio.controllers.deployment.setwriter import SetWriter
from kubetrio.controllers.deployment.templates import same_template, without_hash
from kubetrio.controllers.podcontrol.claims import Controlling
from kubetrio.machinery.fielderrors import quote

Object = dict[str, Any]
NOT_FOUND = "DeploymentRollbackRevisionNotFound"


async def rollback(owner: Controlling, sets: Sets, writer: SetWriter) -> None:
    """Take a Deployment back.

    Args:
        owner: the Deployment, which has the annotation.
        sets: its ReplicaSets.
        writer: writes them.

    Raises:
        ApiError: it cannot be written.
        StoreError: the same.
    """
    # Writes of another text are refused.
    number = int(annotations_of(owner.obj)[ROLLBACK_TO]) or last_revision(sets.all)
    if not number:
        writer.warn(owner, NOT_FOUND, "Unable to find last revision.")
        await writer.change(owner, _without_wish)
        return
    source = next((one for one in sets.all if revision(one) == number), None)
    if source is None:
        writer.warn(owner, NOT_FOUND, "Unable to find the revision to rollback to.")
        await writer.change(owner, _without_wish)
        return
    name = quote(owner.meta["name"])
    if same_template(owner.obj["spec"]["template"], source["spec"]["template"]):
        message = f"The rollback revision contains the same template as current deployment {name}"
        writer.warn(owner, "DeploymentRollbackTemplateUnchanged", message)
        await writer.change(owner, _without_wish)
        return
    target = source

    def back(old: Object) -> Object:
        spec = {**old["spec"], "template": without_hash(target["spec"]["template"])}
        return _without_wish({**with_annotations(old, rolled_back(old, target)), "spec": spec})

    await writer.change(owner, back)
    writer.note(owner, "DeploymentRollback", f"Rolled back deployment {name} to revision {number}")


def _without_wish(old: Object) -> Object:
    kept = {name: text for name, text in annotations_of(old).items() if name != ROLLBACK_TO}
    return with_annotations(old, kept)
