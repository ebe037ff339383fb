"""No file of a server process has an encrypted secret in it: neither while it runs nor later."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from kubetrio.testing.process import ServerProcess

Start = Callable[..., ServerProcess]
pytestmark = pytest.mark.e2e

SECRETS = "/api/v1/namespaces/default/secrets"
WORD = b"correct-horse-battery-staple"
WORDS = base64.b64encode(WORD)
FILE = f"""
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - aescbc: {{keys: [{{name: one, secret: {base64.b64encode(b"k" * 32).decode()}}}]}}
  - identity: {{}}
"""


def ask(sock: ssl.SSLSocket, line: str, body: bytes = b"") -> bytes:
    """One request on a connection that ends with it; the whole answer."""
    head = f"{line} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Type: application/json\r\n"
    sock.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    data = b""
    while part := sock.recv(65536):
        data += part
    return data


def files_with(directory: Path, words: bytes) -> list[str]:
    return [
        path.name for path in directory.rglob("*") if path.is_file() and words in path.read_bytes()
    ]


def test_no_secret_is_in_a_file(start_server: Start, tmp_path: Path) -> None:
    """Written, changed and deleted ones, in the database and its log; others are there to find."""
    data, config = tmp_path / "data", tmp_path / "encryption.yaml"
    config.write_text(FILE)
    config.chmod(0o600)
    server = start_server(data, f"--encryption-provider-config={config}")
    with server.connect() as sock:
        body = b'{"metadata":{"name":"one"},"data":{"word":"%b"}}' % WORDS
        assert ask(sock, f"POST {SECRETS}", body).startswith(b"HTTP/1.1 201")
    with server.connect() as sock:
        body = b'{"metadata":{"name":"two"},"stringData":{"word":"%b"}}' % WORD
        assert ask(sock, f"POST {SECRETS}", body).startswith(b"HTTP/1.1 201")
    with server.connect() as sock:
        body = b'{"metadata":{"name":"one"},"data":{"word":"%b"}}' % b"b3BlbiBhbmQgcGxhaW4="
        configmaps = SECRETS.replace("secrets", "configmaps")
        assert ask(sock, f"POST {configmaps}", body).startswith(b"HTTP/1.1 201")
    with server.connect() as sock:
        assert ask(sock, f"DELETE {SECRETS}/two").startswith(b"HTTP/1.1 200")
    with server.connect() as sock:
        assert WORDS in ask(sock, f"GET {SECRETS}/one")
    for running in (True, False):
        assert files_with(data, b"k8s:enc:aescbc:v1:one:")
        assert files_with(data, b"b3BlbiBhbmQgcGxhaW4=")
        assert files_with(data, WORDS) == files_with(data, WORD) == []
        if running:
            server.stop()
    server = start_server(data, f"--encryption-provider-config={config}")
    with server.connect() as sock:
        assert WORDS in ask(sock, f"GET {SECRETS}/one")
