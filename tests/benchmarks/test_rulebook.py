"""The stages that are measured take what rows send, and end with what the server would store."""

import json
from collections.abc import Callable

import pytest

from benchmarks import manifests, rulebook
from benchmarks.errors import BenchError
from benchmarks.manifests import Object
from benchmarks.rulebook import RulebookSpec


def spec(make: Callable[[], Object], content: str = "") -> RulebookSpec:
    group, version, resource = manifests.PLACES[make()["kind"]]
    return RulebookSpec(
        group=group,
        version=version,
        resource=resource,
        content=content or manifests.template(make()),
        count=1,
    )


@pytest.mark.parametrize("make", [manifests.pod, manifests.deployment, manifests.config_map])
def test_the_stages_are_a_whole_create(make: Callable[[], Object]):
    """Defaults are there, fields are owned, and nothing that was sent is lost."""
    asked = spec(make)
    value = (asked.content % (3, 4)).encode()
    for stage in rulebook.stages(asked).values():
        value = stage(value)
    stored = json.loads(value)
    meta = stored["metadata"]
    assert meta["uid"]
    assert meta["managedFields"][0]["manager"] == "bench"
    sent = json.loads(asked.content % (3, 4))
    assert meta["name"] == sent["metadata"]["name"]
    for member in sent.keys() - {"metadata", "spec"}:
        assert stored[member] == sent[member]
    assert sent.get("spec", {}).keys() <= stored.get("spec", {}).keys()


def test_an_object_that_is_refused_is_no_measurement():
    pod = manifests.pod()
    pod["spec"]["restartPolicy"] = "Sometimes"
    refused = manifests.template(pod)
    with pytest.raises(BenchError, match="refused"):
        rulebook.measure(spec(manifests.pod, refused))


def test_a_resource_that_does_not_exist_is_no_measurement():
    nothing = RulebookSpec(group="", version="v1", resource="things", content="{}", count=1)
    with pytest.raises(BenchError, match="no resource things"):
        rulebook.stages(nothing)
