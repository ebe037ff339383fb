"""What a pod asks for."""

from __future__ import annotations

from kubetrio.kinds.core.podresources import total, total_with_overhead


def container(cpu: str, **more: str) -> dict[str, object]:
    return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **more}


def test_containers_add_up_and_init_containers_do_not() -> None:
    """The most expensive moment counts."""
    spec = {
        "containers": [container("1"), container("500m")],
        "initContainers": [container("2"), container("1")],
    }
    assert str(total(spec, "requests")["cpu"]) == "2"


def test_sidecars_run_beside_everything_that_starts_later() -> None:
    """They count for the containers and for the init containers after them."""
    spec = {
        "containers": [container("1")],
        "initContainers": [container("1", restartPolicy="Always"), container("3")],
    }
    assert str(total(spec, "requests")["cpu"]) == "4"
    assert total(spec, "limits") == {}


def test_what_the_pod_says_wins() -> None:
    """For the resources that a pod can say something about."""
    spec = {
        "containers": [container("1")],
        "resources": {"requests": {"cpu": "4", "hugepages-2Mi": "2Mi", "example.com/gpu": "1"}},
    }
    sums = {name: str(value) for name, value in total(spec, "requests").items()}
    assert sums == {"cpu": "4", "hugepages-2Mi": "2Mi"}


def test_overhead_comes_on_top() -> None:
    """Of every request, and of limits that are not zero."""
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "0"}}
    spec = {
        "containers": [{"name": "c", "resources": resources}],
        "overhead": {"cpu": "500m", "memory": "1Mi", "ephemeral-storage": "1Gi"},
    }
    requests = {name: str(value) for name, value in total_with_overhead(spec, "requests").items()}
    assert requests == {"cpu": "1500m", "memory": "1Mi", "ephemeral-storage": "1Gi"}
    limits = {name: str(value) for name, value in total_with_overhead(spec, "limits").items()}
    assert limits == {"cpu": "2500m", "memory": "0"}
    assert str(total(spec, "limits")["cpu"]) == "2"
