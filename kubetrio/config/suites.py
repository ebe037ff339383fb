"""What TLS may be spoken with: names of versions, cipher suites and curves, as Go calls them.

Source: the registry "TLS Cipher Suites" of IANA for the names, ciphers(1) of OpenSSL for its own;
the package ``crypto/tls`` of Go for which there are, and which of them are insecure.
"""

from __future__ import annotations

VERSIONS = ("VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13")

SUITES_13 = frozenset(
    {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}
)
"""Suites of TLS 1.3: all are always offered, and naming one changes nothing, as in Go."""

SUITES = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    # names of former releases
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
}
"""Suites of older versions, the best first, and what OpenSSL calls them."""

INSECURE = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256": "ECDHE-ECDSA-AES128-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256": "ECDHE-RSA-AES128-SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "TLS_RSA_WITH_AES_128_CBC_SHA256": "AES128-SHA256",
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA": "ECDHE-RSA-DES-CBC3-SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA": "DES-CBC3-SHA",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA": "ECDHE-ECDSA-RC4-SHA",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA": "ECDHE-RSA-RC4-SHA",
    "TLS_RSA_WITH_RC4_128_SHA": "RC4-SHA",
}
"""Those with security issues, which are warned of; OpenSSL may have been built without some."""

HTTP2_SUITES = (
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
)
"""One of them is needed for HTTP/2 over TLS 1.2 (RFC 9113, 9.2.2)."""

CURVES = {
    4588: "X25519MLKEM768",
    4587: "SecP256r1MLKEM768",
    4589: "SecP384r1MLKEM1024",
    29: "X25519",
    23: "P-256",
    24: "P-384",
    25: "P-521",
}
"""Key exchanges by their number (IANA's "TLS Supported Groups"), the best first, and OpenSSL's
names."""

MOST_CURVE = 0xFFFF


def suites_problem(names: tuple[str, ...]) -> str:
    """What is wrong with a list of cipher suites, as kube-apiserver says it; empty if nothing."""
    for name in names:
        if name not in SUITES_13 and name not in SUITES and name not in INSECURE:
            return f"Cipher suite {name} not supported or doesn't exist"
    return ""


def curves_problem(numbers: tuple[int, ...]) -> str:
    """What is wrong with a list of curves, as kube-apiserver says it; empty if nothing."""
    seen: set[int] = set()
    for number in numbers:
        if not 0 < number <= MOST_CURVE:
            return f"curve preference {number} is out of range (must be 1-{MOST_CURVE})"
        if number in seen:
            return f"duplicate curve preference {number}"
        seen.add(number)
        if number not in CURVES:
            return f"curve preference {number} is not supported by the current Go version"
    return ""


def http2_problem(names: tuple[str, ...], oldest: str) -> str:
    """Why HTTP/2 cannot be spoken with a list of cipher suites; empty if it can."""
    if not names or oldest == VERSIONS[-1] or any(name in HTTP2_SUITES for name in names):
        return ""
    return (
        "error configuring http2: http2: TLSConfig.CipherSuites is missing an HTTP/2-required "
        f"AES_128_GCM_SHA256 cipher (need at least one of {' or '.join(HTTP2_SUITES)})"
    )


def hsts_problem(directives: tuple[str, ...]) -> str:
    """What is wrong with directives of Strict-Transport-Security; empty if nothing.

    Source: RFC 6797, 6.1; kube-apiserver takes these three and no others.
    """
    problems = []
    for directive in directives:
        if not directive.strip():
            problems.append("empty value in strict-transport-security-directives")
        elif directive not in ("includeSubDomains", "preload"):
            parts = directive.split("=")
            if len(parts) != 2 or parts[0] != "max-age":
                problems.append(
                    "--strict-transport-security-directives invalid, allowed values: "
                    "max-age=expireTime, includeSubDomains, preload. see "
                    "https://tools.ietf.org/html/rfc6797#section-6.1 for more information"
                )
    unique = list(dict.fromkeys(problems))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]" if unique else ""
