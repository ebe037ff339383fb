"""Backups: one tar file with the database and the keys and certificates of a server.

The members are ``kubetrio-backup.json``, which says what is in it and the digests of the others,
``kubetrio.db``, and ``pki/``.  Keys that encrypt objects, and whatever else flags name, are files
of the user's and not in it.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from kubetrio import __version__
from kubetrio.encryption.note import NOTE, folders_in
from kubetrio.env import Env
from kubetrio.runtime.files import sync_directory
from kubetrio.store.lock import FILE_NAME as LOCK_FILE
from kubetrio.store.lock import DirectoryLock
from kubetrio.store.model import KeyValue
from kubetrio.store.sqlite.copies import Tell, copy, go_on_above
from kubetrio.store.sqlite.errors import DatabaseUnusable
from kubetrio.store.sqlite.inspection import FILE_NAME, Inspection, existing, inspect

MANIFEST = "kubetrio-backup.json"
PKI = "pki"
FORMAT = 1
MOST_MANIFEST = 1 << 20
PIECE = 1 << 20
AHEAD = 1_000_000_000
"""Revisions that a restored store leaves out, as etcd's guide has it: over a week
at 1,500 writes a second."""


class ArchiveError(Exception):
    """A backup cannot be made or used; one line that says what to do."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup says of itself.

    Args:
        format: of the file.
        kubetrio: version that made it.
        made: when, RFC 3339.
        revision: newest revision in it.
        compacted: newest compacted revision.
        encrypted: folders of the store that have had encrypted values.
        files: the other members, with their SHA-256 digests.
    """

    format: int
    kubetrio: str
    made: str
    revision: int
    compacted: int
    encrypted: list[str]
    files: dict[str, str]


class Damaged(NamedTuple):
    """Values of a database that are not what was written.

    Args:
        number: of them.
        first: the first of them, or why they cannot be counted; empty for none.
    """

    number: int
    first: str

    def __str__(self) -> str:
        """Say so to who keeps or uses the file."""
        return f"values: {self.number}, first {self.first}" if self.number else self.first


@dataclass(frozen=True, slots=True)
class BackedUp:
    """What `backup` did.

    Args:
        manifest: of the backup.
        damaged: what is damaged in it.
    """

    manifest: Manifest
    damaged: Damaged


@dataclass(frozen=True, slots=True)
class Restored:
    """What `restore` did.

    Args:
        manifest: of the backup.
        revision: newest revision now.
        aside: where what was there is now, if there was something.
        damaged: what is damaged in it.
    """

    manifest: Manifest
    revision: int
    aside: Path | None
    damaged: Damaged


def backup(directory: Path, pki: Path, file: Path, env: Env, tell: Tell) -> BackedUp:
    """Write a backup of a data directory, whether a server uses it or not.  Blocking.

    Args:
        directory: data directory.
        pki: directory of its keys and certificates.
        file: does not exist; whole or not there at any time, mode 0600.
        env: wall clock.
        tell: of pages of the database.

    Raises:
        ArchiveError: the file exists.
        StoreError: the database cannot be read or copied.
        OSError: something cannot be read or written.
    """
    source = existing(directory)
    if file.exists():
        raise _there(file)
    with _workshop(file.parent, file.name) as work:
        kept = work / FILE_NAME
        copied = copy(source, kept, tell)
        with inspect(kept) as seen:
            encrypted = folders_in(_note(seen.value(NOTE)))
            damaged = _damaged(seen)
        contents = {
            f"{PKI}/{path.name}": path.read_bytes()
            for path in (sorted(pki.iterdir()) if pki.is_dir() else ())
            if path.is_file() and not path.name.startswith(".")
        }
        manifest = Manifest(
            FORMAT,
            __version__,
            env.utcnow().isoformat(timespec="seconds"),
            copied.revision,
            copied.compacted,
            sorted(encrypted),
            {
                FILE_NAME: _digest(kept),
                **{name: sha256(data).hexdigest() for name, data in contents.items()},
            },
        )
        archive = work / "backup.tar"
        _write_archive(archive, manifest, contents, kept, env)
        _publish(archive, file)
    return BackedUp(manifest, damaged)


def _write_archive(
    archive: Path, manifest: Manifest, contents: Mapping[str, bytes], database: Path, env: Env
) -> None:
    """Write the tar file, mode 0600, and sync it."""
    with archive.open("xb") as out:
        archive.chmod(0o600)
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
            manifest_json = json.dumps(asdict(manifest), indent=1).encode() + b"\n"
            for name, data in ((MANIFEST, manifest_json), *contents.items()):
                tar.addfile(_member(name, len(data), env), io.BytesIO(data))
            with database.open("rb") as source:
                tar.addfile(_member(FILE_NAME, database.stat().st_size, env), source)
        out.flush()
        os.fsync(out.fileno())


def _publish(archive: Path, file: Path) -> None:
    """Give a finished archive its name.

    Raises:
        ArchiveError: the file exists.
    """
    try:
        os.link(archive, file)  # unlike a rename, a link never replaces a file made meanwhile
    except FileExistsError:
        raise _there(file) from None
    except OSError:  # a file system without links
        if file.exists():
            raise _there(file) from None
        archive.rename(file)
    sync_directory(file.parent)


def _there(file: Path) -> ArchiveError:
    return ArchiveError(f"{file} exists: name another file, or remove it")


def _note(value: bytes | None) -> KeyValue | None:
    return None if value is None else KeyValue(NOTE, value, 0, 0)


def _member(name: str, size: int, env: Env) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o600, int(env.now())
    return info


def _digest(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


@contextmanager
def _workshop(parent: Path, name: str) -> Iterator[Path]:
    """A directory for what is not whole yet; it goes behind the block."""
    work = Path(tempfile.mkdtemp(prefix=f".{name}.", suffix=".partial", dir=parent))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


@contextmanager
def opened(file: Path, parent: Path, tell: Tell) -> Iterator[tuple[Path, Manifest]]:
    """Take a backup apart, into a directory that goes behind the block.

    Args:
        file: the backup.
        parent: where there is room for its content.
        tell: of bytes.

    Raises:
        ArchiveError: it is none, or is damaged.
    """
    with _workshop(parent, file.name) as work:
        try:
            with file.open("rb") as raw, tarfile.open(fileobj=raw, mode="r:") as tar:
                manifest = _take(tar, work, file.stat().st_size, tell)
        except (
            tarfile.TarError,
            EOFError,
            ValueError,
            TypeError,
            KeyError,
            RecursionError,
        ) as error:
            raise ArchiveError(
                f"{file} is no backup of kubetrio, or is damaged: {error}"
            ) from error
        yield work, manifest


def _take(tar: tarfile.TarFile, work: Path, size: int, tell: Tell) -> Manifest:
    """Write the members that the manifest names; raises what `opened` words."""
    first = tar.next()
    if first is None or first.name != MANIFEST or first.size > MOST_MANIFEST:
        raise ValueError(f"it does not begin with {MANIFEST}")
    members: dict[str, Any] = json.loads(_content(tar, first).read())
    if members["format"] != FORMAT:
        raise ValueError(f"its format is {members['format']}, this kubetrio knows {FORMAT}")
    manifest = Manifest(**members)
    missing = dict(manifest.files)
    (work / PKI).mkdir(mode=0o700)
    while (member := tar.next()) is not None:
        expected = missing.pop(member.name, None)
        folder, _, name = member.name.rpartition("/")
        known = member.name == FILE_NAME or (folder == PKI and name not in ("", ".", ".."))
        if expected is None or not known:
            raise ValueError(f"{member.name} is not expected in it")
        digest, content = sha256(), _content(tar, member)
        with (work / member.name).open("xb") as out:
            (work / member.name).chmod(0o600)
            while piece := content.read(PIECE):
                digest.update(piece)
                out.write(piece)
                tell(member.offset_data + out.tell(), size)
            out.flush()
            os.fsync(out.fileno())
        if digest.hexdigest() != expected:
            raise ValueError(f"{member.name} is not what was written")
    if missing:
        raise ValueError(f"{', '.join(missing)} is missing")
    if FILE_NAME not in manifest.files:
        raise ValueError(f"there is no {FILE_NAME} in it")
    return manifest


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> Any:
    # A sparse one is as large as its few bytes say, and the manifest can say the digest of zeros.
    plain = member.isreg() and not member.issparse()
    content = tar.extractfile(member) if plain else None
    if content is None:
        raise ValueError(f"{member.name} is no file")
    return content


def restore(
    file: Path, directory: Path, env: Env, tell: Tell, *, ahead: int = AHEAD, force: bool = False
) -> Restored:
    """Make a data directory of a backup.  Blocking.

    It is made beside and checked; then it takes its place at once.  The directory of before is
    moved aside, never changed.

    Args:
        file: the backup.
        directory: data directory; missing or empty unless `force`.
        env: wall clock.
        tell: of bytes.
        ahead: revisions that are left out, at least as many as there were since the backup.
        force: whether what is in the directory is moved aside.

    Raises:
        ArchiveError: the backup cannot be used, or the directory is not empty.
        StoreError: a server uses the directory; the database cannot be written.
        OSError: something cannot be read or written.
    """
    directory = directory.absolute()
    if not file.is_file():
        raise ArchiveError(f"{file} is not there: name a file that kubetrio backup made")
    lock = DirectoryLock(directory) if directory.is_dir() else None
    try:
        occupied = bool(lock) and _occupied(directory, force=force)
        mounted = directory.is_mount()
        directory.parent.mkdir(parents=True, exist_ok=True)
        with opened(file, directory if mounted else directory.parent, tell) as (work, manifest):
            with inspect(work / FILE_NAME) as seen:
                if faults := list(seen.faults(lambda: None)):
                    raise ArchiveError(f"{file} is damaged: {faults[0].where}: {faults[0].what}")
                damaged = _damaged(seen)
            revision = go_on_above(work / FILE_NAME, ahead)
            sync_directory(work / PKI)
            sync_directory(work)
            if mounted:
                aside = None
                for name in (PKI, FILE_NAME):  # the database last: without it there is no store
                    (work / name).rename(directory / name)
                sync_directory(directory)
            else:
                aside = _replace(directory, work, env, occupied=occupied)
        return Restored(manifest, revision, aside, damaged)
    finally:
        if lock:
            lock.release()


def _occupied(directory: Path, *, force: bool) -> bool:
    """Return whether a directory has files beside the lock, after checking that they may be moved.

    Raises:
        ArchiveError: they may not.
    """
    there = [path for path in directory.iterdir() if path.name != LOCK_FILE]
    if there and not force:
        raise ArchiveError(
            f"{directory} is not empty: name another --data-dir, or move it aside with --force"
        )
    if directory.is_mount() and [path for path in there if path.name != "lost+found"]:
        raise ArchiveError(
            f"{directory} is where a file system is mounted and cannot be moved: move what is "
            "in it yourself"
        )
    return bool(there)


def _replace(directory: Path, work: Path, env: Env, *, occupied: bool) -> Path | None:
    """Put a finished directory in its place; return where the one of before was moved."""
    aside = None
    if occupied:
        aside = _moved(directory, env)
    elif directory.is_dir():
        shutil.rmtree(directory)
    work.chmod(0o700)
    work.rename(directory)
    sync_directory(directory.parent)
    return aside


def _moved(directory: Path, env: Env) -> Path:
    """Move a directory aside; where it is now."""
    stem = f"{directory.name}.before-restore-{env.utcnow():%Y%m%dT%H%M%SZ}"
    aside, number = directory.with_name(stem), 1
    while aside.exists():
        number += 1
        aside = directory.with_name(f"{stem}-{number}")
    directory.rename(aside)
    return aside


def _damaged(seen: Inspection) -> Damaged:
    """Compare all values with their checksums."""
    number, first = 0, ""
    try:
        for row in seen.rows():
            if not row.intact:
                number += 1
                first = first or f"{row.key} at revision {row.revision}"
    except DatabaseUnusable as error:
        return Damaged(number, first or str(error))
    return Damaged(number, first)
