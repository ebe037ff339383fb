"""Checks of certificate signing requests, by the ways changes come."""

from __future__ import annotations

import base64
import datetime as dt

import pytest
from checks.helpers import Json, changed, made, refused, refused_change, resource
from checks.recorded import Case, assert_as_recorded, recorded
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

REQUESTS = resource("certificatesigningrequests", "certificates.k8s.io")
APPROVED = {"type": "Approved", "status": "True", "reason": "R"}


@pytest.fixture(scope="module")
def key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@pytest.fixture(scope="module")
def body(key: ec.EllipticCurvePrivateKey) -> Json:
    request = x509.CertificateSigningRequestBuilder(x509.Name([])).sign(key, hashes.SHA256())
    pem = request.public_bytes(serialization.Encoding.PEM)
    return {
        "spec": {
            "request": base64.b64encode(pem).decode(),
            "signerName": "example.com/s",
            "usages": ["client auth"],
        }
    }


@pytest.fixture(scope="module")
def certificate(key: ec.EllipticCurvePrivateKey) -> str:
    start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    signed = (
        x509.CertificateBuilder(x509.Name([]), x509.Name([]), key.public_key(), 1)
        .not_valid_before(start)
        .not_valid_after(start + dt.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    return base64.b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()


def test_a_signed_request_is_accepted(body: Json) -> None:
    """The request must be signed with its own key."""
    assert refused(REQUESTS, body) == []


def test_conditions_come_through_approval(body: Json) -> None:
    """Approval is written where approvals are, and stays."""
    old = made(REQUESTS, body)
    new = changed(old, "status", {"conditions": [APPROVED]})
    assert refused_change(REQUESTS, old, new, "approval") == []
    assert refused_change(REQUESTS, old, new, "status") == [
        'status.conditions: Forbidden: updates may not add a condition of type "Approved"'
    ]
    assert refused_change(REQUESTS, new, old, "approval") == [
        'status.conditions: Forbidden: updates may not remove a condition of type "Approved"'
    ]
    both = changed(new, "status.conditions", [APPROVED, {**APPROVED, "type": "Denied"}])
    assert refused_change(REQUESTS, new, both, "approval") == [
        (
            'status.conditions: Invalid value: "Denied": Approved and Denied conditions '
            "are mutually exclusive"
        )
    ]


def test_the_certificate_is_written_once(body: Json, certificate: str) -> None:
    """A certificate comes through the status and never changes."""
    old = made(REQUESTS, body)
    new = changed(old, "status", {"certificate": certificate})
    assert refused_change(REQUESTS, old, new, "status") == []
    assert refused_change(REQUESTS, old, new, "approval") == [
        "status.certificate: Forbidden: updates may not set certificate content"
    ]
    again = changed(old, "status", {"certificate": body["spec"]["request"]})
    assert refused_change(REQUESTS, new, again, "status") == [
        "status.certificate: Forbidden: updates may not modify existing certificate content",
        (
            'status.certificate: Invalid value: "<certificate data>": only CERTIFICATE PEM blocks '
            'are allowed, found "CERTIFICATE REQUEST"'
        ),
    ]


def test_a_certificate_that_cannot_be_read(body: Json) -> None:
    """The words are not those of the library that reads it."""
    old = made(REQUESTS, body)
    pem = b"-----BEGIN CERTIFICATE-----\neA==\n-----END CERTIFICATE-----\n"
    new = changed(old, "status", {"certificate": base64.b64encode(pem).decode()})
    assert refused_change(REQUESTS, old, new, "status") == [
        'status.certificate: Invalid value: "<certificate data>": x509: malformed certificate'
    ]


@pytest.mark.parametrize("case", recorded("certificates.k8s.io"))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
