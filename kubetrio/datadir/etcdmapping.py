"""The mapping between objects of the store and those that kube-apiserver has in etcd."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import kubetrio
from kubetrio.kinds.builtin import registry
from kubetrio.resources.objects import restamp
from kubetrio.storagevalues.table import folders
from kubetrio.storagevalues.values import EtcdValues, MediaType
from kubetrio.store.cipher import Cipher
from kubetrio.store.etcd.keeping import CopySettings
from kubetrio.store.etcd.layout import Layout
from kubetrio.store.etcd.mapping import Mapping
from kubetrio.store.remote import TABLE_NAME

SECRETS = "/registry/secrets/"
CONVERTING = ("kinds", "machinery", "resources", "schema", "storagevalues", "wire", "_schemas")
"""Folders of the package that say how values are converted."""


def kept_table(
    directory: Path, prefix: str, media_type: str, package: Path = Path(kubetrio.__file__).parent
) -> CopySettings:
    """Return where a replica keeps its table; the values of Secrets are never in it.

    Args:
        directory: the data directory.
        prefix: of keys in etcd.
        media_type: how built-in kinds are written, which says which values are stale.
        package: folder of the code.
    """
    return CopySettings(
        path=directory / TABLE_NAME,
        identity={
            "kubetrio": kubetrio.__version__,
            "code": _code(package),
            "prefix": Layout(prefix).prefix,
            "media": media_type,
        },
        leaves_out=lambda key: key.startswith(SECRETS),
    )


def _code(package: Path) -> str:
    """Identify the code that converts values, also between releases; empty in a single file."""
    digest = sha256()
    schemas = package.parent / "schemas"  # of a checkout
    for folder in (*(package / name for name in CONVERTING), schemas):
        for path in sorted(folder.rglob("*.*")):
            if path.suffix != ".pyc":
                numbers = path.stat()
                digest.update(f"{path.name} {numbers.st_size} {numbers.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16] if (package / CONVERTING[0]).is_dir() else ""


def object_mapping(prefix: str, media_type: str, cipher: Cipher) -> Mapping:
    """Return the mapping of objects.

    Args:
        prefix: of keys (``--etcd-prefix``).
        media_type: how built-in kinds are written (``--storage-media-type``).
        cipher: encrypts values.

    Raises:
        ValueError: the prefix is empty, or the media type is unknown.
    """
    kinds = registry()
    held = folders(kinds.resources.values())
    return Mapping(
        keys=Layout(prefix),
        values=EtcdValues(held, lambda: kinds, MediaType(media_type)),
        reopen=restamp,
        cipher=cipher,
    )
