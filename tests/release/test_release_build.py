"""Checksums of two builds are compared by name."""

from pathlib import Path

from release.build import SUMS, differing, sums


def test_what_differs_is_named(tmp_path: Path) -> None:
    """Files that only one side has too; the list of checksums is in none."""
    one, other = tmp_path / "one", tmp_path / "other"
    for folder, text in ((one, "a"), (other, "b")):
        folder.mkdir()
        (folder / "same").write_text("same")
        (folder / "changed").write_text(text)
        (folder / SUMS).write_text(text)
    (other / "more").touch()
    assert list(sums(one)) == ["changed", "same"]
    assert differing(sums(one), sums(other)) == ["changed", "more"]
    assert differing(sums(one), sums(one)) == []
