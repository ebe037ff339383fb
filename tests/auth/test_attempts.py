"""Counts of credentials, and what the log says of bad ones."""

from __future__ import annotations

import logging

import pytest
import trio
import trio.testing

from kubetrio.auth import attempts
from kubetrio.auth.attempts import Attempts, label_of


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("admin", "admin"),
        ("kubelet", "kubelet"),
        ("jane@example.com", "email_id"),
        ("system:anonymous", "other"),
        ("kubernetes-admin", "other"),
    ],
)
def test_users_in_metrics(name: str, label: str) -> None:
    """As kube-apiserver shows them."""
    assert label_of(name) == label


async def test_one_line_a_minute(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """However many there are; the next minute has a line of its own, a quiet one has none."""
    made = Attempts()
    caplog.set_level(logging.WARNING)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(made.run)
        for number in range(5000):
            made.failed(f"10.0.0.{number % 7}")
        assert not caplog.records
        await trio.sleep(61)
        assert len(caplog.records) == 1
        told = vars(caplog.records[0])["kubetrio_fields"]
        assert told == {"requests": 5000, "addresses": 7}
        await trio.sleep(1000)
        assert len(caplog.records) == 1
        made.failed("10.0.0.1")
        await trio.sleep(61)
        assert len(caplog.records) == 2
        made.failed("10.0.0.1")
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert len(caplog.records) == 3  # the end does not swallow what was not told


async def test_addresses_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has a whole network to try from fills no memory."""
    monkeypatch.setattr(attempts, "MOST_ADDRESSES", 10)
    made = Attempts()
    for number in range(100):
        made.failed(f"2001:db8::{number:x}")
    assert len(made._addresses) == 10
