"""In which version and encoding kube-apiserver stores what is in a folder of the store.

Source: facts in ``schemas``; kubernetes/pkg/kubeapiserver/default_storage_factory_builder.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from kubetrio.schema.kind import Kind

# Stored in an older version than the newest, so that the release before can read them.
STORED_VERSIONS: Final[Mapping[tuple[str, str], str]] = {
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"): "v1beta1",
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"): "v1beta1",
    ("apiextensions.k8s.io", "customresourcedefinitions"): "v1beta1",
}
# Their servers have an encoder of their own, which writes JSON whatever the flags say.
JSON_GROUPS: Final = frozenset({"apiextensions.k8s.io", "apiregistration.k8s.io"})


@dataclass(frozen=True, slots=True)
class Folder:
    """What a folder holds.

    Args:
        kind: the kind, in the version that this server's store has.
        api_version: group and version that etcd has.
        json: whether etcd has it as JSON, whatever the flags say.
    """

    kind: Kind
    api_version: str
    json: bool


def folders(kinds: Iterable[Kind]) -> Mapping[str, Folder]:
    """Return what folders of built-in kinds hold, by prefix (``/registry/minions/``).

    Args:
        kinds: of a registry; those that are not built in are left out, and are JSON.
    """
    found: dict[str, Folder] = {}
    for kind in kinds:
        stored_here = kind.builtin and kind.storage_prefix and not kind.serves
        if stored_here and kind.storage_prefix not in found:
            stored = kind.stored
            older = STORED_VERSIONS.get((stored.group, stored.resource))
            api_version = stored.api_version if older is None else f"{stored.group}/{older}"
            found[kind.storage_prefix] = Folder(stored, api_version, stored.group in JSON_GROUPS)
    return found
