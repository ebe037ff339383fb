"""Where and in which version kube-apiserver stores kinds, held against what this server does.

Source: test/integration/etcd/data.go of a Kubernetes tree, by which upstream tests the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kubetrio.kinds.builtin import registry
from kubetrio.storagevalues.table import folders

FILE = "test/integration/etcd/data.go"
_ENTRY = re.compile(
    r'gvr\("([^"]*)", "(\w+)", "(\w+)"\): \{(.*?)^\t\t\},', re.MULTILINE | re.DOTALL
)
_PATH = re.compile(r'ExpectedEtcdPath:\s*"([^"]*)"( \+ namespace \+ )?')
_KIND = re.compile(r'ExpectedGVK:\s*gvkP\("([^"]*)", "(\w+)", "(\w+)"\)')


class Stored(NamedTuple):
    """Where a resource is stored.

    Args:
        folder: its folder, ``/registry/minions/``.
        api_version: in which version.
    """

    folder: str
    api_version: str


def published(text: str) -> dict[tuple[str, str, str], Stored]:
    """Read what upstream expects, by group, version and resource of a request.

    Args:
        text: the file.
    """
    found = {}
    for group, version, resource, body in _ENTRY.findall(text):
        path = _PATH.search(body)
        if path is None:
            continue
        kind = _KIND.search(body)
        stored = kind.groups()[:2] if kind else (group, version)
        folder = path[1] if path[2] else path[1].rpartition("/")[0] + "/"
        found[group, version, resource] = Stored(folder, "/".join(filter(None, stored)))
    return found


def check(tree: Path) -> Iterator[str]:
    """Compare; yields a line for each difference.

    Args:
        tree: root of a Kubernetes checkout.

    Raises:
        FileNotFoundError: it is no Kubernetes tree.
        ValueError: the file is not what it was up to now.
    """
    upstream = published((tree / FILE).read_text(encoding="utf-8"))
    if not upstream:
        raise ValueError(f"{FILE}: no entries")
    ours = folders(registry().resources.values())
    seen = set()
    for key, kind in registry().resources.items():
        expected = upstream.get(key)
        if expected is None or kind.serves:
            continue
        folder = ours.get(kind.storage_prefix)
        found = Stored(kind.storage_prefix, folder.api_version if folder else "")
        seen.add(kind.storage_prefix)
        if found != expected:
            yield f"{'/'.join(key)}: {found}, not {expected}"
    yield from (f"{prefix}: not in {FILE}" for prefix in ours if prefix not in seen)
