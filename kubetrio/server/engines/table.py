"""The table of storage engines: a name, and the function that is loaded when a server opens it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

from kubetrio.config import Config
from kubetrio.env import Env
from kubetrio.store.model import Store

if TYPE_CHECKING:
    from kubetrio.encryption.control import Encryption

Open = Callable[[Config, Env], AbstractAsyncContextManager[Store]]
OpenEncrypted = Callable[[Config, Env, "Encryption"], AbstractAsyncContextManager[Store]]


class UnknownEngine(Exception):
    """A configuration names an engine that has no row; the text says which."""


class Engine(NamedTuple):
    """A storage engine.

    Args:
        opens: path of the module and function that opens a store for as long as a block lasts.
        flag: field of `Config.storage` that chooses the engine too; empty for none.
        encrypts: path of what opens a store that encrypts by itself; empty where a store that
            encrypts can stand in front of the engine, because it stores the bytes it is given.
    """

    opens: str
    flag: str = ""
    encrypts: str = ""

    @property
    def open(self) -> Open:
        """Opens a store; loads its module.

        Raises:
            ImportError: there is no such module.
            AttributeError: the module has no such function.
        """
        return cast("Open", _loaded(self.opens))

    @property
    def open_encrypted(self) -> OpenEncrypted | None:
        """Opens a store that encrypts by itself, None for others; loads its module.

        Raises:
            ImportError: there is no such module.
            AttributeError: the module has no such function.
        """
        return cast("OpenEncrypted", _loaded(self.encrypts)) if self.encrypts else None


def _loaded(path: str) -> object:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


DEFAULT = "sqlite"
KUBERNETES_NAME = "etcd3"
"""The only name that kube-apiserver knows; scripts give it whatever stores the objects."""
TABLE: Mapping[str, Engine] = {
    "memory": Engine("kubetrio.server.engines.memory.opened", flag="in_memory"),
    KUBERNETES_NAME: Engine(
        "kubetrio.server.engines.etcd.opened",
        flag="etcd_servers",
        encrypts="kubetrio.server.engines.etcd.opened_encrypted",
    ),
    DEFAULT: Engine("kubetrio.server.engines.sqlite.opened"),
}


def chosen(config: Config) -> Engine:
    """Return the engine that a configuration asks for: by name, by its flag, or the default.

    Args:
        config: of the server.

    Raises:
        UnknownEngine: there is no engine of that name, or two flags choose two.
    """
    named = "" if config.storage.backend == KUBERNETES_NAME else config.storage.backend
    flagged = [
        name for name, row in TABLE.items() if row.flag and getattr(config.storage, row.flag)
    ]
    if named and named not in TABLE:
        known = ", ".join(sorted(TABLE))
        raise UnknownEngine(f"--storage-backend: {named!r} is none of {known}")
    names = dict.fromkeys([*([named] if named else []), *flagged])
    if len(names) > 1:
        raise UnknownEngine(f"--storage-backend: {' and '.join(names)} cannot be used together")
    return TABLE[next(iter(names), DEFAULT)]
