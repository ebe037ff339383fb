"""States are compared without what is particular to a run."""

from __future__ import annotations

from typing import Any

from kubetrio.harness.operators.states import differences


def config_map(name: str, uid: str = "u", **more: Any) -> dict[str, Any]:
    """A ConfigMap."""
    meta = {"name": name, "namespace": "default", "uid": uid, "resourceVersion": uid}
    generated = more.pop("generated", None)
    if generated:
        meta["generateName"] = generated
    return {"kind": "ConfigMap", "metadata": meta, **more}


def test_identities_and_times_do_not_count() -> None:
    """Nor do names that were generated."""
    one = [config_map("a", "1", data={"at": "2023-11-14T22:13:20Z"})]
    other = [config_map("a", "2", data={"at": "2024-01-01T00:00:00.5Z"})]
    assert differences(one, other) == []
    assert (
        differences([config_map("a-x", generated="a-")], [config_map("a-y", generated="a-")]) == []
    )


def test_numbers_and_values_count() -> None:
    """In words."""
    two = [config_map("a-x", generated="a-"), config_map("a-y", generated="a-")]
    assert differences(two, two[:1]) == ["ConfigMap default/a-*: there are 2, not 1"]
    assert differences([config_map("a", data={"x": "1"})], [config_map("a", data={"x": "2"})]) == [
        'ConfigMap default/a: data.x is "1", not "2"'
    ]
    assert differences([config_map("a")], [config_map("a", data={})]) == [
        "ConfigMap default/a: data is missing, not {}"
    ]


def test_events_and_leases_do_not_count() -> None:
    """They say when something happened."""
    assert differences([{"kind": "Lease", "metadata": {"name": "a"}}], []) == []
