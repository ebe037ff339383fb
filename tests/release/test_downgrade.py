"""What a release does with directories that a later one has written.

A release opens each schema version up to its own.  The page on versions lists them, so that a user
sees which earlier release opens a directory; ``v*`` tags, where the checkout has them, are tried.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import apsw
import pytest
from release_directories import RELEASES, opened, told, unpacked, verified
from trio.testing import MockClock

from kubetrio import __version__
from kubetrio.cli import main
from kubetrio.datadir import SCHEMA_VERSION
from kubetrio.store.errors import StoreError
from release import fixture

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "versions.md"
ROW = re.compile(r"^\| (\d+)\.(\d+)\.(\d+) \| (\d+) \|", re.MULTILINE)
LATER = "9.0.0"
REFUSAL = (
    f"has schema version {SCHEMA_VERSION + 1}, which kubetrio {LATER} wrote, and kubetrio "
    f"{__version__} knows versions up to {SCHEMA_VERSION}: start kubetrio {LATER} or later, or "
    "restore a backup that was made before the upgrade"
)
OLDER_RUN = """
import sys
from pathlib import Path
sys.path.insert(0, {checkout!r})
import kubetrio, trio, trio.testing
from kubetrio.config import Config, Serving
from kubetrio.env import seeded
from kubetrio.server import open_server
from kubetrio.flags.given import configured

async def main():
    async with open_server(configured({flags!r}, ()), seeded(5, start={start!r})) as server:
        await server.settled()
        client = server.client()
        maps = client.kind("v1", "ConfigMap")
        settings = await client.get(maps, "settings", "shop")
        assert settings["data"]["colour"] == "black", settings
        settings["data"]["colour"] = "white"
        await client.update(settings)

assert Path(kubetrio.__file__).is_relative_to({checkout!r})
trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory of the newest release."""
    return unpacked(RELEASES[-1], "stopped", tmp_path)


@pytest.fixture
def later(place: Path) -> Path:
    """The same, as a release to come leaves it that has another schema."""
    with closing(apsw.Connection(str(place / fixture.DATA / "kubetrio.db"))) as connection:
        connection.execute("INSERT INTO migration VALUES (?, 0)", (SCHEMA_VERSION + 1,))
        note = (f"release:{LATER}", 1 << 50)
        connection.execute("INSERT INTO meta VALUES (?, ?)", note)
    return place


def digests(place: Path) -> dict[str, str]:
    """Of the files of a directory with content, without the lock."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (place / fixture.DATA).iterdir()
        if path.is_file() and path.stat().st_size and path.name not in fixture.LEFT_OUT
    }


async def test_a_later_schema_is_refused_and_left_alone(
    later: Path, autojump_clock: MockClock
) -> None:
    """With the versions, the release that wrote it, and what to do."""
    before = digests(later)
    with pytest.raises(StoreError, match=REFUSAL):
        async with opened(later):
            pass
    assert digests(later) == before


@pytest.mark.parametrize(
    "command",
    [("verify",), ("export", "-o", "-"), ("compact",), ("backup", "{}/backup.tar"), ("serve",)],
    ids=lambda words: words[0],
)
def test_each_command_refuses_a_later_schema(
    command: tuple[str, ...], later: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """In one line; nothing is made."""
    before = digests(later)
    name, *rest = (word.format(tmp_path) for word in command)
    assert main([name, *rest, "--data-dir", str(later / fixture.DATA)]) != 0
    out, err = capfd.readouterr()
    assert err.startswith("kubetrio: ")
    assert REFUSAL in err
    assert (out, err.count("\n")) == ("", 1)
    assert digests(later) == before
    assert not (tmp_path / "backup.tar").exists()


def test_the_page_lists_the_schema_of_each_release() -> None:
    """As the release itself said; those of one minor release are of one schema."""
    rows = {tuple(map(int, row[:3])): int(row[3]) for row in ROW.findall(PAGE.read_text())}
    listed = {".".join(map(str, version)): schema for version, schema in rows.items()}
    assert list(rows) == sorted(rows, reverse=True)
    assert set(RELEASES) <= set(listed)
    assert listed[__version__] == SCHEMA_VERSION
    assert max(listed.values()) == SCHEMA_VERSION
    for (newer, its), (older, former) in pairwise(rows.items()):
        assert its >= former
        assert newer[:2] != older[:2] or its == former


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_says_the_schema_that_the_page_lists(release: str, tmp_path: Path) -> None:
    """In what it answered when its directories were made, and in them."""
    place = unpacked(release, "stopped", tmp_path)
    (schema,) = re.findall(rf"^\| {re.escape(release)} \| (\d+) \|", PAGE.read_text(), re.MULTILINE)
    assert told(place)["schema"] == verified(place)[1].schema == int(schema)


def earlier() -> list[str]:
    """Commits of releases that this checkout has; those of KUBETRIO_EARLIER where it is set."""
    named = os.environ.get("KUBETRIO_EARLIER")
    if named is not None or not (ROOT / ".git").exists():
        return (named or "").split()
    command = ("git", "-C", str(ROOT), "tag", "--list", "v[0-9]*")
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.stdout.split()


@pytest.fixture(params=earlier() or [""])
def checkout(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The tree of an earlier release."""
    if not request.param:
        pytest.skip("no tag of an earlier release is here, and KUBETRIO_EARLIER names no commit")
    command = ("git", "-C", str(ROOT), "archive", "--format=tar", request.param)
    tree = subprocess.run(command, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(tree)) as tar:
        tar.extractall(tmp_path / "earlier", filter="data")
    return tmp_path / "earlier"


def run(checkout: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A run of Python with the package of an earlier release."""
    environ = {**os.environ, "PYTHONPATH": str(checkout)}
    return subprocess.run(
        (sys.executable, *command), check=False, capture_output=True, text=True,
        cwd=checkout, env=environ, timeout=300,
    )  # fmt: skip


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.parametrize("further", [(), fixture.JOURNAL], ids=["plain", "journaling"])
async def test_a_release_opens_what_today_wrote(
    checkout: Path, place: Path, further: tuple[str, ...], autojump_clock: MockClock
) -> None:
    """Where the schema is one that it knows; it refuses it in one line where it is not."""
    async with opened(place, further) as server:
        client = server.client()
        maps = client.kind("v1", "ConfigMap")
        settings = await client.get(maps, "settings", fixture.NAMESPACE)
        settings["data"]["colour"] = "black"
        await client.update(settings)
    version = run(checkout, "-m", "kubetrio", "version", "--output", "json")
    knows = json.loads(version.stdout)["schema"]
    flags = fixture.flags(place / fixture.DATA, place / fixture.KEYS_FILE, further)
    start = told(place)["end"] + 60
    script = OLDER_RUN.format(checkout=str(checkout), flags=flags, start=start)
    done = run(checkout, "-c", script)
    verify = run(checkout, "-m", "kubetrio", "verify", "--data-dir", str(place / fixture.DATA))
    if knows < SCHEMA_VERSION:
        assert f"has schema version {SCHEMA_VERSION}" in verify.stderr
        assert done.returncode != 0
        return
    assert done.returncode == 0, done.stderr
    assert verify.returncode == 0, verify.stdout
    async with opened(place, further) as server:
        client = server.client()
        settings = await client.get(maps, "settings", fixture.NAMESPACE)
        assert settings["data"]["colour"] == "white"
    assert verified(place)[0] == []
