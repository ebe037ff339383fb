"""The comparison of empty members: which places it tries, and what it tells apart."""

from fuzz.empty_values import comparable, difference, places, put
from fuzz.mutations import dumps
from fuzz.steps import Reply

CONFIG = {"$ref": "io.k8s.api.core.v1.ConfigMap"}


def test_places_hold_lists_maps_and_structs() -> None:
    """Those that are there and those that could be, with what is empty there."""
    found = dict(places({"metadata": {"labels": {"a": "b"}}, "immutable": True}, CONFIG))
    assert found["data",] == {}
    assert found["metadata", "labels"] == {}
    assert found["metadata", "finalizers"] == []
    assert ("immutable",) not in found
    assert ("kind",) not in found


def test_a_place_is_set_in_a_copy() -> None:
    """The object stays as it is."""
    obj = {"a": [{"b": 1}]}
    assert put(obj, ("a", 0, "c"), []) == {"a": [{"b": 1, "c": []}]}
    assert obj == {"a": [{"b": 1}]}


def test_what_differs_between_any_two_servers_is_left_out() -> None:
    """Times, identities, versions and addresses."""
    uids = [f"0b5c5a2e-0000-4000-8000-00000000000{digit}" for digit in (1, 2)]
    one, two = (
        comparable(
            Reply(
                200,
                dumps(
                    {
                        "metadata": {"uid": uid, "name": "x", "resourceVersion": uid[-1]},
                        "spec": {"clusterIP": f"10.0.0.{uid[-1]}", "owner": uid},
                    }
                ),
            )
        )
        for uid in uids
    )
    assert difference(one, two) == ""
    assert difference({"a": []}, {"a": None}) == ".a: there [] here null"
    assert difference({"a": 1}, {"a": True}) == ".a: there 1 here true"
