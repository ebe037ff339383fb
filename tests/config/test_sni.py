"""The value of ``--tls-sni-cert-key``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kubetrio.config.sni import SNI_PAIRS, NamedPair, named_pair


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("a.crt,a.key", NamedPair(Path("a.crt"), Path("a.key"))),
        (" a.crt , a.key ", NamedPair(Path("a.crt"), Path("a.key"))),
        ("a.crt,a.key:x, *.y ", NamedPair(Path("a.crt"), Path("a.key"), ("x", "*.y"))),
        ("a.crt,a.key:x:y", NamedPair(Path("a.crt"), Path("a.key"), ("x:y",))),
    ],
)
def test_a_pair_and_its_names(text: str, pair: NamedPair) -> None:
    """Files between a comma, names behind a colon."""
    assert named_pair(text) == pair
    assert named_pair(SNI_PAIRS.show((pair,))) == pair


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a.crt,a.key:", "empty names list is not allowed"),
        ("a.crt,a.key: ", "empty names list is not allowed"),
        ("a.crt", "expected comma separated certificate and key file paths"),
        ("a,b,c", "expected comma separated certificate and key file paths"),
        ("", "expected comma separated certificate and key file paths"),
    ],
)
def test_what_is_no_pair(text: str, said: str) -> None:
    """In upstream's words."""
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        named_pair(text)
