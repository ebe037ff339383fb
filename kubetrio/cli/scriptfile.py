"""Files with scripts of requests, as commands are given them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kubetrio.cli.common import Failure

if TYPE_CHECKING:
    from kubetrio.harness.script import Script


def read_script(path: Path) -> Script:
    """Return the script of a file; ``-`` is standard input.  Blocking.

    Raises:
        Failure: it cannot be read.
    """
    from kubetrio.harness.script import Script, ScriptError

    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text()
        return Script.parse(text)
    except OSError as error:
        raise Failure(f"cannot read {path}: {error.strerror}") from error
    except (ScriptError, UnicodeDecodeError) as error:
        raise Failure(f"{path}: {error}") from error
