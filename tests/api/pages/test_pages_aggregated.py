"""Which paths may be another server's."""

from __future__ import annotations

import pytest

from kubetrio.api.pages.aggregated import version_asked
from kubetrio.machinery.names import GroupVersion


@pytest.mark.parametrize(
    ("path", "version"),
    [
        ("/apis/metrics.k8s.io/v1beta1", GroupVersion("metrics.k8s.io", "v1beta1")),
        ("/apis/metrics.k8s.io/v1beta1/nodes/n", GroupVersion("metrics.k8s.io", "v1beta1")),
        ("/api/v1/pods", GroupVersion("", "v1")),
        ("/apis/metrics.k8s.io", None),
        ("/apis", None),
        ("/api", None),
        ("/healthz", None),
        ("", None),
    ],
)
def test_a_path_is_of_its_version(path: str, version: GroupVersion | None) -> None:
    """Groups alone, and what is not of the API, are answered here."""
    assert version_asked(path) == version
