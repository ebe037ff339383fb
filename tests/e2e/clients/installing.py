"""What a test installs for itself; it is skipped, and says why, where that cannot be had."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

LIMIT_S = 90


def _run(command: Sequence[str], folder: Path, what: str) -> None:
    try:
        subprocess.run(
            command, cwd=folder, check=True, capture_output=True, text=True, timeout=LIMIT_S
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"{what} was not installed within {LIMIT_S} s")
    except subprocess.CalledProcessError as error:
        last = error.stderr.strip().splitlines()[-1:] or [f"exit code {error.returncode}"]
        pytest.skip(f"{what} cannot be installed: {last[0]}")


def from_pypi(folder: Path, *requirements: str) -> Path:
    """Install packages of Python into a directory of their own; returns it."""
    target = folder / "packages"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(target)]
    _run([*command, *requirements], folder, requirements[0])
    return target


def from_npm(folder: Path, package: str) -> None:
    """Install a package of Node into a directory, with what it needs."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm on PATH")
    flags = ("--no-audit", "--no-fund", "--ignore-scripts", f"--prefix={folder}")
    _run([npm, "install", *flags, package], folder, package)
