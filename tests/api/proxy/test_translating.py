"""What a client is told about the end of a process; tests/e2e/test_streams.py has the streams."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubetrio.api.proxy.translating import Failed, Streams, outcome

V5, V3 = "v5.channel.k8s.io", "v3.channel.k8s.io"
NON_ZERO = {"status": "Failure", "reason": "NonZeroExitCode"}


def causes(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {"causes": [{"reason": reason, "message": message} for reason, message in pairs]}


def said(**status: Any) -> bytes:
    return json.dumps({"metadata": {}, **status}).encode()


@pytest.mark.parametrize("version", [V5, V3])
def test_nothing_is_a_success(version: str) -> None:
    """A kubelet need not say so."""
    assert outcome(version, b"")["status"] == "Success"


def test_an_exit_code() -> None:
    """The first one given; the words are the translator's."""
    details = causes(("x", "1"), ("ExitCode", "7"))
    status = outcome(V5, said(**NON_ZERO, message="as the kubelet has it", details=details))
    words = "command terminated with non-zero exit code: command terminated with exit code 7"
    assert status == {
        "metadata": {},
        "status": "Failure",
        "message": words,
        "reason": "NonZeroExitCode",
        "details": causes(("ExitCode", "7")),
    }


@pytest.mark.parametrize(
    ("version", "text", "problem"),
    [
        (V3, b"boom", "error executing remote command: boom"),
        (V5, said(status="Failure", message="boom"), "boom"),
        (V5, said(status="Maybe"), "error stream protocol error: unknown error"),
        (V5, b"null", "error stream protocol error: unknown error"),
        (
            V5,
            b"boom",
            (
                "error stream protocol error: invalid character 'b' looking for beginning of value "
                'in "boom"'
            ),
        ),
        (
            V5,
            b'{"status":5}',
            (
                "error stream protocol error: json: cannot unmarshal number into Go struct field "
                r'Status.status of type string in "{\"status\":5}"'
            ),
        ),
        (V5, said(**NON_ZERO), "error stream protocol error: details must be set"),
        (
            V5,
            said(**NON_ZERO, details=causes(("x", "1"))),
            "error stream protocol error: no ExitCode cause given",
        ),
        (
            V5,
            said(**NON_ZERO, details=causes(("ExitCode", "256"))),
            'error stream protocol error: invalid exit code value "256"',
        ),
    ],
)
def test_what_is_no_exit_code(version: str, text: bytes, problem: str) -> None:
    """An error in kube-apiserver's words."""
    with pytest.raises(Failed) as caught:
        outcome(version, text)
    assert str(caught.value) == problem


def test_streams_at_a_kubelet() -> None:
    """In kube-apiserver's order; a terminal has one output, and sizes since version 3."""
    plain = Streams(stdin=True, stdout=True, stderr=True, tty=False)
    assert plain.opened(V5) == [(3, "error"), (0, "stdin"), (1, "stdout"), (2, "stderr")]
    terminal = Streams(stdin=False, stdout=True, stderr=True, tty=True)
    assert terminal.opened(V3) == [(3, "error"), (1, "stdout"), (4, "resize")]
    assert terminal.opened("v2.channel.k8s.io") == [(3, "error"), (1, "stdout")]


@pytest.mark.parametrize(
    ("stdout", "stderr", "greeting"), [(True, True, 1), (False, True, 2), (False, False, 3)]
)
def test_where_a_client_is_greeted(stdout: bool, stderr: bool, greeting: int) -> None:
    """On the first channel that it reads."""
    assert Streams(stdin=True, stdout=stdout, stderr=stderr, tty=False).greeting == greeting
