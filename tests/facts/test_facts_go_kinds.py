"""Strategies and registered kinds of Go code."""

from pathlib import Path

import pytest
from trees import plant

from facts.go_kinds import registered, strategies


def test_strategies(tmp_path: Path) -> None:
    """What is said of a subresource is not said of the kind."""
    assert strategies(plant(tmp_path)) == {
        "deployment": {"createOnUpdate": False, "unconditionalUpdate": True},
        "networkpolicy": {"exactGeneration": True},
    }


def test_strategies_that_contradict_each_other(tmp_path: Path) -> None:
    """One folder, two answers: somebody has to look."""
    path = plant(tmp_path) / "pkg/registry/apps/deployment/strategy.go"
    path.write_text(path.read_text().replace("StatusStrategy", "OtherStrategy"))
    with pytest.raises(ValueError, match="AllowUnconditionalUpdate is both"):
        strategies(tmp_path)


def test_registered_kinds(tmp_path: Path) -> None:
    """Versions that are installed, and the internal one; types of machinery belong to nobody."""
    assert registered(plant(tmp_path)) == {
        "apps/__internal/Deployment": "apps.Deployment",
        "apps/__internal/Old": "apps.Old",
        "apps/v1/Deployment": "apps.Deployment",
    }
