"""Which container of a pod a request is about."""

from __future__ import annotations

import pytest

from kubetrio.api.proxy.containers import container_of
from kubetrio.machinery.status import ApiError


def test_one_of_several_containers_must_be_named() -> None:
    """The message lists them."""
    several = {
        "metadata": {"name": "p"},
        "spec": {
            "containers": [{"name": "a"}, {"name": "b"}],
            "initContainers": [{"name": "i"}],
        },
    }
    with pytest.raises(ApiError) as caught:
        container_of(several, "")
    assert caught.value.message == (
        "a container name must be specified for pod p, choose one of: [i a b]"
    )
    assert container_of(several, "i") == "i"
