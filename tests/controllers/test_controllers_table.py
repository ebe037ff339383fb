"""Which controllers run: kube-controller-manager's syntax, and names that stand in one place."""

from __future__ import annotations

import logging
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.auth.trust import ClusterAuthorities, RootBundle
from kubetrio.cli.flagsreference import filled
from kubetrio.config import Config, Simulation, Storage
from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.table import (
    TABLE,
    WITH_NODES,
    Row,
    UnknownController,
    acted_on,
    chosen,
    made,
    wanted,
)
from kubetrio.informers.informer import Item
from kubetrio.server.files import StartError
from kubetrio.server.parts import Parts
from kubetrio.testing.controllers import context_of
from kubetrio.testing.server import InProcess, in_memory, open_api

SOME = {
    "a-controller": Row("nowhere.A", "a"),
    "b-controller": Row("nowhere.B"),
    "off-controller": Row("nowhere.Off", on_by_default=False),
}


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (["*"], "ab"),
        (["-*"], ""),
        (["*", "-*"], ""),
        (["-*", "b-controller"], "b"),
        ([], ""),
        (["*", "-a-controller"], "b"),
        (["-a-controller", "*"], "b"),
        (["-a-controller"], ""),
        (["b-controller"], "b"),
        (["*", "off-controller"], "abo"),
        (["a-controller", "-a-controller"], "a"),
        (["-a-controller", "a-controller"], ""),
        (["*", "-a"], "b"),
        (["a"], "a"),
    ],
)
def test_names_switch_controllers(asked: list[str], names: str) -> None:
    """The first word on a controller holds; without a star nothing runs that is not named."""
    assert "".join(name[0] for name in chosen(asked, SOME)) == names


@pytest.mark.parametrize("name", ["nobody", "-nobody", "--a", "A"])
def test_a_name_of_none_is_refused(name: str) -> None:
    """In kube-controller-manager's words."""
    with pytest.raises(UnknownController) as caught:
        chosen(["*", name], SOME)
    wanted = name.removeprefix("-")
    assert str(caught.value) == f'"{wanted}" is not in the list of known controllers'


def test_the_reference_names_all_controllers() -> None:
    """What can be switched off can be read there; the names come from the table."""
    text = filled("<!-- begin flags -->\n<!-- end flags -->")
    assert [name for name in TABLE if f"`{name}`" not in text] == []


def test_rows_are_the_paths_of_classes() -> None:
    """Each with the name of its row; nothing is loaded before its controller is to run."""
    assert all(isinstance(row.controller, str) for row in TABLE.values())
    classes = {name: row.make for name, row in TABLE.items()}
    assert {name: getattr(made, "name", "") for name, made in classes.items()} == {
        name: name for name in TABLE
    }
    assert all(isinstance(made, type) and issubclass(made, Controller) for made in classes.values())


async def test_a_class_has_the_name_of_its_row(server: InProcess) -> None:
    """A controller under another name would be switched by one name and counted under another."""
    with pytest.raises(ValueError, match="row 'farewell' has the name 'greeting-controller'"):
        made(["farewell"], context_of(server), {"farewell": Row(Greeting)})


async def test_controllers_have_the_names_of_the_table(server: InProcess) -> None:
    """In their metrics too."""
    controllers = made(["*", *TABLE], context_of(server, ClusterAuthorities(RootBundle())))
    assert [one.name for one in controllers] == list(TABLE)
    assert [one.queue.name for one in controllers] == list(TABLE)


def configured(directory: Path, *controllers: str) -> Config:
    """A server that runs these controllers."""
    plain = in_memory(directory)
    return Config(
        data_dir=plain.data_dir,
        serving=plain.serving,
        storage=plain.storage,
        controllers=controllers,
    )


async def test_a_server_names_a_controller_that_it_does_not_have(tmp_path: Path) -> None:
    """Before it writes anything."""
    config = configured(tmp_path / "new", "*", "-nobody")
    with pytest.raises(StartError) as caught:
        async with open_api(config=config):
            pass
    assert str(caught.value) == '--controllers: "nobody" is not in the list of known controllers'
    assert not config.data_dir.exists()


CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
CLAIM: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "c"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


@pytest.mark.parametrize(
    ("controllers", "status"),
    [
        (("*",), 404),
        (("*", "-persistentvolumeclaim-protection-controller"), 200),
        (("pvc-protection",), 404),
        ((), 200),
    ],
)
async def test_a_controller_that_is_switched_off_does_nothing(
    tmp_path: Path, mock_clock: MockClock, controllers: tuple[str, ...], status: int
) -> None:
    """A claim that is deleted waits for somebody else then."""
    config = configured(tmp_path, *controllers)
    async with open_api(config=config, kept=True) as server, server.connect() as client:
        assert (await client.request("POST", CLAIMS, json=CLAIM)).status == 201
        await client.request("DELETE", CLAIMS + "/c")
        await wait_all_tasks_blocked()
        assert (await client.request("GET", CLAIMS + "/c")).status == status


class Greeting(Controller):
    """A controller of an embedder."""

    name = "greeting-controller"
    seen: ClassVar[list[str]] = []

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.follow(context.registry.resources["", "v1", "configmaps"], self._changed)

    def _changed(self, old: Item | None, new: Item | None) -> None:
        if new is not None and old is None:
            self.queue.add(new.key)

    async def sync(self, key: str) -> None:
        self.seen.append(key)


async def test_an_embedder_adds_a_controller(mock_clock: MockClock) -> None:
    """It runs with the others, and its queue is shown with theirs."""
    seen = Greeting.seen
    seen.clear()
    parts = Parts(controllers={"greeting-controller": Row(Greeting)})
    async with open_api(parts=parts, kept=True) as server, server.connect() as client:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hello"}}
        await client.request("POST", "/api/v1/namespaces/default/configmaps", json=body)
        await wait_all_tasks_blocked()
        assert seen.count("/registry/configmaps/default/hello") == 1
        shown = (await client.request("GET", "/metrics")).body.decode()
        assert f'workqueue_adds_total{{name="greeting-controller"}} {len(seen)}.0' in shown
        assert 'workqueue_depth{name="resourcequota-controller"} 0.0' in shown


def test_what_controllers_act_on_is_known() -> None:
    """Of those that run, so that nobody is warned of it."""
    table = {
        "a": Row("nowhere.A", on_by_default=False, acts_on=("apps", "deployments")),
        "b": Row("nowhere.B"),
    }
    assert acted_on(["*"], table) == frozenset()
    assert acted_on(["*", "a"], table) == {("apps", "deployments")}


def test_what_is_off_is_not_loaded() -> None:
    """A server that runs none of the controllers of workloads does not pay for them."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "import trio\n"
        "from kubetrio.controllers.table import TABLE\n"
        "from kubetrio.testing.controllers import running\n"
        "from kubetrio.testing.server import open_api\n"
        "async def main():\n"
        "    async with open_api() as server, running(server, '*'):\n"
        "        pass\n"
        "trio.run(main)\n"
        "off = {row.controller.rpartition('.')[0] for row in TABLE.values()\n"
        "       if not row.on_by_default}\n"
        "off |= {'kubetrio.controllers.podcontrol', 'kubetrio.simulation'}\n"
        "print(sorted(off & sys.modules.keys()), len(off))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] 22\n"


@pytest.mark.parametrize(
    ("asked", "nodes", "runs"),
    [
        (("*",), 0, ()),
        (("*",), 2, WITH_NODES),
        (("*", "-job"), 2, tuple(name for name in WITH_NODES if name != "job-controller")),
        (("job", "simulated-node-controller"), 2, ("job-controller", "simulated-node-controller")),
        (("*", "-*"), 2, ()),
    ],
)
def test_simulated_nodes_bring_their_controllers(
    asked: tuple[str, ...], nodes: int, runs: tuple[str, ...]
) -> None:
    """Where all are asked for; who names them one by one has those."""
    memory = Storage(in_memory=True)
    config = Config(storage=memory, controllers=asked, simulation=Simulation(nodes=nodes))
    off = {name for name, row in TABLE.items() if not row.on_by_default}
    assert [name for name in chosen(wanted(config)) if name in off] == [
        name for name in TABLE if name in runs
    ]


async def test_a_simulation_is_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With its controllers; a server without one says nothing of it."""
    caplog.set_level(logging.INFO, "kubetrio.server")
    for nodes in (0, 1):
        config = replace(
            in_memory(tmp_path / str(nodes)),
            simulation=Simulation(nodes=nodes),
            controllers=("*", "-daemonset"),
        )
        async with open_api(config=config, kept=True):
            pass
    (told,) = (one for one in caplog.records if one.getMessage() == "nodes are simulated")
    names = vars(told)["kubetrio_fields"]["controllers"].split()
    assert names == [
        name for name in TABLE if name in WITH_NODES and name != "daemonset-controller"
    ]
