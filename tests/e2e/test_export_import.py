"""Objects of one server are exported and imported into another."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubetrio.testing.process import ServerProcess

Start = Callable[..., ServerProcess]
pytestmark = pytest.mark.e2e
Object = dict[str, Any]
GROUP = "export.example.com"
DEFINITION: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"crates.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "crates", "kind": "Crate"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}
                        },
                    }
                },
            }
        ],
    },
}


def kubetrio(*arguments: object, code: int = 0, given: str = "") -> tuple[str, str]:
    """Run a command; what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "kubetrio", *map(str, arguments)],
        capture_output=True,
        text=True,
        input=given,
        check=False,
        timeout=60,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


def manifests() -> list[Object]:
    """In an order in which they could not be applied."""

    def at(api: str, kind: str, name: str, **more: Any) -> Object:
        return {
            "apiVersion": api,
            "kind": kind,
            "metadata": {"name": name, "namespace": "shop"},
            **more,
        }

    ports = [{"port": 80}]
    return [
        at(f"{GROUP}/v1", "Crate", "c", spec={"n": 3}),
        at("v1", "ConfigMap", "settings", data={"text": "two\nlines\n", "on": "yes"}),
        at("v1", "Secret", "key", stringData={"k": "v"}),
        at("v1", "Service", "web", spec={"selector": {"app": "web"}, "ports": ports}),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
        DEFINITION,
    ]


def test_a_round_trip(start_server: Start, tmp_path: Path) -> None:
    """What went into one server comes out of the other, from a directory or in one stream."""
    first, second = tmp_path / "first", tmp_path / "second"
    start_server(first)
    text = "\n---\n".join(json.dumps(one) for one in manifests())
    said, _ = kubetrio("import", "-", "--data-dir", first, given=text)
    assert said == "6 of 6 objects applied\n"
    stream, _ = kubetrio("export", "--data-dir", first, "--secrets")
    kinds = [line.split()[-1] for line in stream.splitlines() if line.startswith("kind: ")]
    assert sorted(kinds) == sorted(one["kind"] for one in manifests())
    folder = tmp_path / "folder"
    kubetrio("export", "--data-dir", first, "--secrets", "-o", f"{folder}/")
    assert (folder / "shop" / f"crates.{GROUP}" / "c.yaml").stat().st_mode & 0o777 == 0o600
    start_server(second)
    said, _ = kubetrio("import", folder, "--data-dir", second)
    assert said == "6 of 6 objects applied\n"
    again, _ = kubetrio("export", "--data-dir", second, "--secrets")
    assert again == stream
    some, _ = kubetrio("export", "cm", "crates", "-n", "shop", "--data-dir", second)
    assert [line for line in some.splitlines() if line.startswith("kind")] == [
        "kind: ConfigMap",
        "kind: Crate",
    ]


def test_each_failure_is_a_line(start_server: Start, tmp_path: Path) -> None:
    """The others are applied; a dry run stores nothing."""
    data, file = tmp_path / "data", tmp_path / "a.yaml"
    start_server(data)
    good = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "good"}}
    bad = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "Bad"}}
    odd = {"apiVersion": "none.example.com/v1", "kind": "Odd", "metadata": {"name": "o"}}
    file.write_text("\n---\n".join(json.dumps(one) for one in (bad, odd, good)))
    for dry in (["--dry-run"], []):
        said, errors = kubetrio("import", file, "--data-dir", data, *dry, code=1)
        assert said == f"1 of 3 objects {'would be applied' if dry else 'applied'}\n"
        lines = sorted(errors.splitlines())
        assert len(lines) == 2
        assert lines[0].startswith(f"kubetrio: {file}, document 1: ConfigMap Bad: ")
        assert lines[1] == (
            f"kubetrio: {file}, document 2: Odd o: the server has no kind Odd in "
            "none.example.com/v1"
        )
        found, _ = kubetrio("export", "cm", "-n", "default", "--data-dir", data)
        assert ("name: good" in found) is not bool(dry)
    _, errors = kubetrio("export", "secrets", "--data-dir", data, code=1)
    assert errors == "kubetrio: Secrets are exported with --secrets only\n"
