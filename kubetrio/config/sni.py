"""The value of ``--tls-sni-cert-key``: a certificate, its key, and the names it is for."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from kubetrio.config.kinds import Kind


class NamedPair(NamedTuple):
    """A serving certificate for some names.

    Args:
        cert: PEM file of the certificate and those that it needs.
        key: PEM file of its key.
        names: host names, with ``*`` for the first label perhaps, and addresses; those of the
            certificate when empty.
    """

    cert: Path
    key: Path
    names: tuple[str, ...] = ()


def named_pair(text: str) -> NamedPair:
    """What ``cert,key`` or ``cert,key:name,name`` means.

    Raises:
        ValueError: it is neither, in kube-apiserver's words.
    """
    files, colon, rest = text.partition(":")
    names: tuple[str, ...] = ()
    if colon:
        if not rest.strip():
            raise ValueError("empty names list is not allowed")
        names = tuple(name.strip() for name in rest.strip().split(","))
    parts = files.strip().split(",")
    if len(parts) != 2:
        raise ValueError("expected comma separated certificate and key file paths")
    return NamedPair(Path(parts[0].strip()), Path(parts[1].strip()), names)


def _shown(pair: NamedPair) -> str:
    return f"{pair.cert},{pair.key}" + (f":{','.join(pair.names)}" if pair.names else "")


def _are_pairs(value: object) -> str:
    fits = isinstance(value, tuple) and all(isinstance(one, NamedPair) for one in value)
    return "" if fits else "is no tuple of kubetrio.config.sni.NamedPair"


SNI_PAIRS = Kind(
    placeholder="CERT,KEY[:NAME,...]",
    parse=named_pair,
    check=_are_pairs,
    show=lambda pairs: ";".join(map(_shown, pairs)),
    repeated=True,
)
