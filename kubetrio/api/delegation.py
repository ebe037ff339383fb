"""What requests are given to other servers with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import trio

from kubetrio.aggregation.aggregation import Aggregation
from kubetrio.aggregation.routes import Route
from kubetrio.env import Env
from kubetrio.machinery.names import GroupVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegation:
    """What requests are given to other servers with.

    Args:
        aggregation: what other servers serve.
        routes: versions that they serve, as they are now.
        env: threads.
        streams: where shutdown finds tunnels to them.
        request_timeout_s: seconds for everything that is not a watch.
    """

    aggregation: Aggregation
    routes: Mapping[GroupVersion, Route]
    env: Env
    streams: set[trio.CancelScope]
    request_timeout_s: float
