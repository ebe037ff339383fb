"""Checks the types of the Python examples in the pages, by mypy and by pyright.

Each example is a file, and each type checker reads them in one run; beside them pyright reads what
typed objects are checked by (``tests/typed``, which the project's own run of mypy reads too).
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parent.parent
# A paragraph that begins with the name of a file says which one its block is.
BLOCK = re.compile(
    r"(?:^`(\w+\.py)` [^\n]*\n\n)?^ *```python\n(.*?)^ *```$", re.MULTILINE | re.DOTALL
)
TYPED = ROOT / "tests" / "typed"
DOWNLOAD_S = 300.0

# Examples have no annotations where readers would not write any; what the official client says of
# its types is stricter than what it takes.
UNTYPED = ("kubernetes", "kubernetes_asyncio")
MYPY = """
[mypy]
check_untyped_defs = True
ignore_missing_imports = True
[mypy-kubetrio.*]
follow_imports = silent
[mypy-kubernetes.*]
follow_imports = skip
"""
# The first programs of who embeds the server pass `mypy --strict`.
STRICT = ("docs_how_to_write_a_controller_0", "docs_how_to_embed_0")
STRICTLY = """
disallow_any_generics = True
disallow_incomplete_defs = True
disallow_subclassing_any = True
disallow_untyped_calls = True
disallow_untyped_decorators = True
disallow_untyped_defs = True
extra_checks = True
no_implicit_reexport = True
strict_equality = True
warn_return_any = True
"""
PYRIGHT = {
    "extraPaths": [str(ROOT)],
    "typeCheckingMode": "standard",
    "enableTypeIgnoreComments": False,  # those are mypy's
    "stubPath": "typings",
}
ANYTHING = "from typing import Any\n\ndef __getattr__(name: str) -> Any: ...\n"


def main() -> int:
    """Write the examples beside each other and look at them."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        files = [*examples(folder)]
        return mypy(folder, files) or pyright(folder)


def examples(folder: Path) -> list[Path]:
    """Write the examples of all pages; those that are files by name are imported by others."""
    files: list[Path] = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for number, (file, text) in enumerate(BLOCK.findall(page.read_text())):
            name = re.sub(r"\W", "_", str(page.relative_to(ROOT).with_suffix("")))
            files.append(folder / (file or f"{name}_{number}.py"))
            with files[-1].open("x") as example:
                example.write(dedent(text))
    return files


def mypy(folder: Path, files: list[Path]) -> int:
    """Check them by mypy; returns its exit code."""
    config = folder / "mypy.ini"
    config.write_text(MYPY + "".join(f"[mypy-{name}]{STRICTLY}" for name in STRICT))
    options = ["--config-file", str(config), "--cache-dir", ".mypy_cache/examples"]
    command = [sys.executable, "-m", "mypy", *options, *map(str, files)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def pyright(folder: Path) -> int:
    """Check them by pyright; returns its exit code, 0 where it cannot be run.

    The package downloads pyright itself when it is first used, and Node.js where there is none.
    """
    command = [sys.executable, "-m", "pyright"]
    try:
        there = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, check=False, timeout=DOWNLOAD_S
        )
    except subprocess.TimeoutExpired:
        print(f"pyright is skipped: it was not downloaded in {DOWNLOAD_S:.0f} s")
        return 0
    if there.returncode:
        said = (there.stderr or there.stdout).strip().splitlines()
        print(f"pyright is skipped: {said[-1] if said else 'it cannot be run'}")
        return 0
    for name in UNTYPED:
        for package in (name, f"{name}/client"):
            stub = folder / "typings" / package / "__init__.pyi"
            stub.parent.mkdir(parents=True)
            stub.write_text(ANYTHING)
    for path in TYPED.glob("*.py"):
        shutil.copy(path, folder / f"typed_{path.name}")
    (folder / "pyrightconfig.json").write_text(json.dumps(PYRIGHT))
    options = ["--warnings", "--pythonpath", sys.executable, "--project", str(folder)]
    return subprocess.run([*command, *options], cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
