"""A read-only server over what a script has written, for the pages of a script.

The script is done again on a new server in memory, in a run of its own on a mock clock; what it
wrote, at its revisions and times, is then all that the server of the pages has.  The file may come
from others: see `scriptfile`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from kubetrio.cli.common import Failure, say
from kubetrio.cli.kept import Handle, serve_kept
from kubetrio.cli.scriptfile import read_script, refuse_flags
from kubetrio.config import Config, Local, Storage
from kubetrio.env import Env
from kubetrio.harness.account import account
from kubetrio.harness.observing import Observed, observed
from kubetrio.harness.offline import offline
from kubetrio.harness.script import Script, ScriptError
from kubetrio.harness.setup import SetupError
from kubetrio.resources.objects import restamp
from kubetrio.server import StartError
from kubetrio.server.parts import Kept
from kubetrio.store.memory import InMemoryStore, Retention, open_memory

FOREVER = Retention(compact_interval_s=0.0)
HOW = "a script is what kubetrio.harness records and kubetrio replay --write writes"


class Played:
    """A script that was done again.

    Args:
        name: of its file.
        script: as the file has it.
        replay: what was done now.
    """

    def __init__(self, name: str, script: Script, replay: Observed) -> None:
        self.name = name
        self._script = script
        self._replay = replay

    @asynccontextmanager
    async def serve(self, env: Env) -> AsyncIterator[Handle]:
        """Answer requests about the script, for as long as the block lasts.

        Args:
            env: clocks, randomness and threads.

        Raises:
            StartError: its objects cannot be served.
        """
        replay = self._replay
        steps = await env.run_blocking(account, self.name, self._script, replay)
        kept = Kept(
            words=f"{self.name} as its {steps.count} steps have left the cluster, "
            f"at revision {replay.end}.",
            revision=replay.end,
            steps=steps,
        )

        @asynccontextmanager
        async def opened(_config: Config, env: Env) -> AsyncIterator[InMemoryStore]:
            async with open_memory(FOREVER, restamp, env.now) as store:
                store.repeat(replay.states, replay.floor, replay.events)
                yield store

        with TemporaryDirectory(prefix="kubetrio-ui-") as folder:
            config = Config(
                data_dir=Path(folder),
                name=self.name,
                storage=Storage(in_memory=True, compact_interval_s=0.0, event_ttl_s=0.0),
                local=Local(secure_serving=False),
                controllers=("-*",),
                feature_gates=self._script.setup.config(Path(folder)).feature_gates,
            )
            async with serve_kept(config, env, kept, opened) as handle:
                yield handle


def play(path: Path) -> Played:
    """Read a script and do it again.  Blocking, in a run of Trio of its own.

    Args:
        path: of its file; ``-`` for standard input.

    Raises:
        Failure: there is none, or its server cannot be made.
    """
    if path.is_dir():
        raise Failure(f"{path} is a directory, of a server perhaps: kubetrio ui --data-dir {path}")
    try:
        script = read_script(path)
    except Failure as failure:
        raise Failure(f"{failure}: {HOW}, and a kubeconfig is named with --kubeconfig") from failure
    refuse_flags(path, script)
    try:
        with offline():
            replay = observed(script)
    except (ScriptError, SetupError, StartError) as error:
        raise Failure(f"{path}: {error}") from error
    say(f"{path}: {len(script.steps)} steps were done again on a new server in memory")
    return Played(path.name if str(path) != "-" else "script", script, replay)
