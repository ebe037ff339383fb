"""The server: what runs from start to stop, put together from its parts."""

from kubetrio.server.embedding import Server, open_server
from kubetrio.server.files import StartError
from kubetrio.server.parts import Parts
from kubetrio.server.resetting import ResetError, Snapshot

__all__ = ["Parts", "ResetError", "Server", "Snapshot", "StartError", "open_server"]
