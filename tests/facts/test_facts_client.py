"""Where a server is and who asks; requests are sent in ``test_facts_server``."""

import ssl
from pathlib import Path

import pytest
import yaml

from facts.client import from_kubeconfig, target


def kubeconfig(folder: Path, *, current: str = "here") -> Path:
    path = folder / "config"
    cluster = {"server": "https://192.0.2.1:6443", "insecure-skip-tls-verify": True}
    config = {
        "current-context": current,
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": "secret"}}],
    }
    path.write_text(yaml.safe_dump(config))
    return path


def test_a_kubeconfig_with_a_token(tmp_path: Path) -> None:
    """The current context says which cluster and user."""
    where = from_kubeconfig(kubeconfig(tmp_path))
    assert (where.url, where.token) == ("https://192.0.2.1:6443", "secret")
    assert where.tls is not None
    assert where.tls.verify_mode == ssl.CERT_NONE


def test_a_kubeconfig_without_its_context(tmp_path: Path) -> None:
    """The name that is missing is told."""
    with pytest.raises(KeyError, match="elsewhere"):
        from_kubeconfig(kubeconfig(tmp_path, current="elsewhere"))


def test_certificates_are_checked_unless_told_otherwise() -> None:
    """Plain HTTP has none."""
    checked = target("https://192.0.2.1:6443").tls
    assert checked is not None
    assert checked.verify_mode == ssl.CERT_REQUIRED
    assert target("http://192.0.2.1:8080").tls is None
