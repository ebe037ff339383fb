"""The mapping between objects of the store and those that kube-apiserver has in etcd."""

from __future__ import annotations

from kubetrio.kinds.builtin import registry
from kubetrio.resources.objects import restamp
from kubetrio.storagevalues.table import folders
from kubetrio.storagevalues.values import EtcdValues, MediaType
from kubetrio.store.cipher import Cipher
from kubetrio.store.etcd.layout import Layout
from kubetrio.store.etcd.mapping import Mapping


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
