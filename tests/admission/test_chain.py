"""The admission chain: order, who is asked, the first refusal."""

from __future__ import annotations

import pytest

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.chain import Chain
from kubetrio.admission.plugin import Base, denied
from kubetrio.kinds.builtin import registry
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError

PODS = GroupResource("", "pods")


def write(operation: Operation = Operation.CREATE, plural: str = "pods") -> Attributes:
    return Attributes(
        operation=operation,
        resource=registry().resources["", "v1", plural],
        subresource="",
        namespace="ns",
        name="n",
        user=UserInfo("u"),
        obj={"metadata": {"name": "n"}},
        old=None,
        dry_run=False,
    )


class Noting(Base):
    """Notes what it is asked; refuses on command."""

    def __init__(self, name: str, log: list[str], *, refuse: bool = False) -> None:
        self.name = name
        self.log = log
        self.refuse = refuse

    async def mutate(self, attributes: Attributes) -> None:
        """Note it."""
        self.log.append(f"mutate {self.name}")
        if self.refuse:
            raise denied(attributes, self.name)

    async def validate(self, attributes: Attributes) -> None:
        """Note it."""
        self.log.append(f"validate {self.name}")


class ForDeletes(Noting):
    """Asked about deletions only."""

    operations = frozenset({Operation.DELETE})


class ForPods(Noting):
    """Asked about pods only."""

    resources = frozenset({PODS})


async def test_plugins_are_asked_in_order() -> None:
    """In each phase."""
    log: list[str] = []
    chain = Chain([Noting("a", log), Noting("b", log)])
    await chain.mutate(write())
    await chain.validate(write())
    assert log == ["mutate a", "mutate b", "validate a", "validate b"]


async def test_the_first_refusal_ends_it() -> None:
    """Plugins behind it do not see the object."""
    log: list[str] = []
    chain = Chain([Noting("a", log, refuse=True), Noting("b", log)])
    with pytest.raises(ApiError) as caught:
        await chain.mutate(write())
    assert log == ["mutate a"]
    assert (caught.value.code, caught.value.message) == (403, 'pods "n" is forbidden: a')


@pytest.mark.parametrize("operation", list(Operation))
async def test_a_plugin_handles_its_operations(operation: Operation) -> None:
    """And hears of no others."""
    log: list[str] = []
    await Chain([ForDeletes("d", log)]).mutate(write(operation))
    assert bool(log) is (operation is Operation.DELETE)


async def test_a_plugin_handles_its_resources() -> None:
    """Also when another resource was asked about before."""
    log: list[str] = []
    chain = Chain([ForPods("p", log)])
    for plural in ("configmaps", "pods", "configmaps", "pods"):
        await chain.mutate(write(plural=plural))
    assert log == ["mutate p"] * 2


async def test_a_plugin_sees_what_those_before_it_changed() -> None:
    """Mutation happens in place or by replacement."""

    class Labels(Base):
        async def mutate(self, attributes: Attributes) -> None:
            """Replace the object."""
            obj = attributes.obj or {}
            seen = obj["metadata"].get("labels") or {}
            labels = {**seen, f"n{len(seen)}": "x"}
            attributes.obj = {**obj, "metadata": {**obj["metadata"], "labels": labels}}

    asked = write()
    await Chain([Labels(), Labels()]).mutate(asked)
    assert asked.obj is not None
    assert asked.obj["metadata"]["labels"] == {"n0": "x", "n1": "x"}


class Restless(Base):
    """A plugin that asks for another round whenever it is asked."""

    name = "Restless"

    def __init__(self) -> None:
        self.rounds: list[bool] = []

    async def mutate(self, attributes: Attributes) -> None:
        """Ask for one."""
        self.rounds.append(attributes.repeating)
        attributes.repeat = True


async def test_there_is_one_more_round_at_most() -> None:
    """A plugin that changed something lets all of them look again, once."""
    first, second = Restless(), Restless()
    await Chain([first, second]).mutate(write())
    assert first.rounds == second.rounds == [False, True]


class Configured(Noting):
    """Its opinion is an object that users write."""

    about_own = False


async def test_what_users_configure_is_not_asked_about_the_servers_own_writes() -> None:
    """Others are; and everybody else's writes are asked about as ever."""
    log: list[str] = []
    chain = Chain([Configured("users", log), Noting("rules", log)])
    mine = write()
    mine.own = True
    await chain.mutate(mine)
    await chain.validate(mine)
    assert log == ["mutate rules", "validate rules"]
    await chain.mutate(write())
    assert log[2:] == ["mutate users", "mutate rules"]
