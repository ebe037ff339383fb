"""Checks of ConfigMaps and Secrets."""

from __future__ import annotations

import base64

import pytest
from checks.helpers import (
    Json,
    refused,
    resource,
    warned,
)
from checks.recorded import Case, assert_as_recorded, recorded

SECRETS = resource("secrets")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            {"type": "kubernetes.io/basic-auth"},
            ["data[password]: Required value", "data[username]: Required value"],
        ),
        (
            {"type": "kubernetes.io/tls", "stringData": {"tls.crt": ""}},
            ["data[tls.key]: Required value"],
        ),
        (
            {"type": "kubernetes.io/dockercfg", "stringData": {".dockercfg": "[]"}},
            [
                (
                    'data[.dockercfg]: Invalid value: "<secret contents redacted>": json: cannot '
                    "unmarshal array into Go value of type map[string]interface {}"
                )
            ],
        ),
        (
            {"stringData": {"a": "x" * 1_048_577}},
            ["data: Too long: may not be more than 1048576 bytes"],
        ),
        ({"stringData": {"a": "x" * 1_048_576}}, []),
        ({"data": {"a": None}}, []),
        (
            {"type": "kubernetes.io/dockercfg", "data": {".dockercfg": None}},
            [
                (
                    'data[.dockercfg]: Invalid value: "<secret contents redacted>": '
                    "unexpected end of JSON input"
                )
            ],
        ),
    ],
)
def test_secret(body: Json, expected: list[str]) -> None:
    """The type of a secret says what it must hold."""
    assert refused(SECRETS, body) == expected


def test_binary_data_may_be_null() -> None:
    """It has no bytes then."""
    assert refused(resource("configmaps"), {"binaryData": {"a": None}}) == []


def test_tls_secret_without_certificate_is_warned_of() -> None:
    """A TLS secret that holds no PEM is accepted with a warning."""
    text = base64.b64encode(b"x").decode()
    body = {"type": "kubernetes.io/tls", "data": {"tls.crt": text, "tls.key": text}}
    assert warned(SECRETS, body) == ["tls: failed to find any PEM data in certificate input"]


@pytest.mark.parametrize("case", recorded("", "configmaps", "secrets"))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
