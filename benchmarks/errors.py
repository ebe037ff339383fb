"""Why a row has no number."""

from __future__ import annotations


class BenchError(Exception):
    """A measurement went wrong: the server did not start, an answer was not the expected one."""


class Unavailable(BenchError):
    """A row makes no sense for this server, for example its start-up when we did not start it."""
