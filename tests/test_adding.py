"""`docs/internals/adding.md`, followed to the letter: one file, one row, and a server has it."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from trio.testing import wait_all_tasks_blocked

from kubetrio.config import Admission, authorization
from kubetrio.config.authorization import Authorization
from kubetrio.config.flag import ConfigError
from kubetrio.controllers import table as controllers
from kubetrio.machinery.identity import UserInfo
from kubetrio.plugins import table as plugins
from kubetrio.server.engines import table as engines
from kubetrio.server.parts import Parts
from kubetrio.testing.client import Client
from kubetrio.testing.controllers import running
from kubetrio.testing.server import ACCOUNTS, InProcess, in_memory, open_api

PAGE = Path(__file__).parent.parent / "docs" / "internals" / "adding.md"
BLOCK = re.compile(r"^```(?:python|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"# (kubetrio/\S+\.py)\n")
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


class Adding:
    """What a section of the page says to add.

    Args:
        directory: where its file is put, as if it were in the folder that it names.
        patch: undoes all of it.
    """

    def __init__(self, directory: Path, patch: pytest.MonkeyPatch) -> None:
        self._directory = directory
        self._patch = patch
        self.written: list[str] = []

    def follow(self, heading: str) -> str:
        """Add the file of a section; returns its other block, which is the row."""
        section = PAGE.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
        blocks = BLOCK.findall(section)
        files = [block for block in blocks if FILE.match(block)]
        [row] = [block for block in blocks if not FILE.match(block)]
        assert len(files) == 1, "each touches one file"
        self._put(files[0])
        return str(row)

    def _put(self, text: str) -> None:
        found = FILE.match(text)
        assert found is not None
        path = Path(found[1])
        assert not (PAGE.parent.parent.parent / path).exists(), (
            "the page names a file that is there"
        )
        (self._directory / path.name).write_text(text)
        package = importlib.import_module(".".join(path.parent.parts))
        where = [*package.__path__, str(self._directory)]
        self._patch.setattr(package, "__path__", where)
        self.written.append(".".join(path.with_suffix("").parts))

    def module(self) -> Any:
        """The module that was added."""
        return importlib.import_module(self.written[-1])


@pytest.fixture
def adding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Adding]:
    """Follows the page; nothing stays."""
    directory = tmp_path / "added"
    directory.mkdir()
    made = Adding(directory, monkeypatch)
    yield made
    for name in made.written:
        sys.modules.pop(name, None)
        package, _, module = name.rpartition(".")
        vars(sys.modules[package]).pop(module, None)


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


async def test_an_admission_plugin(
    adding: Adding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is off until a flag names it, and then it refuses."""
    [row] = eval(f"[{adding.follow('An admission plugin').strip()}]", vars(plugins))
    monkeypatch.setattr(plugins, "PLUGINS", (row, *plugins.PLUGINS))
    long = config_map("a-name-that-is-quite-long")
    async with open_api() as server, server.connect() as client:
        assert (await client.request("POST", CONFIGMAPS, json=long)).status == 201
    on = Admission(enable_plugins=("ShortNames",), disable_plugins=ACCOUNTS)
    config = replace(in_memory(tmp_path / "data"), admission=on)
    async with open_api(config=config) as server, server.connect() as client:
        assert (await client.request("POST", CONFIGMAPS, json=config_map("a"))).status == 201
        refused = await client.request("POST", CONFIGMAPS, json=long)
        assert refused.status == 403
        assert refused.json()["message"].endswith("is forbidden: the name is too long")


async def test_an_authorizer(adding: Adding) -> None:
    """Members of the group read, and nothing more."""
    row = adding.follow("An authorizer")
    parts: Parts = eval(row, {"Parts": Parts, **vars(adding.module())})
    reader = UserInfo("r", groups=("readers", "system:authenticated"))
    async with open_api(parts=parts) as server, server.connect(certificate=reader) as client:
        assert (await client.request("GET", CONFIGMAPS)).status == 200
        assert (await client.request("POST", CONFIGMAPS, json=config_map("a"))).status == 403


async def test_a_mode_of_authorization(
    adding: Adding, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Flags take its name, and it decides in its place."""
    rows = eval(f"{{{adding.follow('A mode of authorization')}}}", {"Mode": authorization.Mode})
    [(name, row)] = rows.items()
    with pytest.raises(ConfigError, match="is not a valid mode"):
        Authorization(modes=("RBAC", name))
    monkeypatch.setitem(authorization.MODES, name, row)  # type: ignore[arg-type]  # a dict
    chosen = replace(in_memory(tmp_path), authorization=Authorization(modes=("RBAC", name)))
    auditor = UserInfo("a", groups=("auditors", "system:authenticated"))
    async with open_api(config=chosen) as server, server.connect(certificate=auditor) as client:
        assert (await client.request("GET", CONFIGMAPS)).status == 200
        assert (await client.request("POST", CONFIGMAPS, json=config_map("a"))).status == 403


async def test_a_controller(
    adding: Adding, server: InProcess, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs under the name of its row, and writes."""
    [(name, row)] = eval(f"{{{adding.follow('A controller')}}}", vars(controllers)).items()
    monkeypatch.setitem(controllers.TABLE, name, row)  # type: ignore[arg-type]  # a dict
    assert name in controllers.chosen(["*"])
    async with running(server, name):
        await client.request("POST", CONFIGMAPS, json=config_map("c", a="1", b="2"))
        await wait_all_tasks_blocked()
        found = (await client.request("GET", CONFIGMAPS + "/c")).json()
        assert found["metadata"]["annotations"] == {"example.com/entries": "2"}
        managers = {entry["manager"] for entry in found["metadata"]["managedFields"]}
        assert "kube-controller-manager" in managers


async def test_a_storage_engine(
    adding: Adding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of its row chooses it, and the next server has what the one before stored."""
    row = adding.follow("A storage engine")
    [(name, engine)] = eval(f"{{{row}}}", vars(engines)).items()
    monkeypatch.setitem(engines.TABLE, name, engine)  # type: ignore[arg-type]  # a dict
    config = in_memory(tmp_path / "data")
    config = replace(config, storage=replace(config.storage, in_memory=False, backend=name))
    async with open_api(config=config) as server, server.connect() as client:
        assert (await client.request("POST", CONFIGMAPS, json=config_map("a"))).status == 201
    async with open_api(config=config) as server, server.connect() as client:
        assert (await client.request("GET", CONFIGMAPS + "/a")).status == 200


# ---------------------------------------------------------------------- a built-in kind

ROOT = PAGE.parent.parent.parent
NAMES = (("PriorityClass", "Workload"), ("priorityclass", "workload"), ("workloades", "workloads"))
POST_AND_PRINT = """
import trio
from kubetrio.testing.server import open_api

PATH = "/apis/scheduling.k8s.io/v1/workloads"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}

async def main():
    async with open_api() as server, server.connect() as client:
        body = {"metadata": {"name": "w"}, "value": 1}
        print((await client.request("POST", PATH, json=body)).status)
        table = (await client.request("GET", PATH, headers=TABLE)).json()
        print(table["columnDefinitions"][0]["name"], table["rows"][0]["cells"][0])

trio.run(main)
"""


def renamed(text: str) -> str:
    """What is known of one kind, as known of another."""
    for old, new in NAMES:
        text = text.replace(old, new)
    return text


def know(schemas: Path) -> None:
    """Add facts of a new kind, as ``facts generate`` does: all that is known of another one."""
    path = schemas / "resources.json"
    resources = json.loads(path.read_text())
    record = json.dumps(resources["resources"]["scheduling.k8s.io/v1/priorityclasses"])
    new = {**json.loads(renamed(record)), "shortNames": ["wl"]}
    resources["resources"]["scheduling.k8s.io/v1/workloads"] = new
    path.write_text(json.dumps(resources))
    for name in (
        "kinds", "tables", "field-selectors",
        "types/io.k8s.api.scheduling.v1", "protobuf/k8s.io.api.scheduling.v1",
    ):  # fmt: skip
        path = schemas / f"{name}.json"  # a record is a line
        lines = path.read_text().splitlines()
        added = [f"{renamed(one).rstrip(',')}," for one in lines if "priorityclass" in one.lower()]
        path.write_text("\n".join([lines[0], *added, *lines[1:], ""]))


def test_a_built_in_kind(tmp_path: Path) -> None:
    """What is missing is said, the skeleton and its row are enough, and a server has the kind."""
    for name in ("kubetrio", "schemas", "facts"):
        shutil.copytree(ROOT / name, tmp_path / name)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    section = PAGE.read_text().split("\n## A built-in kind\n")[1].split("\n## ")[0]
    commands = [line for line in section.splitlines() if line.startswith("python -m facts ")]
    scaffold, check = (line.split()[1:] for line in commands)
    [row] = BLOCK.findall(section)

    know(tmp_path / "schemas")
    missing = run(*check)
    assert missing.returncode == 1, missing.stderr
    kinds = "kubetrio.kinds.scheduling.kinds"
    assert missing.stdout == f"scheduling.k8s.io/v1 workloads: {kinds} says nothing of workloads\n"
    made = run(*scaffold)
    assert made.returncode == 0, made.stderr
    changed = {
        str(path.relative_to(tmp_path))
        for path in (tmp_path / "kubetrio").rglob("*.py")
        if not (ROOT / path.relative_to(tmp_path)).exists()
        or path.read_bytes() != (ROOT / path.relative_to(tmp_path)).read_bytes()
    }
    where = "kubetrio/kinds/scheduling"
    assert changed == {f"{where}/kinds.py", f"{where}/workloads.py"}
    assert row in (tmp_path / where / "kinds.py").read_text()
    complete = run(*check)
    assert (complete.stdout, complete.returncode) == ("", 0)
    served = run("-c", POST_AND_PRINT)
    assert served.stdout == "201\nName w\n", served.stderr
