"""What changed between two objects, as the end of a message says it.

kube-apiserver prints a diff of its internal structures there; no client can depend on its text, so
this one shows the API's members.
"""

from __future__ import annotations

import difflib
import json
from typing import Any


def difference(old: Any, new: Any) -> str:
    """A unified diff of two values.

    Args:
        old: the value as it is stored.
        new: the value as it would be stored.

    Returns:
        Hunks only, each starting with ``@@``; one empty hunk when nothing differs.
    """
    before, after = (json.dumps(value, indent=2, ensure_ascii=False) for value in (old, new))
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm=""))
    return "\n".join(lines[2:]) or "@@ @@"
