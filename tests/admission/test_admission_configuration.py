"""The file of --admission-control-config-file, and the configurations of plugins in it.

What is said of bad files was read off a kube-apiserver 1.36 that was started with each of them;
`configurations.json` has them all.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubetrio.admission.configuration import ConfigurationError, read
from kubetrio.config import Admission, Config, Serving
from kubetrio.server.files import StartError
from kubetrio.testing.server import open_api

BAD: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "configurations.json").read_text(encoding="utf-8")
)
HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n"


def config(directory: Path, text: str, *plugins: str) -> Config:
    """A server with that file."""
    file = directory / "admission.yaml"
    file.write_text(text, encoding="utf-8")
    return Config(
        data_dir=directory / "data",
        serving=Serving(secure_port=6443),
        admission=Admission(plugin_config_file=file, enable_plugins=plugins),
    )


@pytest.mark.parametrize("case", BAD, ids=lambda case: case["name"])
async def test_bad_files_keep_a_server_from_starting(case: dict[str, Any], tmp_path: Path) -> None:
    """In kube-apiserver's words."""
    with pytest.raises(StartError) as caught:
        async with open_api(config=config(tmp_path, case["file"], case["plugin"])):
            pass
    assert str(caught.value) == f"failed to apply admission: {case['why']}"


@pytest.mark.parametrize(
    ("text", "plugin"),
    [
        (HEAD, ""),
        (HEAD.replace("config.k8s.io/v1", "k8s.io/v1alpha1"), ""),
        (HEAD + "plugins:\n- name: Nope\n  configuration: {a: 1}\n", ""),
        (HEAD + "plugins:\n- name: PodSecurity\n  configuration: null\n", ""),
        (HEAD + "plugins:\n- name: NamespaceLifecycle\n  configuration: {a: b}\n", ""),
        (HEAD + "plugins:\n- name: EventRateLimit\n  path: absent.yaml\n", ""),
        ("podNodeSelectorPluginConfig: {clusterDefaultNodeSelector: a=b}", "PodNodeSelector"),
        (
            HEAD + "plugins:\n- name: PodNodeSelector\n"
            "  configuration: {podNodeSelectorPluginConfig: 3}\n",
            "PodNodeSelector",
        ),
    ],
)
async def test_files_that_are_taken(text: str, plugin: str, tmp_path: Path) -> None:
    """As kube-apiserver does: what configures no plugin that is on is not looked at."""
    async with open_api(config=config(tmp_path, text, plugin)):
        pass


def test_a_file_that_is_not_there() -> None:
    """In kube-apiserver's words."""
    with pytest.raises(ConfigurationError) as caught:
        read(Path("/nonexistent"), [])
    assert str(caught.value) == (
        'unable to read admission control configuration from "/nonexistent" '
        "[open /nonexistent: no such file or directory]"
    )


def test_configurations_by_path(tmp_path: Path) -> None:
    """Relative to the file's directory; the first of a name counts, inline before a path."""
    (tmp_path / "one.yaml").write_bytes(b"one")
    file = tmp_path / "admission.yaml"
    file.write_text(
        HEAD + "plugins:\n- {name: A, path: one.yaml}\n- {name: A, path: two.yaml}\n"
        "- {name: B, path: two.yaml, configuration: {z: 1.50, a: [x]}}\n- {name: C}\n"
        "- {name: D, path: /absent.yaml}\n"
    )
    found = read(file, [])
    assert [found.of(name) for name in "ABCE"] == [b"one", b'{"a":["x"],"z":1.5}', None, None]
    with pytest.raises(ConfigurationError, match="Couldn't open admission plugin configuration"):
        found.of("D")
