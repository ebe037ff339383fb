"""The in-process client: what a client does, without sockets."""

from kubetrio.client.client import LOOPBACK, Client, Event, Events, WrongThreadError

__all__ = ["LOOPBACK", "Client", "Event", "Events", "WrongThreadError"]
