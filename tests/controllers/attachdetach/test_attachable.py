"""What is kept of claims, volumes and drivers, and the names that are made of it."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import orjson
import pytest

from kubetrio.controllers.attachdetach.attachable import (
    Driver,
    attachment_name,
    claim_view,
    driver_view,
    parts_of,
    volume_view,
)


def test_the_name_of_an_attachment() -> None:
    """As the CSI plugin of Kubernetes makes it: of handle, driver and node."""
    digest = sha256(b"pvc-1hostless.simulation.kubetrio.ionode-0").hexdigest()
    name = attachment_name("hostless.simulation.kubetrio.io", "pvc-1", "node-0")
    assert name == f"csi-{digest}"


def test_parts_of_a_unique_name() -> None:
    """A handle may have any characters; other volumes than those of CSI have no parts."""
    assert parts_of("kubernetes.io/csi/d.example^a/b^c") == ("d.example", "a/b^c")
    assert parts_of("kubernetes.io/nfs/x") == ("", "")


@pytest.mark.parametrize(
    ("modes", "exclusive"),
    [
        ([], False),
        (["ReadWriteOnce"], True),
        (["ReadWriteOncePod"], True),
        (["ReadWriteOnce", "ReadOnlyMany"], False),
        (["ReadWriteMany"], False),
    ],
)
def test_on_how_many_nodes_a_volume_is(modes: list[str], exclusive: bool) -> None:
    """Without modes it is not known, and nothing is refused."""
    stored: dict[str, Any] = {
        "metadata": {"name": "v"},
        "spec": {
            "accessModes": modes,
            "csi": {"driver": "d", "volumeHandle": "h"},
            "claimRef": {"namespace": "n", "name": "c", "uid": "u"},
        },
    }
    volume = volume_view(orjson.dumps(stored))
    assert volume.exclusive is exclusive
    assert (volume.claim, volume.claim_uid) == ("n/c", "u")
    assert volume.unique_name == "kubernetes.io/csi/d^h"


def test_a_claim_has_its_volume_when_it_is_bound() -> None:
    """Not when it names one."""
    claim: dict[str, Any] = {"metadata": {"uid": "u"}, "spec": {"volumeName": "v"}}
    assert claim_view(orjson.dumps(claim)).volume == ""
    claim["status"] = {"phase": "Bound"}
    assert claim_view(orjson.dumps(claim)).volume == "v"


def test_a_driver_attaches_unless_it_says_otherwise() -> None:
    """An annotation says that the server plays it."""
    assert driver_view(b'{"metadata": {}, "spec": {}}') == Driver(attaches=True, simulated=False)
    said = {"simulation.kubetrio.io/driver": "true"}
    stored = {"metadata": {"annotations": said}, "spec": {"attachRequired": False}}
    assert driver_view(orjson.dumps(stored)) == Driver(attaches=False, simulated=True)
