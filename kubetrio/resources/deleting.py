"""Steps of a deletion; what it does to an object is decided in `deletion`.

Source: docs "Finalizers", "Garbage collection".
"""

from __future__ import annotations

from collections.abc import Awaitable

from kubetrio.admission.attributes import Operation
from kubetrio.machinery.status import not_found
from kubetrio.resources import deletion, objects
from kubetrio.resources.deciding import attributes_of
from kubetrio.resources.storing import in_hub
from kubetrio.resources.write import Write


async def read_deleted(write: Write) -> bool:
    """Read the object that is to go.

    A status that is written to an object between its mark and its removal removes it too; another
    object may have its name by then.

    Returns:
        Whether it is there; where it is not, another writer removed what this one had marked.

    Raises:
        ApiError: 404.

    Source: k8s.io/apiserver/pkg/registry/generic/registry (``Store.Delete``, ``ignoreNotFound``).
    """
    kind, target = write.kind, write.target
    current = await write.parts.store.get(target.key)
    if current is None:
        if write.doomed:
            return False
        raise not_found(kind.group_resource, target.name)
    stored = objects.read(kind, current.value)
    if write.doomed and stored["metadata"].get("uid") != write.doomed:
        return False
    write.current, write.stored = current, stored
    return True


def check(write: Write) -> None:
    """Refuse to delete another object than the one meant, before admission is asked about it.

    Raises:
        ApiError: 409.
    """
    deletion.check_preconditions(write.kind, write.stored, write.deletion)


async def ask(write: Write) -> None:
    """Ask admission, unless it was asked about what led to the deletion.

    Raises:
        ApiError: the first refusal; the object cannot be converted.
    """
    options, parts = write.options, write.parts
    old = await in_hub(write.kind, write.stored, options.work)
    target = write.target._replace(subresource="")
    attributes = attributes_of(
        Operation.DELETE, target, options, new=None, old=old, name=target.name
    )
    await parts.admission.mutate(attributes)
    await parts.admission.validate(attributes)


def plan(write: Write) -> Awaitable[None] | None:
    """Decide whether the object goes, waits for its finalizers, or is on its way already."""
    kind = write.kind
    write.outcome, write.obj = deletion.plan(
        kind, write.stored, kind.strategy, write.deletion, write.parts.env.now()
    )
    return None
