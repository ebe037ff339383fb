"""Stubs of built-in objects: made of the facts, as they are in the package."""

from __future__ import annotations

from pathlib import Path

from facts.stubs import FOLDER, make


def test_they_are_as_they_would_be_made(tmp_path: Path) -> None:
    """`python -m facts stubs` makes them anew."""
    names = list(make(tmp_path))
    made = {str(path.relative_to(tmp_path)): path for path in tmp_path.rglob("*.py*")}
    kept = {str(path.relative_to(FOLDER)): path for path in FOLDER.glob("[a-z]*/*.py*")}
    assert set(names) <= set(made)
    assert set(made) == set(kept)
    for name, path in made.items():
        assert path.read_text() == kept[name].read_text(), name


def test_what_has_to_be_there() -> None:
    """What an object is, its name, and what its schema asks for; a template needs no name."""
    apps, core = ((FOLDER / group / "v1.pyi").read_text() for group in ("apps", "core"))
    assert (
        """
    apiVersion: Literal["apps/v1"]
    kind: Literal["Deployment"]
    metadata: ObjectMeta
    spec: DeploymentSpec
    status: NotRequired[DeploymentStatus]
"""
        in apps
    )
    assert (
        """
    kind: Literal["Namespace"]
    metadata: ObjectMeta
    spec: NotRequired[NamespaceSpec]
"""
        in core
    )
    assert (
        """
    metadata: NotRequired[TemplateMeta]
    spec: NotRequired[PodSpec]
"""
        in core
    )
    meta = (FOLDER / "meta/v1.pyi").read_text().partition("class ObjectMeta")[2]
    assert "\n    name: str\n" in meta
    reviews = (FOLDER / "authorization/v1.pyi").read_text()
    assert (
        """
    kind: Literal["SubjectAccessReview"]
    metadata: NotRequired[ObjectMeta]
    spec: SubjectAccessReviewSpec
"""
        in reviews
    )
