"""Metrics of the program and its process."""

from __future__ import annotations

from kubetrio.api.pages.selfmetrics import build_families, families_of, feature_families
from kubetrio.release import KUBERNETES_VERSION
from kubetrio.testing.client import Client


def test_the_version_is_in_labels() -> None:
    """Of two families, whose value is 1."""
    build, version = build_families()
    assert build.samples[0].labels["git_version"].startswith("v1.")
    assert build.samples[0].value == version.samples[0].value == 1
    assert version.samples[0].labels["binary"] == KUBERNETES_VERSION


def test_gates_are_on_by_default_or_by_choice() -> None:
    """All that are known, a hundred in a family."""
    known = {f"Gate{n}": ("BETA", n % 2 == 0) for n in range(101)}
    families = list(feature_families(lambda: known, {"Gate1": True, "Gate2": False}))
    values = {row.labels["name"]: row.value for one in families for row in one.samples}
    assert [len(one.samples) for one in families] == [100, 1]
    assert (values["Gate0"], values["Gate1"], values["Gate2"], values["Gate3"]) == (1, 1, 0, 0)


def test_sources_of_all_of_them() -> None:
    """What a scrape asks: version, gates, process."""
    assert len(families_of(dict, {})) == 3


async def test_a_scrape_has_them(client: Client) -> None:
    """On the page of metrics."""
    text = (await client.request("GET", "/metrics")).body.decode()
    for name in ("kubernetes_build_info", "kubernetes_feature_enabled", "process_open_fds"):
        assert f"\n{name}" in text
