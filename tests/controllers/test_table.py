"""Which controllers run: kube-controller-manager's syntax, and names that stand in one place."""

from __future__ import annotations

import pytest

from kubetrio.config import Config
from kubetrio.config.flag import rows
from kubetrio.controllers.table import TABLE, Context, Row, UnknownController, chosen, made
from kubetrio.testing.server import InProcess


def _never(name: str, context: Context) -> object:
    raise AssertionError(name, context)


SOME = {
    "a-controller": Row(_never, "a"),
    "b-controller": Row(_never),
    "off-controller": Row(_never, on_by_default=False),
}


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (["*"], "ab"),
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


@pytest.mark.parametrize("name", ["nobody", "-nobody", "-*", "--a", "A"])
def test_a_name_of_none_is_refused(name: str) -> None:
    """In kube-controller-manager's words."""
    with pytest.raises(UnknownController) as caught:
        chosen(["*", name], SOME)
    wanted = name.removeprefix("-")
    assert str(caught.value) == f'"{wanted}" is not in the list of known controllers'


def test_the_reference_names_all_controllers() -> None:
    """What can be switched off can be read there."""
    [row] = [row for row in rows(Config) if row.field == "controllers"]
    assert [name for name in TABLE if f"`{name}`" not in row.flag.more] == []


async def test_controllers_have_the_names_of_the_table(server: InProcess) -> None:
    """In their metrics too."""
    api = server.api
    context = Context(api.registry, api.operations, api.informers, api.quotas, api.env)
    controllers = made(["*"], context)
    assert [one.name for one in controllers] == list(TABLE)
    assert [one.queue.name for one in controllers] == list(TABLE)
