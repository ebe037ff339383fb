"""Kubeconfig files."""

import base64
import json
import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.kubeconfig import (
    KubeconfigError,
    KubeconfigLockedError,
    build,
    default_path,
    dump,
    merge,
    remove,
    write,
)

CONFIG = build("dev", "https://127.0.0.1:6443", b"CA", b"CERT", b"KEY")

EXISTING = """\
apiVersion: v1
kind: Config
preferences: {}
current-context: work
clusters:
- name: work
  cluster:
    insecure-skip-tls-verify: true
    server: "https://work"
contexts:
- name: work
  context: {cluster: work, user: kubernetes-admin, namespace: "on"}
users:
- name: kubernetes-admin
  user:
    token: 2026-01-01
    username: '0123'
"""


def _load(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(path.read_text())
    return loaded


def _by_name(entries: list[dict[str, Any]]) -> dict[str, Any]:
    return {entry["name"]: entry for entry in entries}


def test_shape() -> None:
    """Names follow kind, the data is inline."""
    assert CONFIG["current-context"] == "kubetrio-dev"
    assert CONFIG["clusters"][0]["name"] == "kubetrio-dev"
    assert CONFIG["contexts"] == [
        {"name": "kubetrio-dev", "context": {"cluster": "kubetrio-dev", "user": "kubernetes-admin"}}
    ]
    user = CONFIG["users"][0]
    assert user["name"] == "kubernetes-admin"
    assert base64.b64decode(user["user"]["client-key-data"]) == b"KEY"


def test_dump_is_readable_yaml() -> None:
    """Plain block style, without quotes where none are needed."""
    assert dump(CONFIG).splitlines()[:6] == [
        "apiVersion: v1",
        "clusters:",
        "- cluster:",
        "    certificate-authority-data: Q0E=",
        "    server: https://127.0.0.1:6443",
        "  name: kubetrio-dev",
    ]


@settings(max_examples=100, deadline=None)
@given(
    st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E))
    | st.sampled_from(["true", "null", "y", "1e3", "0x1", "a: b", "a #b", "é", "-", "", "a:", "~"])
)
def test_dump_is_read_back(name: str) -> None:
    """A YAML reader sees what was printed, whatever the texts look like."""
    config = build(name, name, b"CA", b"CERT", b"KEY")
    config["current-context"] = name
    assert yaml.safe_load(dump(config)) == config


def test_write_is_private(tmp_path: Path) -> None:
    """The file holds a private key, so its mode is 0600."""
    path = tmp_path / "config"
    write(path, CONFIG)
    assert _load(path) == CONFIG
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("text", [None, "", "# nothing\n", "---\n"])
def test_merge_into_nothing(tmp_path: Path, text: str | None) -> None:
    """A missing or empty file becomes this one, with the user named after the context."""
    path = tmp_path / ".kube" / "config"
    if text is not None:
        path.parent.mkdir()
        path.write_text(text)
    merge(path, CONFIG)
    merged = _load(path)
    assert merged["contexts"][0]["context"]["user"] == "kubetrio-dev"
    assert [user["name"] for user in merged["users"]] == ["kubetrio-dev"]
    assert merged["clusters"] == CONFIG["clusters"]


def test_merge_keeps_what_was_there(tmp_path: Path) -> None:
    """Other entries keep their values and the quotes that make them texts."""
    path = tmp_path / "config"
    path.write_text(EXISTING)
    merge(path, CONFIG)
    text = path.read_text()
    for line in ("insecure-skip-tls-verify: true", "token: 2026-01-01", "username: '0123'"):
        assert line in text
    before, after = yaml.safe_load(EXISTING), _load(path)
    assert after["current-context"] == "kubetrio-dev"
    for key in ("clusters", "contexts", "users"):
        assert after[key][:1] == before[key]
        assert [entry["name"] for entry in after[key][1:]] == ["kubetrio-dev"]


def test_merge_replaces_its_own_entries(tmp_path: Path) -> None:
    """A second merge of one server, by its authority, replaces the first, in its place."""
    path = tmp_path / "config"
    path.write_text(EXISTING)
    merge(path, CONFIG)
    merge(path, build("other", "https://other", b"CA", b"CERT", b"KEY"))
    merge(path, build("dev", "https://moved", b"CA", b"CERT2", b"KEY2"))
    after = _load(path)
    assert [each["name"] for each in after["clusters"]] == [
        "work",
        "kubetrio-dev",
        "kubetrio-other",
    ]
    assert _by_name(after["clusters"])["kubetrio-dev"]["cluster"]["server"] == "https://moved"
    assert _by_name(after["users"])["kubernetes-admin"] == yaml.safe_load(EXISTING)["users"][0]


def test_merge_replaces_what_was_at_its_address(tmp_path: Path) -> None:
    """A server that was made anew listens where the former one did."""
    path = tmp_path / "config"
    merge(path, CONFIG)
    merge(path, build("dev", "https://127.0.0.1:6443", b"CA2", b"CERT2", b"KEY2"))
    cluster = _load(path)["clusters"][0]["cluster"]
    assert base64.b64decode(cluster["certificate-authority-data"]) == b"CA2"


@pytest.mark.parametrize(
    "text",
    [
        dump(build("dev", "https://127.0.0.1:7443", b"OTHER", b"CERT", b"KEY")),
        "contexts:\n- name: kubetrio-dev\n  context: {cluster: work, user: me}\n",
        "users:\n- name: kubetrio-dev\n  user: {token: t}\n",
    ],
)
def test_merge_replaces_nothing_of_another_server(tmp_path: Path, text: str) -> None:
    """The line says which entry, and both ways out; the file stays as it is."""
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(KubeconfigError, match="kubetrio-dev") as caught:
        merge(path, CONFIG)
    assert "--name" in str(caught.value)
    assert "kubectl config delete-context kubetrio-dev" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_text() == text


def test_merge_tells_which_context_was_current(tmp_path: Path) -> None:
    """So that nobody is switched without a word."""
    path = tmp_path / "config"
    path.write_text(EXISTING)
    assert merge(path, CONFIG) == "work"
    assert merge(path, CONFIG) == "kubetrio-dev"
    assert merge(tmp_path / "new", CONFIG) == ""


def test_write_makes_no_directories(tmp_path: Path) -> None:
    """A mistyped path is an error that names it."""
    with pytest.raises(KubeconfigError, match=r"cannot write .*typo/config: .*make its directory"):
        write(tmp_path / "typo" / "config", CONFIG)
    assert list(tmp_path.iterdir()) == []


def test_merge_removes_doubles_of_its_name(tmp_path: Path) -> None:
    """Of several entries of its name, one is left."""
    path = tmp_path / "config"
    path.write_text("clusters:\n- name: kubetrio-dev\n- name: a\n- name: kubetrio-dev\n")
    merge(path, CONFIG)
    assert [each["name"] for each in _load(path)["clusters"]] == ["kubetrio-dev", "a"]


@pytest.mark.parametrize("empty", ["null", "[]", ""])
def test_merge_into_empty_lists(tmp_path: Path, empty: str) -> None:
    """Lists as kubectl writes them when there is nothing are filled."""
    path = tmp_path / "config"
    path.write_text(f"apiVersion: v1\nclusters: {empty}\ncontexts: {empty}\nusers: {empty}\n")
    merge(path, CONFIG)
    after = _load(path)
    assert after["clusters"] == CONFIG["clusters"]
    assert after["kind"] == "Config"


def test_merge_into_json(tmp_path: Path) -> None:
    """A kubeconfig written as JSON is one too."""
    path = tmp_path / "config"
    before = yaml.safe_load(EXISTING.replace("2026-01-01", "t"))
    path.write_text(json.dumps(before, indent=2))
    merge(path, CONFIG)
    assert _load(path)["users"][0] == before["users"][0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "is not YAML"),
        ("a: 1\n---\nb: 1\n", "is not YAML"),
        ("- a\n", "holds no mapping"),
        ("clusters: text\n", "has clusters that are no list"),
        (b"\xff\xfe\xff", "cannot read"),
    ],
)
def test_merge_refuses_other_files(tmp_path: Path, text: str | bytes, message: str) -> None:
    """A file that is no kubeconfig is named and stays as it is, and the lock is gone."""
    path = tmp_path / "config"
    data = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(data)
    with pytest.raises(KubeconfigError, match=message) as caught:
        merge(path, CONFIG)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


def test_merge_respects_the_lock(tmp_path: Path) -> None:
    """While kubectl holds its lock nothing is written, and the lock stays."""
    path = tmp_path / "config"
    lock = tmp_path / "config.lock"
    lock.touch()
    with pytest.raises(KubeconfigLockedError, match=r"config\.lock"):
        merge(path, CONFIG)
    assert not path.exists()
    assert lock.exists()


def test_merge_follows_links(tmp_path: Path) -> None:
    """A kubeconfig that is a symbolic link stays one."""
    target, link = tmp_path / "real", tmp_path / "config"
    target.write_text(EXISTING)
    link.symlink_to(target)
    merge(link, CONFIG)
    assert link.is_symlink()
    assert _load(target)["current-context"] == "kubetrio-dev"


def test_unwritable_places_are_named(tmp_path: Path) -> None:
    """A file where a directory should be gives one line."""
    (tmp_path / "file").write_text("")
    with pytest.raises(KubeconfigError, match=r"cannot write .*config: .*; make"):
        merge(tmp_path / "file" / "config", CONFIG)


@pytest.mark.parametrize(
    ("environ", "path"),
    [
        ({"KUBECONFIG": f"/a{os.pathsep}/b", "HOME": "/h"}, Path("/a")),
        ({"KUBECONFIG": f"{os.pathsep}/b", "HOME": "/h"}, Path("/b")),
        ({"KUBECONFIG": "", "HOME": "/h"}, Path("/h/.kube/config")),
        ({"USERPROFILE": "/p"}, Path("/p/.kube/config")),
    ],
)
def test_default_path(environ: dict[str, str], path: Path) -> None:
    """The first entry of $KUBECONFIG, else the file in the home directory."""
    assert default_path(environ) == path


def test_no_home_is_an_error() -> None:
    """Without both the user is told what to set."""
    with pytest.raises(KubeconfigError, match=r"set \$KUBECONFIG"):
        default_path({})


@pytest.mark.e2e
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")
@pytest.mark.parametrize("merged", [False, True])
def test_kubectl_reads_it(tmp_path: Path, merged: bool) -> None:
    """kubectl sees the context, the cluster and both halves of the credentials."""
    path = tmp_path / "config"
    if merged:
        path.write_text(EXISTING)
        merge(path, CONFIG)
    else:
        write(path, CONFIG)
    kubectl = shutil.which("kubectl")
    assert kubectl is not None
    command = [
        kubectl,
        "config",
        "view",
        "--kubeconfig",
        str(path),
        "--raw",
        "--minify",
        "-o",
        "json",
    ]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    seen = json.loads(done.stdout)
    assert seen["current-context"] == "kubetrio-dev"
    assert seen["clusters"] == CONFIG["clusters"]
    assert seen["users"][0]["user"] == CONFIG["users"][0]["user"]


def test_a_server_is_taken_out_again(tmp_path: Path) -> None:
    """Its three entries and the current context; another server of its name stays."""
    path = tmp_path / "config"
    assert not remove(path, "kubetrio-dev", b"ca")
    path.write_text("kind: Config\nusers: [{name: other, user: {}}]\ncurrent-context: other\n")
    before = path.read_text()
    assert not remove(path, "kubetrio-dev", b"ca")
    merge(path, build("dev", "https://h:1", b"ca", b"cert", b"key"))
    merged = path.read_text()
    assert not remove(path, "kubetrio-dev", b"another")
    assert path.read_text() == merged
    assert remove(path, "kubetrio-dev", b"ca")
    found = yaml.safe_load(path.read_text())
    assert found["users"] == yaml.safe_load(before)["users"]
    assert found["clusters"] == found["contexts"] == []
    assert "current-context" not in found
