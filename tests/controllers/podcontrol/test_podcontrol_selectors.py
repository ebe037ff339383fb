"""`kubetrio.controllers.podcontrol.selectors`: who selects what has no owner."""

from __future__ import annotations

from typing import Any

import orjson

from kubetrio.controllers.podcontrol.selectors import OwnerSelectors, owners_of
from kubetrio.controllers.podcontrol.view import view_of
from kubetrio.informers.informer import Item
from kubetrio.kinds.builtin import registry

SETS = registry().resources["apps", "v1", "replicasets"]


def owner(name: str, selector: Any) -> Item:
    """A ReplicaSet that selects something."""
    obj = {"metadata": {"name": name, "namespace": "n"}, "spec": {"selector": selector}}
    return Item(SETS.key("n", name), orjson.dumps(obj), 1, orjson.loads)


def test_owners_select_by_labels() -> None:
    """Each change of an owner counts; what cannot be parsed selects nothing."""
    selectors = OwnerSelectors(SETS)
    red = owner("red", {"matchLabels": {"color": "red"}})
    wrong = owner("wrong", {"matchExpressions": [{"key": "color", "operator": "Is"}]})
    none = owner("none", None)
    owners = [red, wrong, none]
    assert [selectors.note(None, one) for one in owners] == ["n/red", "n/wrong", "n/none"]
    assert list(selectors.selecting(owners, {"color": "red"})) == ["n/red"]
    blue = owner("red", {"matchLabels": {"color": "blue"}})
    assert selectors.note(red, blue) == "n/red"
    assert list(selectors.selecting([blue, wrong, none], {"color": "red"})) == []
    assert selectors.of("n", "red").matches({"color": "blue"})
    assert selectors.note(blue, None) is None
    assert list(selectors.selecting([wrong, none], {"color": "blue"})) == []


def pod(name: str, controller: str = "") -> Any:
    """A pod, of a controller or of none."""
    meta: dict[str, Any] = {"name": name, "namespace": "n", "uid": name}
    if controller:
        reference = {"kind": "ReplicaSet", "name": controller, "uid": "u", "controller": True}
        meta["ownerReferences"] = [{"apiVersion": "apps/v1", **reference}]
    return view_of({"metadata": meta, "spec": {}, "status": {}})


def test_pods_name_their_controllers() -> None:
    """The one before a change and the one after it; none is named for an orphan."""
    assert list(owners_of(None, pod("a"))) == []
    assert list(owners_of(pod("a", "one"), pod("a", "two"))) == ["n/one", "n/two"]
