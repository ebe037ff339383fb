"""Which serving certificate a client is shown, by the name it asks for.

A name finds, in this order: what ``--tls-sni-cert-key`` says of it, exactly; the same of its
wildcard, an asterisk for the first label; the default certificate if that is for the name; the
first of the others that is; the default one.  Names given with a flag go before those found in a
certificate, and earlier flags before later ones.

Source: Go's ``tls.Config.getCertificate`` with ``NameToCertificate``; kube-apiserver's
``BuildNamedCertificates``; RFC 6066, 3; RFC 6125, 6.4.3 for wildcards in certificates.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kubetrio.config.sni import NamedPair
from kubetrio.tls.certificates import names_in

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MOST_NAME = 253


@dataclass(frozen=True, slots=True)
class Names:
    """Names of a certificate.

    Args:
        common: the common name of its subject, or empty.
        dns: its DNS names; addresses among them are for no client.
    """

    common: str
    dns: tuple[str, ...]

    def extracted(self) -> tuple[str, ...]:
        """Names that it is for when no flag says so; addresses are left out."""
        bare = self.common.removeprefix("*.")
        good = self.common == "*" or (len(bare) <= _MOST_NAME and _SUBDOMAIN.fullmatch(bare))
        names = tuple(name for name in self.dns if not _is_address(name))
        return (self.common, *names) if good and not _is_address(self.common) else names

    def cover(self, name: str) -> bool:
        """Whether a client that asked for a name would be content with it."""
        return any(_covers(pattern.lower().rstrip("."), name) for pattern in self.dns)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _covers(pattern: str, name: str) -> bool:
    first, dot, rest = pattern.partition(".")
    if first != "*":
        return pattern == name
    label, also, parent = name.partition(".")
    return bool(dot and also and label) and rest == parent


class NameTable:
    """Finds the certificate for a name.

    Args:
        default: names of the default certificate.
        others: names of the others, each with those that were given for it.
    """

    def __init__(self, default: Names, others: Sequence[tuple[Names, tuple[str, ...]]]) -> None:
        self._default = default
        self._others = [names for names, _ in others]
        extracted: dict[str, int] = {}
        explicit: dict[str, int] = {}
        for at in reversed(range(len(others))):
            names, given = others[at]
            explicit.update(dict.fromkeys(given, at))
            if not given:
                extracted.update(dict.fromkeys(names.extracted(), at))
        self._named: Mapping[str, int] = {**extracted, **explicit}

    @classmethod
    def of(cls, default: Path, pairs: Sequence[NamedPair]) -> NameTable:
        """The table of some files.  Imports ``cryptography``.

        Raises:
            OSError: a file cannot be read.
            ValueError: one holds no certificate.
        """
        others = [(names_of_file(pair.cert), pair.names) for pair in pairs]
        return cls(names_of_file(default), others)

    def find(self, name: str) -> int | None:
        """Which of the others a name is for, None for the default one."""
        name = name.lower().rstrip(".")
        at = self._named.get(name)
        if at is None:
            at = self._named.get(f"*.{name.partition('.')[2]}" if "." in name else "*")
        if at is not None or self._default.cover(name):
            return at
        return next((at for at, names in enumerate(self._others) if names.cover(name)), None)

    def at_address(self, address: str) -> int | None:
        """Certificate for a client that named no server, by the address it connected to."""
        return self._named.get(address)


def names_of_file(path: Path) -> Names:
    """The names of the first certificate in a PEM file.

    Raises:
        OSError: it cannot be read.
        ValueError: it holds none.
    """
    common, names = names_in(path.read_bytes())
    return Names(common, tuple(sorted(names)))
