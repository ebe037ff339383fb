"""The in-process client: what a client does, without sockets."""

from kubetrio.client.client import LOOPBACK, Client, Event, Events

__all__ = ["LOOPBACK", "Client", "Event", "Events"]
