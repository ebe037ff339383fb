"""A server of this project beside others, as `kubetrio.testing.kubeapiserver.ask` takes it."""

from __future__ import annotations

import ssl
from http.client import HTTPConnection, HTTPSConnection
from typing import NamedTuple

from kubetrio.testing.process import ServerProcess


class Own(NamedTuple):
    """A server of this project, asked as its administrator.

    Args:
        process: the server.
    """

    process: ServerProcess

    @property
    def headers(self) -> dict[str, str]:
        """No headers: the certificate says who asks."""
        return {}

    def connection(self) -> HTTPConnection:
        """Return a connection to it."""
        made = self.process.data_dir / "pki"
        context = ssl.create_default_context(cafile=str(made / "ca.crt"))
        context.load_cert_chain(made / "admin.crt", made / "admin.key")
        return HTTPSConnection("127.0.0.1", self.process.port, timeout=60, context=context)
