"""Plugins on a whole server as flags choose them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.config import Admission, Config, Serving
from kubetrio.kinds.builtin import registry
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.status import ApiError
from kubetrio.plugins.pulling import AlwaysPullImages
from kubetrio.testing.client import Client
from kubetrio.testing.server import ACCOUNTS, open_api

PODS = "/api/v1/namespaces/default/pods"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@asynccontextmanager
async def chosen(directory: Path, **flags: Any) -> AsyncIterator[Client]:
    """A client of a server with these flags."""
    off = (*ACCOUNTS, *flags.pop("disable_plugins", ()))
    config = Config(
        data_dir=directory,
        serving=Serving(secure_port=6443),
        admission=Admission(disable_plugins=off, **flags),
    )
    async with open_api(config=config) as server, server.connect() as client:
        yield client


async def test_always_deny_denies(tmp_path: Path) -> None:
    """Every write of users, none of the server's own and no read."""
    async with chosen(tmp_path, enable_plugins=("AlwaysDeny",)) as client:
        answer = await client.request("POST", PODS, json=POD)
        assert (answer.status, answer.json()["message"]) == (
            403,
            'pods "p" is forbidden: admission control is denying all modifications',
        )
        gone = await client.request("DELETE", "/api/v1/namespaces/default/services/kubernetes")
        assert gone.status == 403
        assert (await client.request("GET", PODS)).status == 200


async def test_plugins_can_be_switched_off(tmp_path: Path) -> None:
    """What they add is not added then, what they refuse is taken."""
    off = ("DefaultTolerationSeconds,Priority", "NamespaceLifecycle")
    async with chosen(tmp_path, disable_plugins=off) as client:
        spec = (await client.request("POST", PODS, json=POD)).json()["spec"]
        assert "tolerations" not in spec
        assert "priority" not in spec
        gone = await client.request("DELETE", "/api/v1/namespaces/kube-public")
        assert gone.status == 200


async def test_how_long_pods_stay_on_failing_nodes(tmp_path: Path) -> None:
    """Both times are flags."""
    times = {"not_ready_toleration_s": 30, "unreachable_toleration_s": -1}
    async with chosen(tmp_path, **times) as client:
        spec = (await client.request("POST", PODS, json=POD)).json()["spec"]
        seconds = {each["key"]: each["tolerationSeconds"] for each in spec["tolerations"]}
        assert seconds == {
            "node.kubernetes.io/not-ready": 30,
            "node.kubernetes.io/unreachable": -1,
        }


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
