"""Where kinds are stored, by upstream's test."""

from pathlib import Path

import pytest

from facts.__main__ import main
from facts.storage import FILE, Stored, check, published
from kubetrio.kinds.builtin import registry
from kubetrio.storagevalues.table import folders

HEAD = """\
func GetEtcdStorageData() map[schema.GroupVersionResource]StorageData {
\tetcdStorageData := map[schema.GroupVersionResource]StorageData{
"""


def entry(group: str, version: str, resource: str, path: str, kind: str = "") -> str:
    """One entry of the file."""
    expected = f"\t\t\tExpectedGVK:       {kind},\n" if kind else ""
    return (
        f'\t\tgvr("{group}", "{version}", "{resource}"): {{\n'
        f'\t\t\tStub:              `{{"metadata": {{"name": "a"}}}}`,\n'
        f"\t\t\tExpectedEtcdPath:  {path},\n{expected}\t\t}},\n"
    )


def test_entries() -> None:
    """The folder of an object with and without a namespace; the version, if it is another."""
    text = (
        HEAD
        + entry("", "v1", "nodes", '"/registry/minions/node1"')
        + entry("", "v1", "pods", '"/registry/pods/" + namespace + "/pod1"')
        + entry("a.io", "v1", "things", '"/registry/things/t"', 'gvkP("a.io", "v1beta1", "Thing")')
    )
    assert published(text) == {
        ("", "v1", "nodes"): Stored("/registry/minions/", "v1"),
        ("", "v1", "pods"): Stored("/registry/pods/", "v1"),
        ("a.io", "v1", "things"): Stored("/registry/things/", "a.io/v1beta1"),
    }


def planted(root: Path, **wrong: str) -> Path:
    """A tree that says of each kind what this server does, but for some."""
    path = root / FILE
    path.parent.mkdir(parents=True)
    text = HEAD
    for prefix, folder in folders(registry().resources.values()).items():
        kind = folder.kind
        group, _, version = folder.api_version.rpartition("/")
        said = f'gvkP("{group}", "{wrong.get(kind.resource, version)}", "{kind.kind}")'
        text += entry(kind.group, kind.version, kind.resource, f'"{prefix}a"', said)
    path.write_text(text)
    return root


def test_differences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """None is nothing; one is a line, and the exit code of diff."""
    assert list(check(planted(tmp_path / "same"))) == []
    tree = planted(tmp_path / "other", leases="v2")
    assert main(["storage", str(tree)]) == 1
    assert capsys.readouterr().out.startswith("coordination.k8s.io/v1/leases: Stored(")


def test_another_folder_is_no_tree(tmp_path: Path) -> None:
    """Nor is a file without entries."""
    assert main(["storage", str(tmp_path)]) == 2
    (tmp_path / FILE).parent.mkdir(parents=True)
    (tmp_path / FILE).write_text("package etcd\n")
    with pytest.raises(ValueError, match="no entries"):
        list(check(tmp_path))
