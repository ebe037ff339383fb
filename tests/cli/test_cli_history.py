"""``kubetrio history`` and ``kubetrio diff`` of what a server has left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from kubetrio.cli import main
from kubetrio.config import Config, Local
from kubetrio.config.audit import Audit
from kubetrio.server import open_server

MAPS = "/api/v1/namespaces/default/configmaps"
POLICY = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"
Say = Callable[..., list[str]]


async def _lived(folder: Path) -> None:
    """Have a server live through writes of a second, and end."""
    policy = folder / "policy.yaml"
    policy.write_text(POLICY)
    config = Config(
        data_dir=folder / "data",
        local=Local(secure_serving=False),
        audit=Audit(log_path=str(folder / "audit.log"), policy_file=policy),
    )
    async with open_server(config) as server:
        client = server.client()
        kind = client.kind("v1", "ConfigMap")
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
        made["metadata"]["namespace"] = "default"  # type: ignore[index]
        await client.create(made | {"data": {"a": "1"}}, field_manager="one")
        for manager, value in (("two", "1"), ("two", "2"), ("three", "3")):
            patch = {"data": {manager: value}}
            await client.patch(kind, "settings", patch, "default", field_manager=manager)
        await client.delete(kind, "settings", "default")


@pytest.fixture
def say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Say:
    """Runs a command on the directory that a server has left; returns its lines."""
    trio.run(_lived, tmp_path)

    def run(*arguments: str, code: int = 0) -> list[str]:
        assert main([*arguments, "--data-dir", str(tmp_path / "data")]) == code
        return capsys.readouterr().out.splitlines()

    return run


def test_each_revision_has_its_manager_and_its_user(say: Say, tmp_path: Path) -> None:
    """Also of two writes in a second by one manager, and of the deletion."""
    head, *lines = say("history", "cm/settings", "--audit-log-path", str(tmp_path / "audit.log"))
    assert head.split() == ["REVISION", "TIME", "VERB", "MANAGER", "GENERATION", "USER"]
    rows = [line.split() for line in lines]
    assert [(row[2], row[3]) for row in rows] == [
        ("create", "one"), ("update", "two"), ("update", "two"), ("update", "three"),
        ("delete", "-"),
    ]  # fmt: skip
    assert {row[5] for row in rows} == {rows[0][5]}
    assert rows[0][5] != "-"


def test_a_difference_names_objects_as_kubectl_does(say: Say) -> None:
    """With the namespace, both revisions and their times; resourceVersion is left out."""
    past = [line.split() for line in say("history", "cm/settings")[1:]]
    revisions = [line[0] for line in past]
    lines = say("diff", "cm/settings", "--from", revisions[0], "--to", revisions[1])
    name = "configmap/settings -n default at revision"
    assert lines[0] == f"--- {name} {revisions[0]}\t{past[0][1]}"
    assert lines[1] == f"+++ {name} {revisions[1]}\t{past[1][1]}"
    assert [line for line in lines[2:] if line.startswith(("+", "-"))] == ['+  two: "1"']
    shown = say(
        "diff", "cm/settings", "--from", revisions[0], "--to", revisions[1], "--show-managed-fields"
    )
    assert any("resourceVersion" in line for line in shown)
    assert any("manager: two" in line for line in shown)
