"""Directories of all releases are opened, read, written and verified by the code of today.

``python -m release.fixture`` makes those of a release.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import apsw
import pytest
import trio
from release_directories import RELEASES, Object, opened, told, unpacked, verified
from trio.testing import MockClock

from kubetrio import __version__
from kubetrio.cli import main
from kubetrio.datadir import SCHEMA_VERSION
from kubetrio.datadir.archive import backup, restore
from kubetrio.env import Env
from kubetrio.machinery.status import ApiError
from release import fixture

ROOT = Path(__file__).parents[2]
DIRECTORIES = [(release, form) for release in RELEASES for form in fixture.FORMS]
RENEWED = ("Lease", "kube-system")
"""What a server renews when it starts: the lease of its identity."""


@pytest.fixture(params=DIRECTORIES, ids="-".join)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A directory as a release left it."""
    release, form = request.param
    return unpacked(release, form, tmp_path)


def of_form(form: str) -> pytest.MarkDecorator:
    """One form of each release, for what the others cannot change."""
    cases = [case for case in DIRECTORIES if case[1] == form]
    return pytest.mark.parametrize("place", cases, indirect=True, ids="-".join)


def named(objects: Sequence[Object]) -> dict[tuple[str, str, str, str], Object]:
    """Objects by what names them."""
    return {
        (
            obj["apiVersion"].rpartition("/")[0],
            obj["kind"],
            obj["metadata"].get("namespace", ""),
            obj["metadata"]["name"],
        ): obj
        for obj in objects
    }


def lacking(now: object, then: object, where: str = "") -> list[str]:
    """Where a value lacks something of an earlier one, or has something else there."""
    if isinstance(now, dict) and isinstance(then, dict):
        missing = [f"{where}.{name} is missing" for name in then.keys() - now.keys()]
        common = then.keys() & now.keys()
        inside = [lacking(now[name], then[name], f"{where}.{name}") for name in common]
        return missing + [line for lines in inside for line in lines]
    return [] if now == then else [f"{where}: {now!r}, not {then!r}"]


def test_every_release_has_directories() -> None:
    """Those that the changelog names, and no other."""
    text = (ROOT / "CHANGELOG.md").read_text()
    assert sorted(re.findall(r"^## (\d+\.\d+\.\d+) ", text, re.MULTILINE)) == RELEASES
    for release in RELEASES:
        assert (fixture.FIXTURES / f"{release}.tar.xz").stat().st_size < 100_000


@pytest.mark.parametrize("further", [(), fixture.JOURNAL], ids=["plain", "journaling"])
async def test_all_that_was_answered_is_answered(
    place: Path, further: Sequence[str], autojump_clock: MockClock
) -> None:
    """Each object with all its fields, secrets and custom kinds included."""
    answers = told(place)
    async with opened(place, further) as server:
        now = named(await fixture.everything(server.client()))
        then = named(answers["objects"])
        assert len(then) > 150
        assert then.keys() <= now.keys()
        for name, obj in then.items():
            if name[1:3] != RENEWED:
                assert lacking(now[name], obj) == [], name
        secret = now["", "Secret", fixture.NAMESPACE, "password"]
        assert secret["data"] == {"password": "aHVudGVyMg=="}
        assert b"hunter2" not in (place / fixture.DATA / "kubetrio.db").read_bytes()


@of_form("killed")
async def test_custom_objects_are_read_in_each_version(
    place: Path, autojump_clock: MockClock
) -> None:
    """Whichever they are stored in."""
    async with opened(place) as server:
        client = server.client()
        for version in ("v1alpha1", "v1"):
            kind = client.kind(f"garden.example.com/{version}", "Bed")
            beds = (await client.list(kind, fixture.NAMESPACE)).items
            assert [bed["metadata"]["name"] for bed in beds] == ["early", "held", "late"]
            assert beds[0]["spec"]["rest"] == {"fence": ["wood", {"height": 1.5}]}
            assert {bed["spec"]["soil"] for bed in beds} == {"loam"}


async def test_history_goes_on(place: Path, autojump_clock: MockClock) -> None:
    """A watch from before the stop has the events of then; what was compacted stays so."""
    history = told(place)["history"]
    async with opened(place) as server:
        client, events = server.client(), []
        maps = client.kind("v1", "ConfigMap")
        async with client.watch(maps, fixture.NAMESPACE, resource_version=history["from"]) as watch:
            async for event in watch:
                events.append({"type": event.type, "object": event.object})
                if len(events) == len(history["events"]):
                    break
        assert events == history["events"]
        assert [event["type"] for event in events] == ["MODIFIED", "MODIFIED", "DELETED", "ADDED"]
        with pytest.raises(ApiError) as caught:
            async with client.watch(maps, resource_version="2") as watch:
                await anext(watch)
        assert caught.value.code == 410


async def test_it_is_written_and_in_order(place: Path, autojump_clock: MockClock) -> None:
    """Changes and deletions of what the release stored; over another start, and after it."""
    assert verified(place)[0] == []
    async with opened(place) as server:
        client = server.client()
        maps = client.kind("v1", "ConfigMap")
        settings = await client.get(maps, "settings", fixture.NAMESPACE)
        before = int(settings["metadata"]["resourceVersion"])
        settings["data"]["colour"] = "black"
        settings = await client.update(settings)
        assert int(settings["metadata"]["resourceVersion"]) > before
        beds = client.kind("garden.example.com/v1", "Bed")
        held = await client.get(beds, "held", fixture.NAMESPACE)
        del held["metadata"]["finalizers"]
        await client.update(held)
        await client.delete(maps, "large", fixture.NAMESPACE)
    faults, seen = verified(place)
    assert (faults, seen.schema, seen.release) == ([], SCHEMA_VERSION, __version__)
    async with opened(place) as server:
        client = server.client()
        assert await client.get(maps, "settings", fixture.NAMESPACE) == settings
        names = [bed["metadata"]["name"] for bed in (await client.list(beds)).items]
        assert names == ["early", "late"]
    assert verified(place)[0] == []


@of_form("journal")
async def test_times_to_live_go_on(place: Path, autojump_clock: MockClock) -> None:
    """An Event of the release goes when its hour is over."""
    async with opened(place) as server:
        client = server.client()
        events = client.kind("v1", "Event")
        assert (await client.get(events, "web.1", fixture.NAMESPACE))["reason"] == "Waiting"
        await trio.sleep(3600)
        with pytest.raises(ApiError) as caught:
            await client.get(events, "web.1", fixture.NAMESPACE)
        assert caught.value.code == 404


def schema(place: Path) -> dict[str, str]:
    """The tables of a directory, by name."""
    with closing(apsw.Connection(str(place / fixture.DATA / "kubetrio.db"))) as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_schema").fetchall()
    return {str(name): str(text) for name, text in rows}


@of_form("stopped")
async def test_its_tables_become_those_of_a_new_one(
    place: Path, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """No migration is missing, and none makes something else."""
    async with opened(place):
        pass
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    for name in (fixture.KEYS_FILE, fixture.ANSWERS):
        (fresh / name).write_bytes((place / name).read_bytes())
    async with opened(fresh):
        pass
    assert schema(place) == schema(fresh)


@of_form("journal")
async def test_a_backup_of_it_is_restored(
    place: Path, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """By the commands of today, from a directory that they have not opened before."""
    data, file, answers = place / fixture.DATA, tmp_path / "backup.tar", told(place)
    backup(data, data / "pki", file, Env(), lambda _done, _of: None)
    restore(file, data, Env(), lambda _done, _of: None, force=True)
    async with opened(place) as server:
        now = named(await fixture.everything(server.client()))
    assert named(answers["objects"]).keys() <= now.keys()


def test_the_commands_say_which_release_wrote_it(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`kubetrio verify` of a directory that only the release has opened."""
    answers = told(place)
    assert main(["verify", "--data-dir", str(place / fixture.DATA)]) == 0
    lines = capsys.readouterr().out.splitlines()
    expected = f"schema version {answers['schema']}, last written by kubetrio {answers['kubetrio']}"
    assert expected in lines
    assert lines[-1].endswith(": no faults")
