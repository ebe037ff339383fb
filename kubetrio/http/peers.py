"""Who is at the other end of a connection without TLS: what the system says, or where it is.

Source: unix(7), ``SO_PEERCRED``; the insecure port that kube-apiserver had until 1.19, whose user
was ``system:unsecured``.
"""

from __future__ import annotations

import os
import socket
import struct
from ipaddress import ip_address

from kubetrio.api.pipeline import Handle
from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse
from kubetrio.machinery.identity import MASTERS, UserInfo, authenticated

UNSECURED = authenticated(UserInfo("system:unsecured", groups=(MASTERS,)))
UNIX_GROUP = "system:unix"
_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid
_ROOT = 0


def user_of_peer(sock: socket.socket) -> UserInfo | None:
    """The user at the other end of a Unix socket; None where the system cannot tell."""
    option = getattr(socket, "SO_PEERCRED", None)  # Linux
    if option is None:
        return None
    _, uid, gid = _CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))
    groups: tuple[str, ...] = (UNIX_GROUP, f"{UNIX_GROUP}:gid:{gid}")
    if uid in (_ROOT, os.geteuid()):
        groups = (MASTERS, *groups)
    return authenticated(UserInfo(f"{UNIX_GROUP}:{uid}", groups=groups))


def anybody_here(_: socket.socket) -> UserInfo:
    """Every client of the plain port is an administrator."""
    return UNSECURED


def without_browsers(handle: Handle) -> Handle:
    """A pipeline for which requests that a page in a browser may have made are anonymous.

    A page of any site can have a browser ask servers on its machine: it then sends an ``Origin``,
    or, where the site's name was pointed to this machine (DNS rebinding), the name as ``Host``.
    """

    async def handled(request: Request) -> AnyResponse:
        if request.certificate is UNSECURED and (
            b"origin" in request.headers or not _is_loopback(request.headers.get(b"host", b""))
        ):
            request.certificate = None
        return await handle(request)

    return handled


def _is_loopback(host: bytes) -> bool:
    name = host.decode("latin-1").lower()
    name = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
