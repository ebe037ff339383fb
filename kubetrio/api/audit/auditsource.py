"""Where a request comes from, as the audit log tells it.

All but the last address can be anything: clients and proxies say them.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from typing import NamedTuple

from kubetrio.api.request import Request
from kubetrio.machinery.remember import counted
from kubetrio.wire.jsonwire import encode

AGENT_BYTES = 1024
CUT = "...TRUNCATED"


class Source(NamedTuple):
    """Where a request comes from.

    Args:
        json: as it stands in events.
        ip: the first address, empty for none.
        agent: what the client calls itself.
    """

    json: bytes
    ip: str
    agent: str


def source_of(request: Request) -> Source:
    """Where a request comes from: what proxies say, and who is at the other end."""
    headers = request.headers
    agent = headers.get(b"user-agent", b"")
    forwarded = real = b""
    if b"x-forwarded-for" in headers:
        forwarded = _first(request, b"x-forwarded-for")
    if b"x-real-ip" in headers:
        real = _first(request, b"x-real-ip")
    if len(agent) + len(forwarded) + len(real) > AGENT_BYTES:  # a client chooses them
        return _source(agent, forwarded, real, request.peer)
    return _known_source(agent, forwarded, real, request.peer)


def _first(request: Request, name: bytes) -> bytes:
    return next((value for key, value in request.raw_headers if key == name), b"")


def _source(agent: bytes, forwarded: bytes, real: bytes, peer: str) -> Source:
    ips: list[str] = []
    for part in forwarded.decode("latin-1").split(",") if forwarded else ():
        ip = _ip(part.strip())
        if ip:
            ips.append(ip)
    ip = _ip(real.decode("latin-1"))
    if ip and ip not in ips:
        ips.append(ip)
    ip = _ip(peer)
    if ip and (not ips or ips[-1] != ip):
        ips.append(ip)
    shown = agent if len(agent) <= AGENT_BYTES else agent[:AGENT_BYTES] + CUT.encode()
    text = shown.decode("utf-8", "replace")
    json = b',"sourceIPs":' + encode(ips) if ips else b""
    if text:
        json += b',"userAgent":' + encode(text)
    return Source(json, ips[0] if ips else "", text)


_known_source = counted(lru_cache(512)(_source))


def _ip(text: str) -> str:
    """An address as Go shows it, zeros in front of a number aside; empty if it is none."""
    if "." in text and ":" not in text:
        text = ".".join(part.lstrip("0") or part[:1] for part in text.split("."))
    try:
        ip = ipaddress.ip_address(text)
    except ValueError:
        return ""
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.scope_id is not None:
            return ""
        if ip.ipv4_mapped is not None:
            return str(ip.ipv4_mapped)
    return str(ip)
