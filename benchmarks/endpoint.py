"""Where a server listens, how to trust it, and a small client for the calls that are not timed."""

from __future__ import annotations

import http.client
import json
import ssl
from dataclasses import dataclass
from typing import Any

from benchmarks.errors import BenchError


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A server to send requests to.

    Args:
        host: name or address, also the name its certificate must carry.
        port: TCP port.
        token: bearer token, empty for none.
        ca_file: PEM file to verify the server with; empty for the system's store.
        verify: False accepts any certificate.
    """

    host: str
    port: int
    token: str = ""
    ca_file: str = ""
    verify: bool = True

    def context(self) -> ssl.SSLContext:
        """A client context that trusts this server."""
        context = ssl.create_default_context(cafile=self.ca_file or None)
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    def headers(self) -> dict[str, str]:
        """Headers of every request."""
        headers = {"Host": f"{self.host}:{self.port}", "Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        return headers

    def call(
        self, method: str, path: str, body: object = None, *, accept: tuple[int, ...] = (200, 201)
    ) -> dict[str, Any]:
        """One untimed request; the JSON answer with its HTTP status under `httpStatus`.

        Raises:
            BenchError: the status is not one of `accept`.
        """
        connection = http.client.HTTPSConnection(
            self.host, self.port, context=self.context(), timeout=120
        )
        try:
            headers = {**self.headers(), "Content-Type": "application/json"}
            connection.request(
                method, path, None if body is None else json.dumps(body).encode(), headers
            )
            response = connection.getresponse()
            payload = response.read()
        finally:
            connection.close()
        if response.status not in accept:
            raise BenchError(f"{method} {path}: {response.status} {payload[:300]!r}")
        answer = json.loads(payload) if payload[:1] == b"{" else {"text": payload.decode()}
        if not isinstance(answer, dict):
            raise BenchError(f"{method} {path}: not a JSON object")
        return {**answer, "httpStatus": response.status}
