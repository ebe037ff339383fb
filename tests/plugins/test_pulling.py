"""AlwaysPullImages: policies of pods that other plugins changed."""

from __future__ import annotations

import pytest

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.kinds.builtin import registry
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.status import ApiError
from kubetrio.plugins.pulling import AlwaysPullImages


def pulled(*policies: str) -> Attributes:
    """A new pod with containers of such policies."""
    containers = [
        {"name": f"c{index}", "image": "i", "imagePullPolicy": policy}
        for index, policy in enumerate(policies)
    ]
    return Attributes(
        operation=Operation.CREATE,
        resource=registry().resources["", "v1", "pods"],
        subresource="",
        namespace="default",
        name="p",
        user=UserInfo("u"),
        obj={"metadata": {"name": "p"}, "spec": {"containers": containers}},
        old=None,
        dry_run=False,
    )


@pytest.mark.parametrize(
    ("policies", "code", "why"),
    [
        (
            ("Never",),
            403,
            (
                'pods "p" is forbidden: spec.containers[0].imagePullPolicy: Unsupported value: '
                '"Never": supported values: "Always"'
            ),
        ),
        (
            ("Never", "Always", "IfNotPresent"),
            500,
            (
                '[pods "p" is forbidden: spec.containers[0].imagePullPolicy: Unsupported value: '
                '"Never": supported values: "Always", pods "p" is forbidden: '
                'spec.containers[2].imagePullPolicy: Unsupported value: "IfNotPresent": '
                'supported values: "Always"]'
            ),
        ),
    ],
)
async def test_policies_that_others_changed(policies: tuple[str, ...], code: int, why: str) -> None:
    """Are refused behind mutation, as kube-apiserver words it."""
    with pytest.raises(ApiError) as caught:
        await AlwaysPullImages().validate(pulled(*policies))
    assert (caught.value.code, caught.value.message) == (code, why)
