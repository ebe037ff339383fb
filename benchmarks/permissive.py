"""`kubetrio serve` where everybody may do everything, as roles and bindings would let them.

`system:masters` is exempt from flow control, and without roles nobody else may read or write much.
To measure what flow control does to ordinary users, their requests have to get through.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator

import kubetrio.server
from kubetrio import cli
from kubetrio.auth import authorize
from kubetrio.config import Config
from kubetrio.env import Env
from kubetrio.machinery.identity import Attributes, Verdict
from kubetrio.server import Server, open_server


class Everybody:
    """Everybody may do everything."""

    def authorize(self, attributes: Attributes) -> Verdict:
        """Allow."""
        del attributes
        return authorize.ALLOWED


@contextlib.asynccontextmanager
async def open_to_everybody(config: Config, env: Env | None = None) -> AsyncIterator[Server]:
    """The server with another authorizer."""
    async with open_server(config, env) as server:
        server.api.authorizer = authorize.Chain((Everybody(),))
        yield server


if __name__ == "__main__":
    kubetrio.server.open_server = open_to_everybody  # where the command line finds it
    sys.exit(cli.main())
