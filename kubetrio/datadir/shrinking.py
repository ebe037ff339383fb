"""Compaction of a data directory that no server uses."""

from kubetrio.store.sqlite.copies import Shrunk, shrink

__all__ = ["Shrunk", "shrink"]
