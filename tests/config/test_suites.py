"""What TLS may be spoken with, in kube-apiserver's words."""

from __future__ import annotations

import re
import ssl

import pytest

from kubetrio.config import ConfigError, Serving
from kubetrio.config.suites import INSECURE, SUITES, SUITES_13

GCM = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
HTTP2 = (
    "--tls-cipher-suites: error configuring http2: http2: TLSConfig.CipherSuites is missing an "
    "HTTP/2-required AES_128_GCM_SHA256 cipher (need at least one of "
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 or TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256)"
)
HSTS = (
    "--strict-transport-security-directives: --strict-transport-security-directives invalid, "
    "allowed values: max-age=expireTime, includeSubDomains, preload. see "
    "https://tools.ietf.org/html/rfc6797#section-6.1 for more information"
)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"tls_cipher_suites": (GCM, "TLS_NO")},
            "--tls-cipher-suites: Cipher suite TLS_NO not supported or doesn't exist",
        ),
        ({"tls_cipher_suites": ("TLS_AES_128_GCM_SHA256",)}, HTTP2),
        (
            {"tls_curve_preferences": (0,)},
            "--tls-curve-preferences: curve preference 0 is out of range (must be 1-65535)",
        ),
        (
            {"tls_curve_preferences": (23, 29, 23)},
            "--tls-curve-preferences: duplicate curve preference 23",
        ),
        (
            {"tls_curve_preferences": (22,)},
            (
                "--tls-curve-preferences: curve preference 22 is not supported by the current Go "
                "version"
            ),
        ),
        ({"hsts_directives": ("max-age=1=2",)}, HSTS),
        ({"hsts_directives": ("includesubdomains",)}, HSTS),
        (
            {"hsts_directives": (" ",)},
            (
                "--strict-transport-security-directives: empty value in "
                "strict-transport-security-directives"
            ),
        ),
    ],
)
def test_a_mistake_is_named(given: dict[str, tuple[str, ...]], said: str) -> None:
    """Word for word behind the name of the flag."""
    with pytest.raises(ConfigError) as caught:
        Serving(**given)  # type: ignore[arg-type]
    assert caught.value.by_flag() == said


def test_http2_needs_its_suite_for_tls_1_2_only() -> None:
    """Nobody minds who does not speak one of the two."""
    few = ("TLS_AES_128_GCM_SHA256",)
    assert Serving(tls_cipher_suites=few, disable_http2=True)
    assert Serving(tls_cipher_suites=few, tls_min_version="VersionTLS13")
    assert Serving(tls_cipher_suites=(*few, GCM))


def test_every_suite_has_openssls_name() -> None:
    """What OpenSSL was built without aside, it knows all of them by that name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("ALL:@SECLEVEL=0")
    known = {suite["name"] for suite in context.get_ciphers()}
    weak = re.compile("RC4|3DES")
    for name, theirs in (SUITES | INSECURE).items():
        assert theirs in known or weak.search(name), name
    assert not SUITES_13 & SUITES.keys()
    assert not INSECURE.keys() & SUITES.keys()
