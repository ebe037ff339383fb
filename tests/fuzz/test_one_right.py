"""Nobody gains a right: the sweep of all that is served, requests at random, and holes it finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fuzz import one_right
from fuzz.one_right import USER, Broken, Right, everything, opened, play, requests_about, run, sweep
from kubetrio.machinery.identity import Attributes
from kubetrio.resources import deciding
from kubetrio.resources.listing import Listing
from kubetrio.schema.kind import Kind

SERVED = 3_000  # requests, at least: every method on every path of some 110 entries of discovery
DONE = 1_200  # of them that do what they ask for


def test_one_right_lets_nobody_do_more() -> None:
    """Each request needs the right that the documentation names, and does no more than that."""
    seen = run(everything, 0)
    assert sum(seen.values()) > SERVED
    assert seen[200] + seen[201] > DONE
    assert 500 not in seen


def test_strange_requests_gain_nothing() -> None:
    """A few of those that run for an hour elsewhere."""
    assert run(play, 1, 250) > 0


async def _swept(resource: str, below: str) -> None:
    async with opened(0) as world, world.server.connect(certificate=USER) as client:
        for served in world.served:
            if (served.resource, served.subresource) == (resource, below):
                for asking in requests_about(world, served):
                    await sweep(world, client, asking)


def sweep_of(resource: str, below: str = "") -> None:
    async def swept() -> None:
        await _swept(resource, below)

    run(swept)


async def _unasked(_: object) -> None:
    pass


def _everywhere(whole: Callable[..., Any]) -> Callable[..., Any]:
    def opened_wide(self: Listing, resource: Kind, namespace: str, *more: Any) -> Any:
        return whole(self, resource, "", *more)

    return opened_wide


def test_a_creation_that_nobody_asked_about_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """As there was one before: with `update` or `patch` alone."""
    monkeypatch.setattr(deciding, "check_may_create", _unasked)
    with pytest.raises(Broken, match=r"created /registry/configmaps/here/nobody"):
        sweep_of("configmaps")
    with pytest.raises(Broken, match=r"created /registry/leases/here/nobody"):
        sweep_of("leases")


def test_a_status_that_changes_more_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through a subresource its part of the object is written, and nothing else."""
    monkeypatch.setattr(deciding, "keep_immutable_parts", lambda new, *_: new)
    with pytest.raises(Broken, match=r"changed \['spec'\]"):
        sweep_of("deployments", "status")


def test_an_object_of_another_namespace_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is shown one that the right is not about has gained one."""
    monkeypatch.setattr(Listing, "open", _everywhere(Listing.open))
    with pytest.raises(Broken, match=r"showed /secrets there/"):
        sweep_of("secrets")


@pytest.mark.parametrize(
    ("right", "asked", "covered"),
    [
        (Right("get", "", "pods"), {"verb": "get", "resource": "pods"}, True),
        (Right("get", "", "pods"), {"verb": "list", "resource": "pods"}, False),
        (Right("get", "", "pods", "log"), {"verb": "get", "resource": "pods"}, False),
        (Right("get", "", "pods", "", "a"), {"verb": "get", "resource": "pods"}, False),
        (Right("get", "", "pods"), {"verb": "get", "resource": "pods", "namespace": "a"}, True),
        (Right("get", "", "pods"), {"verb": "get", "resource_request": False}, False),
    ],
)
def test_what_a_right_covers(right: Right, asked: dict[str, Any], covered: bool) -> None:
    """The gate of the sweep is right itself."""
    assert right.covers(Attributes(user=USER, **asked)) is covered


def test_every_subresource_that_writes_has_its_parts() -> None:
    """A new one is not passed over: it says what of the object it writes, or that it is no part."""

    async def names() -> set[str]:
        async with opened(0) as world:
            return {
                served.subresource
                for served in world.served
                if served.subresource and {"update", "patch"} & set(served.verbs)
            }

    assert run(names) - {"proxy"} <= set(one_right.PARTS)
