"""`kubetrio fuzz-operator` with the operator of its page, right and with mistakes."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kubernetes", reason="the kubernetes client is not installed")
pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "fuzz-any-operator.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
[SOURCE] = [text for language, text in BLOCKS if language == "python"]
[DEFINITION] = [text for language, text in BLOCKS if language == "yaml"]
[COMMAND] = [text for language, text in BLOCKS if language == "sh"]
REPORT = next(text for language, text in BLOCKS if language == "text")
TELL = """def tell(*arguments):
    try:
        custom.replace_namespaced_custom_object_status(*arguments)
    except client.ApiException as error:
        if error.status != 409:
            raise


def owned("""
MISTAKES: Mapping[str, tuple[str, str, str]] = {
    "conflict": (
        "conflict-not-retried",
        "custom.replace_namespaced_custom_object_status(",
        "tell(",
    ),
    "busy": (
        "refusal-not-retried",
        "if error.status != 409:",
        "if error.status not in (409, 429):",
    ),
    "finalizer": ("finalizer-lost", "[*finalizers, FINALIZER]", "[FINALIZER]"),
    "stale": (
        "stale-cache-trusted",
        "        make(config_map(shelf, title, owner))\n",
        """        own = [book for book in books.values() if owned(book, meta["uid"])]
        if not any(book["metadata"]["generateName"] == f"{title}-" for book in own):
            book = config_map(shelf, "", owner)
            book["metadata"]["generateName"] = f"{title}-"
            core.create_namespaced_config_map(namespace, book)
""",
    ),
    "storm": (
        "status-write-storm",
        '{"books": len(titles)}',
        '{"books": shelf.get("status", {}).get("books", 0) + 1}',
    ),
    "entry": ("left-behind", 'remove(f"{name}-entry", namespace)', "pass"),
}
"""Mistakes: the rule that tells of each, and what is changed in the operator of the page."""


def changed(mistake: str) -> str:
    """The operator with a mistake."""
    _, right, wrong = MISTAKES[mistake]
    assert SOURCE.count(right) >= 1
    source = SOURCE.replace(right, wrong, 1)
    if mistake == "conflict":
        source = source.replace("def owned(", TELL, 1)
    if mistake == "stale":  # its caches are right when nothing goes wrong
        source = source.replace("if title not in", "if title.rpartition('-')[0] not in", 1)
        source = source.replace(
            "    shelf = shelves.get(", "    time.sleep(0.2)\n    shelf = shelves.get("
        )
    return source


def fuzzed(folder: Path, *words: str) -> tuple[int, str, dict[str, Any]]:
    """Exit code, output and report of the command."""
    (folder / "shelf.yaml").write_text(DEFINITION)
    report = folder / "report.json"
    command = [sys.executable, "-m", "kubetrio", "fuzz-operator", "--crd", "shelf.yaml"]
    done = subprocess.run(
        [*command, "--report", str(report), *words],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert report.exists(), done.stderr
    return done.returncode, done.stdout + done.stderr, json.loads(report.read_text())


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found_told_and_shrunk(mistake: str, tmp_path: Path) -> None:
    """To fewer than six steps; the command that is printed finds it again."""
    (tmp_path / "shelves.py").write_text(changed(mistake))
    words = ("--limit", "10m", "--", sys.executable, "shelves.py")
    code, printed, report = fuzzed(tmp_path, *words)
    assert code == 1, printed
    rules = {one["rule"] for one in report["found"]}
    assert MISTAKES[mistake][0] in rules, printed
    assert len(report["plan"]) < 6, printed
    repeat = shlex.split(report["repeat"])
    assert repeat[0] == "kubetrio"
    again = subprocess.run(
        [sys.executable, "-m", *repeat], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert again.returncode == 1, again.stdout + again.stderr
    assert any(f"{rule}: " in again.stdout for rule in rules)


@pytest.mark.parametrize("seed", ["0", "1", "7"])
def test_the_right_operator_passes(seed: str, tmp_path: Path) -> None:
    """All that the walk shows is tried, and nothing is reported."""
    (tmp_path / "shelves.py").write_text(SOURCE)
    words = ("--seed", seed, "--runs", "45", "--limit", "10m", "--", sys.executable, "shelves.py")
    code, printed, report = fuzzed(tmp_path, *words)
    assert code == 0, printed
    assert report["found"] == []
    assert report["runs"] >= 45
    assert "nothing found in" in printed


def test_the_page_is_followed(tmp_path: Path) -> None:
    """In an empty directory: its operator passes, and its example of a mistake is told so."""
    (tmp_path / "shelves.py").write_text(SOURCE)
    (tmp_path / "shelf.yaml").write_text(DEFINITION)
    words = shlex.split(COMMAND)
    words = [sys.executable if word == "python" else word for word in words]
    assert words[0] == "kubetrio"
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("nothing found in ")
    (tmp_path / "shelves.py").write_text(changed("entry"))
    code, printed, _ = fuzzed(tmp_path, "--", sys.executable, "shelves.py")
    assert code == 1
    assert printed.startswith(REPORT)
