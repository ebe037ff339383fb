"""kube-apiserver's flags of etcd: each is one of this server's, or has a reason why it is not.

Source: k8s.io/apiserver/pkg/server/options/etcd.go of 1.36.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubetrio.env import Env
from kubetrio.flags import parser
from kubetrio.flags.absence import IgnoredFlag, RefusedFlag
from kubetrio.flags.absent import judge, table
from kubetrio.server.engines.etcd import opened
from kubetrio.store.errors import StoreUnavailable
from kubetrio.testing.server import in_memory

DEFAULTS: dict[str, Any] = {
    "etcd-servers": (),
    "etcd-cafile": None,
    "etcd-certfile": None,
    "etcd-keyfile": None,
    "etcd-prefix": "/registry",
    "storage-media-type": "application/vnd.kubernetes.protobuf",
    "etcd-healthcheck-timeout": 2.0,
    "etcd-readycheck-timeout": 2.0,
    "lease-reuse-duration-seconds": 60,
    "event-ttl": 3600.0,
    "encryption-provider-config": None,
    "encryption-provider-config-automatic-reload": False,
    "storage-backend": "",  # there etcd3, which is taken here too
    "etcd-compaction-interval": 60.0,  # there 5m: history stays for --history-window, which is 5m
}
ELSEWHERE = (
    "etcd-servers-overrides",
    "etcd-count-metric-poll-period",
    "etcd-db-metric-poll-interval",
    "watch-cache",
    "watch-cache-sizes",
    "delete-collection-workers",
)
"""Flags that are given, refused or passed over, with a reason."""


@pytest.mark.parametrize("name", DEFAULTS)
def test_flags_of_this_server(name: str) -> None:
    """With kube-apiserver's default, or a reason above."""
    assert parser.BY_NAME[name].default == DEFAULTS[name]


@pytest.mark.parametrize("name", ELSEWHERE)
def test_other_flags_have_a_reason(name: str) -> None:
    """None of them is unknown."""
    match table().get(name):
        case RefusedFlag(missing=reason) | IgnoredFlag(why=reason):
            assert len(reason) > 20
        case None:
            assert name in parser.BY_NAME


def test_a_refused_flag_ends_the_command() -> None:
    """What users rely on and is not there is said before anything is written."""
    judged = judge(["--etcd-servers-overrides", "/events#http://127.0.0.1:1"])
    [line] = judged.refused
    assert "--etcd-servers-overrides" in line
    assert judged.wrong == []


@pytest.mark.parametrize(
    ("servers", "problem"),
    [
        ("ftp://127.0.0.1:1", "not a URL of etcd, such as https://127.0.0.1:2379"),
        ("http://127.0.0.1:x", "Port could not be cast"),
        ("unix://", "a socket without a path"),
    ],
)
async def test_servers_that_are_none(tmp_path: Path, servers: str, problem: str) -> None:
    """The text says which and why."""
    config = in_memory(tmp_path)
    storage = replace(config.storage, etcd_servers=(servers,))
    with pytest.raises(StoreUnavailable, match=problem):
        async with opened(replace(config, storage=storage), Env()):
            raise AssertionError("it is not opened")
