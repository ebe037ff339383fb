"""The pages about fuzzing clients and admission rules are followed literally."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "how-to"


def blocks(page: str) -> list[tuple[str, str]]:
    """Fenced blocks of a page, with their languages."""
    text = (PAGES / page).read_text()
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run(folder: Path, *arguments: str) -> str:
    """What a program prints; it has to succeed."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.e2e
def test_clients(tmp_path: Path) -> None:
    """In one process by pytest, and over a socket with the official client."""
    counter, test, socket = [text for language, text in blocks("fuzz-clients.md")]
    (tmp_path / "counter.py").write_text(counter)
    (tmp_path / "test_counter.py").write_text(test)
    assert "1 passed" in run(
        tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_counter.py"
    )
    assert run(tmp_path, "-c", socket) == "['a', 'b', 'kube-root-ca.crt']\n"


@pytest.mark.e2e
@pytest.mark.slow
def test_admission_rules(tmp_path: Path) -> None:
    """The hole is found and replayed; without it there is no way."""
    if importlib.util.find_spec("cel_expr_python") is None:
        pytest.skip("needs CEL: pip install 'kubetrio[cel]'")
    (_, policy), (_, ways), (_, replay) = blocks("fuzz-admission-rules.md")
    (tmp_path / "policy.yaml").write_text(policy)
    (tmp_path / "ways.py").write_text(ways)
    printed = run(tmp_path, "ways.py")
    assert printed.count('"do": "request"') == 4
    assert printed.count("/scale") == 1
    assert "/scale  200" in run(tmp_path, "-m", *replay.split())
    text = (PAGES / "fuzz-admission-rules.md").read_text()
    resources, expression = re.findall(r"With `(.*?)` in the policy and `(.*?)` as", text)[0]
    whole = policy.replace("resources: [deployments]", resources)
    whole = whole.replace("object.spec.replicas <= 5", f"{expression!r}")
    assert whole.count("scale") == 1
    (tmp_path / "policy.yaml").write_text(whole)
    assert run(tmp_path, "ways.py") == "no way around it\n"
