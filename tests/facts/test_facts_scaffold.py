"""Skeletons of built-in kinds."""

from __future__ import annotations

from pathlib import Path

import pytest

from facts.scaffold import KINDS, plural_of, scaffold


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("Pod", "pods"),
        ("NetworkPolicy", "networkpolicies"),
        ("Gateway", "gateways"),
        ("IngressClass", "ingressclasses"),
    ],
)
def test_plurals(kind: str, plural: str) -> None:
    """As kube-apiserver has them."""
    assert plural_of(kind) == plural


def test_a_group_that_is_new(tmp_path: Path) -> None:
    """Its folder, its table and the module of the kind are made."""
    said = list(scaffold("example.k8s.io", "Widget", kinds=tmp_path))
    assert sorted(path.name for path in (tmp_path / "example").iterdir()) == [
        "__init__.py", "kinds.py", "widgets.py",
    ]  # fmt: skip
    table = (tmp_path / "example" / "kinds.py").read_text()
    assert '    "widgets": lazily(f"{__package__}.widgets").WIDGETS,\n}\n' in table
    assert said[-1] == "facts of schemas/ do not know example.k8s.io Widget yet"


def test_rows_are_in_the_order_of_names(tmp_path: Path) -> None:
    """Also in a table that named nothing by reference."""
    folder = tmp_path / "authorization"
    folder.mkdir()
    (folder / "kinds.py").write_text((KINDS / "authorization" / "kinds.py").read_text())
    for kind in ("Zebra", "Apple", "Melon"):
        list(scaffold("authorization.k8s.io", kind, kinds=tmp_path))
    text = (folder / "kinds.py").read_text()
    names = [line.split('"')[1] for line in text.splitlines() if line.startswith('    "')]
    assert names == sorted(names)
    assert {"zebras", "apples", "melons"} < set(names)
    assert text.count("lazily\n") == 1
    compile(text, "kinds.py", "exec")


def test_what_facts_know_is_filled_in(tmp_path: Path) -> None:
    """Versions, columns and selectable fields."""
    list(scaffold("batch", "Job", kinds=tmp_path))
    text = (tmp_path / "batch" / "jobs.py").read_text()
    assert '"""Name, Status, Completions, Duration, Age, Containers, Images, Selector."""' in text
    assert 'getters={"status.successful": at("status.successful")}' in text
    assert 'defaults={"v1": DEFAULTS}' in text


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """Neither a value nor a module."""
    list(scaffold("batch", "Job", kinds=tmp_path))
    with pytest.raises(ValueError, match="says something of jobs already"):
        list(scaffold("batch", "Job", kinds=tmp_path))
    (tmp_path / "batch" / "cronjobs.py").touch()
    with pytest.raises(ValueError, match=r"cronjobs\.py is there already"):
        list(scaffold("batch", "CronJob", kinds=tmp_path))


def test_names_are_checked(tmp_path: Path) -> None:
    """A kind begins with a capital."""
    with pytest.raises(ValueError, match="'widget' is no name of a kind"):
        list(scaffold("example.k8s.io", "widget", kinds=tmp_path))
