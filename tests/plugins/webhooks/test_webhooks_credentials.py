"""Who the server is to a webhook, by its host."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kubetrio.outgoing.target import Target
from kubetrio.plugins.webhooks.credentials import (
    Credentials,
    CredentialsError,
    credentials_in,
    credentials_of,
    from_file,
)

API = "apiserver.config.k8s.io/v1"


def known(*names: str) -> Credentials:
    return Credentials({name: Target(url="", token=name) for name in names})


@pytest.mark.parametrize(
    ("names", "host", "chosen"),
    [
        (("a.b.svc:443", "*.b.svc:443", "*"), "a.b.svc:443", "a.b.svc:443"),
        (("*.b.svc:443", "a.b.svc", "*"), "a.b.svc:443", "*.b.svc:443"),
        (("a.b.svc", "*"), "a.b.svc:443", "a.b.svc"),
        (("a.b.svc", "*"), "a.b.svc:8443", "*"),
        (("*.svc", "*"), "a.b.svc:443", "*.svc"),
        (("*.b.svc:8443",), "a.b.svc:8443", "*.b.svc:8443"),
        (("b.svc:443",), "a.b.svc:443", ""),
        (("*.a.b.svc:443",), "a.b.svc:443", ""),
    ],
)
def test_the_nearest_name_counts(names: tuple[str, ...], host: str, chosen: str) -> None:
    """The whole host, then ever less of it, then without the usual port, then anybody."""
    assert known(*names).of(host).token == chosen


def test_a_file(tmp_path: Path) -> None:
    """Users by name; for other hosts that of the current context."""
    config = {
        "users": [
            {"name": "a.b.svc", "user": {"token": "one"}},
            {"name": "me", "user": {"username": "u", "password": "p"}},
        ],
        "contexts": [{"name": "x", "context": {"user": "me"}}],
        "current-context": "x",
    }
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    configuration = {
        "apiVersion": API,
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(path),
    }
    found = credentials_of(configuration)
    assert found.of("a.b.svc:443").token == "one"
    assert found.of("elsewhere:443").username == "u"


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        ({"apiVersion": API, "kind": "Other"}, 'no kind "Other" is registered for version'),
        (
            {"apiVersion": API, "kind": "WebhookAdmission", "kubeConfigFile": "a/b"},
            'kubeConfigFile: Invalid value: "a/b": must be an absolute file path',
        ),
        (
            {"apiVersion": API, "kind": "WebhookAdmission", "kubeConfigFile": "/nope/x"},
            "open /nope/x: no such file or directory",
        ),
        (
            {"apiVersion": API, "kind": "WebhookAdmission", "staticManifestsDir": "/x"},
            'static webhook manifests dir "/x" configured but',
        ),
    ],
)
def test_bad_configurations(configuration: dict[str, str], words: str) -> None:
    """They are refused in one line."""
    with pytest.raises(CredentialsError, match="^" + words.split('"', maxsplit=1)[0]) as caught:
        credentials_of(configuration)
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize("text", ["[1", "a: [b", "- x", "users: 5", "users: [5]"])
def test_bad_files(tmp_path: Path, text: str) -> None:
    """A file that is no kubeconfig is refused, not half read."""
    path = tmp_path / "k"
    path.write_text(text)
    with pytest.raises(CredentialsError):
        from_file(path)


@pytest.mark.parametrize("data", [b"[", b"5", b"- a", b"kind: X\n"])
def test_bad_texts(data: bytes) -> None:
    """The text of a configuration that is none is refused."""
    with pytest.raises(CredentialsError):
        credentials_in(data)


def test_without_a_configuration() -> None:
    """The server is nobody in particular."""
    assert credentials_in(None).of("a:443") == Target(url="")
    assert credentials_of(None).of("a:443") == Target(url="")
