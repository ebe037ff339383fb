"""What a server trusts and is trusted by, as its controllers need it: authorities, keys, opinions.

`server` knows the files; who embeds a pipeline without one has none of this, and controllers that
need it leave their work undone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from kubetrio.auth.issuing import TokenIssuer
from kubetrio.machinery.asking import Authorize
from kubetrio.machinery.identity import Attributes, Decision, Verdict
from kubetrio.runtime.groups import call_all


class RootBundle:
    """Authorities that verify what clients of this server are shown, as they are now.

    Args:
        pem: certificates; empty when they are not known.
    """

    def __init__(self, pem: str = "") -> None:
        self.pem = pem
        self._listeners: list[Callable[[], None]] = []

    def listen(self, changed: Callable[[], None]) -> None:
        """Have a function called whenever they are other ones; it must return at once."""
        self._listeners.append(changed)

    def set(self, pem: str) -> None:
        """Note what they are now."""
        if pem != self.pem:
            self.pem = pem
            call_all(self._listeners)


class SigningPair(NamedTuple):
    """The authority that signs what is asked for by certificate signing requests.

    Args:
        cert: its certificate, a PEM file.
        key: its key, a PEM file; it need not be there.
    """

    cert: Path
    key: Path


def nobody_may(_: Attributes) -> Verdict:
    """What authorizers say where there are none."""
    return Verdict(Decision.NO_OPINION)


class ClusterAuthorities(NamedTuple):
    """All of it, for one server.

    Args:
        root: shown to clients, to verify the server.
        authorize: asks the server's authorizers.
        issuer: signs tokens of service accounts; None without a key.
        signing: the authority of certificates; None without one that the server believes itself.
    """

    root: RootBundle
    authorize: Authorize = nobody_may
    issuer: TokenIssuer | None = None
    signing: SigningPair | None = None
