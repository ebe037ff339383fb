"""Flags and feature gates of ``kube-apiserver --help``."""

import pytest

from facts.help_text import feature_gates, flags

TEXT = """\
The Kubernetes API server validates data.

Usage:
  kube-apiserver [flags]

Generic flags:

      --advertise-address ip          The IP address to advertise.
      --feature-gates mapping         Options are:
                                      kube:APIServerIdentity=true|false (BETA - default=true)
                                      AllAlpha=true|false (ALPHA - default=false)
      --request-timeout duration      How long,
                                      at most. (default 1m0s)

secure serving flags:

      --cert-dir string               Where (default "/var/run/kubernetes")
      --old string                    A word. (default "a") (DEPRECATED: use another.)
      --plain                         Whether.
  -v, --v Level                       The level
      --version version[=true]        Print the version.
"""


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("advertise-address", {"group": "Generic", "type": "ip", "default": "<nil>"}),
        ("request-timeout", {"group": "Generic", "type": "duration", "default": "1m0s"}),
        (
            "cert-dir",
            {"group": "Secure serving", "type": "string", "default": "/var/run/kubernetes"},
        ),
        ("old", {"group": "Secure serving", "type": "string", "default": "a", "deprecated": True}),
        ("plain", {"group": "Secure serving", "type": "bool", "default": "false"}),
        ("v", {"group": "Secure serving", "type": "Level", "short": "v", "default": ""}),
        ("version", {"group": "Secure serving", "type": "version", "default": "false"}),
    ],
)
def test_a_flag(name: str, row: dict[str, object]) -> None:
    """Group, type and default; a zero that is not printed is filled in."""
    assert flags(TEXT)[name] == row


def test_every_flag_is_found() -> None:
    """Lines of words and of feature gates are none."""
    assert list(flags(TEXT)) == [
        "advertise-address", "feature-gates", "request-timeout", "cert-dir", "old", "plain", "v",
        "version",
    ]  # fmt: skip


def test_feature_gates() -> None:
    """With or without the component's name."""
    assert feature_gates(TEXT) == {
        "APIServerIdentity": ["BETA", True],
        "AllAlpha": ["ALPHA", False],
    }
