"""Keys of the store, and those of etcd.

The store's keys are those that kube-apiserver has with its default prefix, so a key differs by the
prefix alone (``--etcd-prefix``).  The server's own keys (``/kubetrio/``) are put into the prefix,
where nothing else can be: a group of custom resources has a dot in its name.

| of the store | in etcd |
| --- | --- |
| ``/registry/pods/default/p`` | ``<prefix>/pods/default/p`` |
| ``/registry/example.com/widgets/default/w`` | ``<prefix>/example.com/widgets/default/w`` |
| ``/kubetrio/encrypted`` | ``<prefix>/kubetrio/encrypted`` |

What kube-apiservers have in the prefix beside objects is no key of the store (`OTHERS`).

Source: kubernetes/pkg/kubeapiserver/default_storage_factory_builder.go (folders),
pkg/registry/core/rest/storage_core.go (ranges), pkg/controlplane/instance.go (leases of servers),
k8s.io/apiserver/pkg/storage/etcd3/compact.go, pkg/storage/storagebackend/factory/etcd3.go (health).
"""

from __future__ import annotations

from typing import Final, Protocol

from kubetrio.store.model import Range

OBJECTS: Final = "/registry/"
OWN: Final = "/kubetrio/"
DEFAULT_PREFIX: Final = "/registry"

COMPACT_REVISION: Final = b"compact_rev_key"
"""Where servers that share an etcd say up to which revision it is compacted; in no prefix."""
SERVICE_IPS: Final = "ranges/serviceips"
SECONDARY_SERVICE_IPS: Final = "ranges/secondaryserviceips"
NODE_PORTS: Final = "ranges/servicenodeports"
PEERS: Final = "peerserverleases/"
HEALTH: Final = "health"
OTHERS: Final = (SERVICE_IPS, SECONDARY_SERVICE_IPS, HEALTH)
"""Keys of the prefix that hold no objects of the API, without the prefix."""
OTHER_FOLDERS: Final = (PEERS,)
"""Folders of such keys."""


class Keys(Protocol):
    """Maps keys of the store to keys of etcd; both have one order."""

    @property
    def everything(self) -> tuple[bytes, bytes]:
        """First key of etcd, and the end of the range of all of them."""
        ...

    def to_etcd(self, key: str) -> bytes:
        """Etcd's key for one of the store."""
        ...

    def from_etcd(self, key: bytes) -> str | None:
        """The store's key, None for what is none of its."""
        ...

    def range_of(self, keys: Range) -> tuple[bytes, bytes]:
        """Start and end in etcd of a range of the store."""
        ...


class Layout:
    """Keys under one prefix of etcd.

    Args:
        prefix: as the flag has it; slashes around it do not count.

    Raises:
        ValueError: the prefix is empty.
    """

    def __init__(self, prefix: str = DEFAULT_PREFIX) -> None:
        names = [name for name in prefix.split("/") if name not in ("", ".")]
        if not names:
            raise ValueError("--etcd-prefix: it is empty")
        self.prefix = "/" + "/".join(names)
        self._begin = f"{self.prefix}/".encode()
        self._own = f"{self.prefix}{OWN}".encode()
        self._others = frozenset(self.other(name) for name in OTHERS)
        self._other_folders = tuple(self.other(name) for name in OTHER_FOLDERS)

    @property
    def everything(self) -> tuple[bytes, bytes]:
        """First key of the prefix, and the end of its range."""
        return self._begin, self._begin[:-1] + b"0"

    def to_etcd(self, key: str) -> bytes:
        """Return etcd's key for one of the store, or for the end of a range.

        Raises:
            ValueError: it is neither of an object nor of the server's own.
        """
        if key.startswith(OBJECTS) or key == _END:
            return f"{self.prefix}{key[len(OBJECTS) - 1 :]}".encode()
        if key.startswith(OWN) or key == _OWN_END:
            return f"{self.prefix}{key}".encode()
        raise ValueError(f"{key} is in no folder of etcd")

    def from_etcd(self, key: bytes) -> str | None:
        """Return the store's key, None for what is none of its.

        Keys that are not UTF-8 are none: another program wrote them, since names of objects are
        ASCII.
        """
        if not key.startswith(self._begin):
            return None
        if key in self._others or key.startswith(self._other_folders):
            return None
        try:
            name = key[len(self._begin) :].decode()
        except UnicodeDecodeError:
            return None
        return f"/{name}" if key.startswith(self._own) else OBJECTS + name

    def range_of(self, keys: Range) -> tuple[bytes, bytes]:
        """Return start and end in etcd of a range of the store, which is in one of its folders."""
        return self.to_etcd(keys.start), self.to_etcd(keys.end)

    def other(self, name: str) -> bytes:
        """Return the key of something that is no object (`OTHERS`, `OTHER_FOLDERS`)."""
        return f"{self.prefix}/{name}".encode()


_END: Final = OBJECTS[:-1] + "0"
_OWN_END: Final = OWN[:-1] + "0"
