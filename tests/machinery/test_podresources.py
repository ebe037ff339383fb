"""What a pod asks for."""

from __future__ import annotations

from kubetrio.machinery.podresources import total


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
