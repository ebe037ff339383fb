"""A kubetrio that serves Widgets to a front proxy: run as a program by tests of aggregation.

Arguments: data directory, port, file with the front proxy's authority, host of its certificate.
"""

from __future__ import annotations

import sys
from pathlib import Path

import trio

from kubetrio.config import Authenticators, Config, Serving
from kubetrio.server import open_server
from kubetrio.server.parts import Parts
from kubetrio.testing.widgets import widgets


async def main(data_dir: str, port: str, front_ca: str, host: str) -> None:
    """Serve until a signal comes."""
    config = Config(
        data_dir=Path(data_dir),
        serving=Serving(secure_port=int(port), extra_hosts=(host,)),
        authenticators=Authenticators(
            requestheader_client_ca_file=Path(front_ca),
            requestheader_allowed_names=("front-proxy-client",),
            requestheader_username_headers=("X-Remote-User",),
            requestheader_group_headers=("X-Remote-Group",),
            requestheader_extra_headers_prefix=("X-Remote-Extra-",),
        ),
    )
    async with open_server(config, parts=Parts(kinds=widgets())) as server:
        print("ready", flush=True)
        await server.until_signal()


if __name__ == "__main__":
    trio.run(main, *sys.argv[1:])
