"""The in-process client: what a client does, without sockets."""

from kubetrio.client.answers import Event, Events, Listed
from kubetrio.client.calling import WrongThreadError
from kubetrio.client.client import LOOPBACK, Client

__all__ = ["LOOPBACK", "Client", "Event", "Events", "Listed", "WrongThreadError"]
