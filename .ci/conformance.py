"""Replay recorded conversations of a kube-apiserver that must pass, listed in scenarios.txt.

Usage: ``python .ci/conformance.py CONFORMANCE_DIR [--update]``; the list only ever grows.
``--update`` adds every scenario that passes now.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIST = HERE / "scenarios.txt"
TOKENS = (
    'ci-admin,admin,admin-uid,"system:masters"\n'
    'ci-alice,alice,alice-uid,"devs"\n'
    'ci-bob,bob,bob-uid,"devs"\n'
)


def replay(conformance: Path, url: str, tokens: Path, names: list[str], report: Path) -> int:
    """Run the recordings; returns the exit code of the replayer."""
    only = [part for name in names for part in ("--only", name)]
    goldens = sorted(str(path) for path in (conformance / "golden").glob("*.json"))
    command = [
        sys.executable, str(conformance / "replay.py"), "check", "--server", url, "--insecure",
        "--token-file", str(tokens), "--quiet", "--jobs", "4", "--max-wait", "2",
        "--json", str(report), *only, *goldens,
    ]  # fmt: skip
    return subprocess.run(command, check=False, timeout=900).returncode


def main(arguments: list[str]) -> int:
    """Start a server, replay, compare with the list."""
    conformance, update = Path(arguments[0]).resolve(), "--update" in arguments
    must = LIST.read_text().split() if LIST.exists() else []
    with tempfile.TemporaryDirectory() as folder:
        tokens = Path(folder, "tokens.csv")
        tokens.write_text(TOKENS)
        command = [
            sys.executable, "-m", "kubetrio", "serve", "--data-dir", str(Path(folder, "data")),
            "--secure-port", "0", "--token-auth-file", str(tokens),
            # As the kube-apiserver was started that was recorded.
            "--disable-admission-plugins=ServiceAccount", "--allow-privileged=false",
        ]  # fmt: skip
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            line = server.stdout.readline() if server.stdout else ""
            found = re.search(r"https://\S+", line)
            if found is None:
                print(f"the server did not start: {line}", file=sys.stderr)
                return 1
            report = Path(folder, "report.json")
            code = replay(conformance, found[0], tokens, [] if update else must, report)
            scenarios = json.loads(report.read_text())["scenarios"]
            if not update:
                # An address given at random may be one that a scenario names, which the replayer
                # then takes for a literal: what is wrong is wrong twice.
                again = [entry["name"] for entry in scenarios if entry["failed"]]
                if code and again:
                    print("once more:", *again)
                    code = replay(conformance, found[0], tokens, again, report)
                return code
            passing = {entry["name"] for entry in scenarios if not entry["failed"]}
            LIST.write_text("\n".join(sorted(passing | set(must))) + "\n")
            print(f"{len(passing)} of {len(scenarios)} scenarios pass")
            return 0
        finally:
            server.terminate()
            server.wait(timeout=30)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
