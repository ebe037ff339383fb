"""Checks the types of the Python examples in the pages, one file for each, in one run of mypy."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^ *```python\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)

# Examples have no annotations where readers would not write any; what the official client says of
# its types is stricter than what it takes.
CONFIG = """
[mypy]
check_untyped_defs = True
ignore_missing_imports = True
[mypy-kubetrio.*]
follow_imports = silent
[mypy-kubernetes.*]
follow_imports = skip
"""


def main() -> int:
    """Write the examples beside each other and look at them."""
    with tempfile.TemporaryDirectory() as made:
        files = []
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
            for number, text in enumerate(BLOCK.findall(page.read_text())):
                name = re.sub(r"\W", "_", str(page.relative_to(ROOT).with_suffix("")))
                files.append(Path(made) / f"{name}_{number}.py")
                files[-1].write_text(dedent(text))
        config = Path(made) / "mypy.ini"
        config.write_text(CONFIG)
        options = ["--config-file", str(config), "--cache-dir", ".mypy_cache/examples"]
        command = [sys.executable, "-m", "mypy", *options, *map(str, files)]
        return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
