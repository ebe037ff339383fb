"""``kubetrio version``: what this program is."""

from __future__ import annotations

import json
import platform
from typing import TYPE_CHECKING

from kubetrio import __version__
from kubetrio.cli.common import describe, told
from kubetrio.flags import parser as flags

if TYPE_CHECKING:
    from kubetrio.cli.commands import Call

EXAMPLES = """\
  kubetrio version
  kubetrio version --output json
"""


def add(parser: flags.Parser) -> None:
    """Describe the command and add its arguments."""
    describe(parser, "Print the version of kubetrio and of the Kubernetes API it serves.", EXAMPLES)
    parser.add_argument(
        "-o",
        "--output",
        choices=("text", "json", "yaml"),
        default="text",
        help="how (default: text)",
    )


@told
def run(call: Call) -> int:
    """Print versions."""
    import apsw

    from kubetrio.datadir import SCHEMA_VERSION
    from kubetrio.release import KUBERNETES_VERSION

    versions: dict[str, str | int] = {
        "kubetrio": __version__,
        "kubernetes": f"v{KUBERNETES_VERSION}",
        "python": platform.python_version(),
        "schema": SCHEMA_VERSION,  # newest that it opens; docs/reference/versions.md
        "sqlite": apsw.sqlite_lib_version(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }
    output = call.options.output
    if output == "json":
        print(json.dumps(versions, indent=2))
    elif output == "yaml":
        import yaml

        print(yaml.safe_dump(versions, sort_keys=False), end="")
    else:
        print(f"kubetrio {__version__}, Kubernetes API v{KUBERNETES_VERSION}")
    return 0
