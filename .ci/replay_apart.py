"""Run a replayer of conversations with each request on a connection of its own.

``python .ci/replay_apart.py REPLAY_PY ARGUMENTS...``

A balancer then gives each request to another server than the one before.  The replayer keeps the
connections of its threads in `Client.conns`; here they are closed in place of that.
"""

from __future__ import annotations

import importlib.util
import sys
from http.client import HTTPConnection
from types import ModuleType


class Closing(dict[int, HTTPConnection]):
    """Closes connections that it should keep."""

    def __setitem__(self, thread: int, connection: HTTPConnection) -> None:
        """Close a connection."""
        del thread
        connection.close()


def loaded(path: str) -> ModuleType:
    """Return the replayer, changed.

    Args:
        path: of its module.
    """
    spec = importlib.util.spec_from_file_location("replay", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is no module of Python")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.Client.__init__

    def changed(self: object, *arguments: object) -> None:
        made(self, *arguments)
        self.conns = Closing()  # type: ignore[attr-defined]

    module.Client.__init__ = changed
    return module


if __name__ == "__main__":
    del sys.argv[0]  # the replayer is then the program
    loaded(sys.argv[0]).main()
