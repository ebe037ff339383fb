"""Kubeconfig files of webhooks."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from kubetrio.outgoing.target import Target, TargetError, from_kubeconfig

CONFIG = """
clusters: [{name: hook, cluster: {server: "https://h:1/x", certificate-authority: ca.pem}}]
users: [{name: me, user: {token: secret}}]
contexts: [{name: c, context: {cluster: hook, user: me}}]
current-context: c
"""


def written(folder: Path, text: str) -> Path:
    """A kubeconfig in a folder."""
    path = folder / "hook.yaml"
    path.write_text(text)
    return path


def test_the_current_context_counts(tmp_path: Path) -> None:
    """Server, authority and user are those of the current context."""
    (tmp_path / "ca.pem").write_bytes(b"PEM")
    found = from_kubeconfig(written(tmp_path, CONFIG))
    assert found == Target(url="https://h:1/x", ca=b"PEM", token="secret")
    assert "secret" not in repr(found)


def test_data_comes_before_files(tmp_path: Path) -> None:
    """Inline data takes the place of a file."""
    data = base64.b64encode(b"INLINE").decode()
    text = CONFIG.replace("ca.pem", f"ca.pem, certificate-authority-data: {data}")
    assert from_kubeconfig(written(tmp_path, text)).ca == b"INLINE"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (CONFIG, "unable to read certificate-authority ca.pem"),
        (CONFIG.replace("current-context: c", "current-context: d"), 'context "d" does not exist'),
        (CONFIG.replace("cluster: hook", "cluster: nix"), 'cluster "nix" does not exist'),
        (CONFIG.replace("current-context: c", ""), "no configuration has been provided"),
        ("[1]", "no kubeconfig"),
        ("clusters: {a: b}\ncurrent-context: c", "no list of named entries"),
        ("a: [", "while parsing"),
        (CONFIG.replace('server: "https://h:1/x", ', ""), "no server found"),
        (CONFIG.replace("certificate-authority: ca.pem", "certificate-authority-data: '!'"),
         "certificate-authority-data"),
        (CONFIG.replace("token: secret", "exec: {command: x}").replace(
            ", certificate-authority: ca.pem", ""), "exec are not supported"),
    ],
)  # fmt: skip
def test_bad_files_say_what_is_wrong(tmp_path: Path, text: str, words: str) -> None:
    """One line for each way to be wrong."""
    with pytest.raises(TargetError, match=words) as caught:
        from_kubeconfig(written(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_a_missing_file(tmp_path: Path) -> None:
    """It is named."""
    with pytest.raises(TargetError, match="no such file"):
        from_kubeconfig(tmp_path / "none")
