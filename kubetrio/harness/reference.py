"""The reference page of the harness: ``python -m kubetrio.harness.reference FILE``.

It is made of docstrings.
"""

from __future__ import annotations

import sys
from pathlib import Path

import kubetrio.harness
import kubetrio.harness.operators
from kubetrio.embedding.reference import sections

HEAD = """\
# The harness

`kubetrio.harness` opens whole servers for tests and fuzzing, and does scripts of requests.
How it is used: [script requests and replay them](../how-to/script-requests.md), [embed a
server](../how-to/embed.md#in-tests-no-sockets-no-certificates).
The page is made of docstrings by `python -m kubetrio.harness.reference`; a test compares it.
"""


OPERATORS = """
# Operators

`kubetrio.harness.operators` runs operators on servers of the harness and judges what they do; the
functions that look for mistakes need hypothesis and are `explore` of
`kubetrio.harness.operators.exploring` and `walk` of `kubetrio.harness.operators.walking`.
How they are used: [fuzz an operator](../how-to/fuzz-operators.md).
"""


def page() -> str:
    """The page."""
    operators = "".join(sections(kubetrio.harness.operators))
    return HEAD + "".join(sections(kubetrio.harness)) + OPERATORS + operators


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page())
