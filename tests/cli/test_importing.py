"""Manifests that are imported."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from kubetrio.cli.common import Failure
from kubetrio.cli.importing import read

ONE = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {0}\n"


def names(source: str) -> list[str]:
    return [one.label for one in read(source)]


def test_documents_of_a_file(tmp_path: Path) -> None:
    """Empty ones do not count, lists are taken apart, text that looks like a mark stays."""
    file = tmp_path / "a.yaml"
    file.write_text(
        "---\n# nothing\n---  # first\n"
        + ONE.format("a")
        + "  namespace: x\ndata:\n  t: |\n    ---\n    b\n--- \n"
        + '{"apiVersion":"v1","kind":"List","items":['
        + '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}]}'
    )
    assert names(str(file)) == ["ConfigMap x/a", "Pod p"]
    [first, _] = list(read(str(file)))
    assert first.obj["data"] == {"t": "---\nb\n"}


def test_a_directory_and_the_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files below it in order, of the suffixes that manifests have."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/b.yml").write_text(ONE.format("b"))
    (tmp_path / "a.json").write_text('{"apiVersion":"v1","kind":"X","metadata":{"name":"a"}}')
    (tmp_path / "README.md").write_text("- no: manifest")
    assert names(str(tmp_path)) == ["X a", "ConfigMap b"]
    stdin = io.TextIOWrapper(io.BytesIO(ONE.format("c").encode()))
    monkeypatch.setattr("sys.stdin", stdin)
    assert names("-") == ["ConfigMap c"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "document 1: "),
        (ONE.format("a") + "---\njust text\n", "document 2 is no object"),
        ("kind: X\nmetadata: {name: a}\n", "document 1: apiVersion is missing"),
        ("kind: X\napiVersion: v1\nmetadata: {}\n", "document 1: metadata.name is missing"),
    ],
)
def test_what_is_no_manifest(text: str, said: str, tmp_path: Path) -> None:
    """The line says where."""
    file = tmp_path / "a.yaml"
    file.write_text(text)
    with pytest.raises(Failure) as caught:
        list(read(str(file)))
    assert str(caught.value).startswith(f"{file}, {said}")
