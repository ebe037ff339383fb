"""IP addresses and ranges of them: what is read, what is refused, what is warned about.

Source: RFC 4291, RFC 4632, RFC 5952; KEP-4858 (stricter addresses) for what is refused in new
objects only.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Sequence

from kubetrio.kinds.common.checks import Causes, Check
from kubetrio.machinery.fielderrors import invalid
from kubetrio.machinery.status import Cause

IP_EXAMPLE = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_INTERFACE_EXAMPLE = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
CIDR_EXAMPLE = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def _without_zeros(text: str) -> str:
    """An IPv4 address as Go once read it: leading zeros mean nothing."""
    return ".".join(part.lstrip("0") or "0" for part in text.split("."))


def parse_ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address as kube-apiserver has always read it, or None.

    Args:
        text: IPv4 with or without leading zeros, or IPv6 without a zone.
    """
    if "%" in text:
        return None
    try:
        if ":" not in text:
            if not all(part.isascii() and part.isdigit() for part in text.split(".")):
                return None
            return ipaddress.IPv4Address(_without_zeros(text))
        return ipaddress.IPv6Address(text)
    except ValueError:
        return None


def _has_leading_zeros(text: str) -> bool:
    last = text.rsplit(":", 1)[-1]
    return "." in last and _without_zeros(last) != last


def ip_check(grandfathered: Collection[str] = ()) -> Check:
    """A check of an IP address.

    Args:
        grandfathered: addresses that were stored already and may be written loosely.
    """

    def check(value: str, path: str, out: Causes) -> None:
        out.extend(
            invalid(path, value, message)
            for message in ip_messages(value, loosely=value in grandfathered)
        )

    return check


def ip_messages(value: str, *, loosely: bool = False) -> list[str]:
    """Messages about an IP address.

    Args:
        value: the text to check.
        loosely: whether forms that are read in more than one way are good.
    """
    address = parse_ip(value)
    if address is None:
        return [IP_EXAMPLE]
    if not loosely:
        if _has_leading_zeros(value):
            return ["must not have leading 0s"]
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
            return ["must not be an IPv4-mapped IPv6 address"]
    return []


def canonical_ip_messages(value: str) -> list[str]:
    """Messages about an IP address that has to be written in the one canonical way.

    Args:
        value: the text to check.
    """
    messages = ip_messages(value)
    canonical = str(parse_ip(value))
    if messages or value == canonical:
        return messages
    return [f'must be in canonical form ("{canonical}")']


IP = ip_check()


def parse_cidr(text: str) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface | None:
    """An address with a prefix length as kube-apiserver has always read it, or None.

    Args:
        text: such as ``10.0.0.0/8``.
    """
    address, slash, length = text.partition("/")
    parsed = parse_ip(address)
    if parsed is None or not slash or not (length.isascii() and length.isdigit()):
        return None
    if int(length[:10]) > parsed.max_prefixlen:
        return None
    return ipaddress.ip_interface((parsed, int(length)))


def cidr_check(grandfathered: Collection[str] = ()) -> Check:
    """A check of a range of addresses.

    Args:
        grandfathered: ranges that were stored already and may be written loosely.
    """

    def check(value: str, path: str, out: Causes) -> None:
        parsed = parse_cidr(value)
        if parsed is None:
            out.append(invalid(path, value, CIDR_EXAMPLE))
        elif value not in grandfathered and (cause := _loose_cidr(value, path, parsed)):
            out.append(cause)

    return check


def _loose_cidr(
    value: str, path: str, parsed: ipaddress.IPv4Interface | ipaddress.IPv6Interface
) -> Cause | None:
    address, _, length = value.partition("/")
    if _has_leading_zeros(address) or (len(length) > 1 and length.startswith("0")):
        return invalid(path, value, "must not have leading 0s in IP or prefix length")
    if isinstance(parsed, ipaddress.IPv6Interface) and parsed.ip.ipv4_mapped:
        return invalid(path, value, "must not have an IPv4-mapped IPv6 address")
    if parsed.ip != parsed.network.network_address:
        return invalid(path, value, "must not have bits set beyond the prefix length")
    return None


CIDR = cidr_check()


def interface_address(value: str, path: str, out: Causes) -> None:
    """Check the address of a network interface with the length of its network's prefix.

    Args:
        value: the text to check.
        path: path of the field.
        out: receives causes.
    """
    parsed = parse_cidr(value)
    if parsed is None:
        out.append(invalid(path, value, _INTERFACE_EXAMPLE))
        return
    address, length = parsed.ip, parsed.network.prefixlen
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
        length -= 96 if length > 32 else 0
    canonical = f"{address}/{length}"
    if value != canonical:
        out.append(invalid(path, value, f'must be in canonical form ("{canonical}")'))


def non_special_ip(value: str, path: str, out: Causes) -> None:
    """Check an address that others may be sent to.

    Args:
        value: the text to check.
        path: path of the field.
        out: receives causes.
    """
    address = parse_ip(value)
    if address is None:
        out.append(invalid(path, value, "must be a valid IP address"))
        return
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    if address.is_unspecified:
        out.append(invalid(path, value, f"may not be unspecified ({value})"))
    if address.is_loopback:
        detail = "may not be in the loopback range (127.0.0.0/8, ::1/128)"
        out.append(invalid(path, value, detail))
    if address.is_link_local:
        detail = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
        out.append(invalid(path, value, detail))
    if _is_link_local_multicast(address):
        detail = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        out.append(invalid(path, value, detail))


def _is_link_local_multicast(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    packed = address.packed
    if len(packed) == 4:
        return packed[:3] == b"\xe0\x00\x00"
    return packed[0] == 0xFF and packed[1] & 0x0F == 0x02


def ip_warnings(value: str, path: str) -> list[str]:
    """Warnings about an address that is not written in the one right way.

    Args:
        value: the text.
        path: path of the field.
    """
    address = parse_ip(value)
    if address is None:
        return []
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    if mapped is not None or _has_leading_zeros(value):
        return [
            (
                f'{path}: non-standard IP address "{value}" will be considered invalid in a future '
                f'Kubernetes release: use "{mapped or address}"'
            )
        ]
    if address.version == 6 and str(address) != value:
        return [
            f'{path}: IPv6 address "{value}" should be in RFC 5952 canonical format ("{address}")'
        ]
    return []


def cidr_warnings(value: str, path: str) -> list[str]:
    """Warnings about a range that is not written in the one right way.

    Args:
        value: the text.
        path: path of the field.
    """
    parsed = parse_cidr(value)
    if parsed is None:
        return []
    if parsed.ip != parsed.network.network_address:
        single = f"{parsed.ip}/{parsed.max_prefixlen}"
        return [
            (
                f'{path}: CIDR value "{value}" is ambiguous in this context (should be '
                f'"{parsed.network}" or "{single}"?)'
            )
        ]
    if _loose_cidr(value, path, parsed):
        return [
            (
                f'{path}: non-standard CIDR value "{value}" will be considered invalid in a future '
                f'Kubernetes release: use "{parsed.network}"'
            )
        ]
    if parsed.version == 6 and str(parsed.network) != value:
        return [
            (
                f'{path}: IPv6 CIDR value "{value}" should be in RFC 5952 canonical format '
                f'("{parsed.network}")'
            )
        ]
    return []


def is_dual_stack(texts: Sequence[str]) -> bool:
    """Whether addresses of both families are among some.

    Args:
        texts: addresses or ranges.
    """
    return len({":" in text for text in texts}) == 2
