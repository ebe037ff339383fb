"""The single file: a launcher that unpacks once; and, where one was built, the server in it.

``KUBETRIO_SINGLE_FILE`` names one that ``singlefile/build.py`` made; ``.ci/single-file`` does both.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from timeit import default_timer

import pytest

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(sys.platform != "linux", reason="the single file is for Linux"),
]
ROOT = Path(__file__).parent.parent.parent
BUILT = os.environ.get("KUBETRIO_SINGLE_FILE", "")
TIMEOUT_S = 60

sys.path.insert(0, str(ROOT / "singlefile"))
import build as singlefile  # noqa: E402  (a script beside the package)

sys.path.pop(0)

Run = Callable[..., subprocess.CompletedProcess[str]]
PROGRAM = '#!/bin/sh\necho "$0" "$@"; cat "${0%/*}/lib/data" "${0%/*}/lib/link"\n'


@pytest.fixture(scope="module")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The compiled launcher."""
    if shutil.which(os.environ.get("CC", "cc")) is None:
        pytest.skip("there is no C compiler")
    try:
        return singlefile.compiled(tmp_path_factory.mktemp("launcher"))
    except SystemExit as error:
        pytest.skip(f"static libraries of C and zlib are needed: {str(error).splitlines()[-1]}")


def packed(path: Path, launcher: bytes, data: str) -> Path:
    """A single file whose program prints its arguments and two files."""
    folder = path.with_name(f"{path.name}-folder")
    (folder / "lib").mkdir(parents=True)
    (folder / "kubetrio").write_text(PROGRAM)
    (folder / "kubetrio").chmod(0o755)
    (folder / "lib" / "data").write_text(data)
    (folder / "lib" / "empty").touch()
    (folder / "lib" / "link").symlink_to("data")
    singlefile.write(path, launcher, folder)
    return path


def run(file: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(file), *arguments],
        env=environ,
        check=False,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )


DATA = "data\n" * 100_000  # more than the launcher reads or writes at once


def test_it_unpacks_once_and_runs_from_there(tmp_path: Path, launcher: bytes) -> None:
    """With its arguments; the second start uses what the first one made."""
    file, cache = packed(tmp_path / "one", launcher, DATA), tmp_path / "new" / "cache"
    first = run(file, "serve", "a b", KUBETRIO_CACHE=str(cache))
    (folder,) = cache.iterdir()
    assert first.stdout == f"{folder}/kubetrio serve a b\n{DATA}{DATA}"
    assert folder.stat().st_mode & 0o777 == cache.stat().st_mode & 0o777 == 0o700
    made = (folder / "lib" / "data").stat()
    again = run(file, KUBETRIO_CACHE=str(cache))
    assert again.stdout == f"{folder}/kubetrio\n{DATA}{DATA}"
    assert (folder / "lib" / "data").stat().st_ino == made.st_ino


@pytest.mark.parametrize("damage", ["lib/data", "lib/empty", "lib/link", "kubetrio"])
def test_what_is_missing_is_unpacked_again(tmp_path: Path, launcher: bytes, damage: str) -> None:
    """As when somebody tidies up what is old, or a disk was full."""
    file, cache = packed(tmp_path / "one", launcher, "data\n"), tmp_path / "cache"
    expected = run(file, KUBETRIO_CACHE=str(cache)).stdout
    (folder,) = cache.iterdir()
    (folder / damage).unlink()
    assert run(file, KUBETRIO_CACHE=str(cache)).stdout == expected
    (folder / "lib" / "data").chmod(0o600)
    (folder / "lib" / "data").write_text("da")
    assert run(file, KUBETRIO_CACHE=str(cache)).stdout == expected
    assert list(cache.iterdir()) == [folder]


def test_starts_at_a_time_are_fine(tmp_path: Path, launcher: bytes) -> None:
    """All see the whole of it."""
    file, cache = packed(tmp_path / "one", launcher, DATA), tmp_path / "cache"
    environ = {"KUBETRIO_CACHE": str(cache)}
    all_of_them = [
        subprocess.Popen([file], env=environ, stdout=subprocess.PIPE, text=True) for _ in range(8)
    ]
    said = {one.communicate(timeout=TIMEOUT_S)[0].partition("\n")[2] for one in all_of_them}
    assert said == {DATA * 2}
    assert len(list(cache.iterdir())) == 1


HOLD = """
import fcntl, os, sys
fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_SH)
print(flush=True)
sys.stdin.read()
"""


def test_other_versions_go_unless_they_run(tmp_path: Path, launcher: bytes) -> None:
    """A process has a lock on its version for as long as it lives, as the launcher takes it."""
    cache = tmp_path / "cache"
    environ = {"KUBETRIO_CACHE": str(cache)}
    older = packed(tmp_path / "one", launcher, "older\n")
    run(older, **environ)
    (first,) = cache.iterdir()
    running = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(first)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert running.stdout is not None
    running.stdout.readline()
    run(packed(tmp_path / "two", launcher, "newer\n"), **environ)
    assert len(list(cache.iterdir())) == 2
    running.communicate()
    run(packed(tmp_path / "three", launcher, "newest\n"), **environ)
    (left,) = cache.iterdir()
    assert (left / "lib" / "data").read_text() == "newest\n"


def test_what_others_can_write_to_is_not_run(tmp_path: Path, launcher: bytes) -> None:
    """The line says what to do; a place that is named is the only one tried."""
    file, cache = packed(tmp_path / "one", launcher, "data\n"), tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    said = run(file, KUBETRIO_CACHE=str(cache))
    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr.startswith(f"kubetrio: cannot unpack: {cache} is not a directory of this")
    assert "set KUBETRIO_CACHE" in said.stderr
    assert list(cache.iterdir()) == []


def test_places_are_tried_in_turn(tmp_path: Path, launcher: bytes) -> None:
    """A service's cache, then the user's; one that cannot be is passed over."""
    file = packed(tmp_path / "one", launcher, "data\n")
    (tmp_path / "file").touch()
    places = {
        "CACHE_DIRECTORY": f"{tmp_path}/service:/other",
        "XDG_CACHE_HOME": f"{tmp_path}/xdg",
        "HOME": f"{tmp_path}/home",
    }
    for name, where in zip(
        places, ("service", "xdg/kubetrio", "home/.cache/kubetrio"), strict=True
    ):
        rest = dict(list(places.items())[list(places).index(name) :])
        said = run(file, **rest)
        assert said.stdout.startswith(f"{tmp_path}/{where}/"), name
    said = run(file, HOME=f"{tmp_path}/home", XDG_CACHE_HOME=f"{tmp_path}/file/below")
    assert said.stdout.startswith(f"{tmp_path}/home/.cache/kubetrio/")


def test_a_file_that_is_cut_off_says_so(tmp_path: Path, launcher: bytes) -> None:
    """As after a download that broke."""
    file = packed(tmp_path / "one", launcher, DATA)
    cut = tmp_path / "cut"
    cut.write_bytes(file.read_bytes()[:-100])
    cut.chmod(0o755)
    said = run(cut, KUBETRIO_CACHE=str(tmp_path / "cache"))
    assert (said.returncode, said.stderr) == (
        1,
        "kubetrio: this file is not whole, or /proc is not there\n",
    )


@pytest.mark.skipif(not BUILT, reason="KUBETRIO_SINGLE_FILE names none")
def test_the_server_in_it_runs_with_nothing_around_it(tmp_path: Path) -> None:
    """No variables, no Python on a path, an empty directory: it answers, and says its times."""
    own = tmp_path / "own"
    own.mkdir()
    environ = {"KUBETRIO_CACHE": str(tmp_path / "cache")}
    times = []
    for attempt in range(4):
        shutil.rmtree(own / "kubetrio-data", ignore_errors=attempt == 0)
        began = default_timer()
        process = subprocess.Popen(
            [BUILT, "serve", "--secure-port", "0"],
            cwd=own, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            times.append(default_timer() - began)
            assert " is ready at https://127.0.0.1:" in line
            port = int(line.rpartition(":")[2])
            assert answer(own / "kubetrio-data" / "pki", port, "/api/v1/namespaces/default")
            assert answer(own / "kubetrio-data" / "pki", port, "/openapi/v2")
            process.send_signal(signal.SIGTERM)
            assert process.wait(TIMEOUT_S) == 0
        finally:
            process.kill()
            process.communicate()
    print(f"ready after {', '.join(f'{seconds:.2f}' for seconds in times)} s")
    assert [path.name for path in own.iterdir()] == ["kubetrio-data"]


@pytest.mark.skipif(not BUILT, reason="KUBETRIO_SINGLE_FILE names none")
def test_its_commands_work(tmp_path: Path) -> None:
    """In the background too, which it forks for."""
    environ = {"KUBETRIO_CACHE": str(tmp_path / "cache")}
    place = ("--data-dir", str(tmp_path / "data"))
    begun = run(Path(BUILT), "serve", "--detach", "--secure-port", "0", *place, **environ)
    assert begun.returncode == 0, begun.stderr
    assert run(Path(BUILT), "status", *place, **environ).stdout.startswith("kubetrio is ready")
    (folder,) = (tmp_path / "cache").iterdir()
    fd = os.open(folder, os.O_RDONLY)
    with pytest.raises(BlockingIOError):
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(fd)
    assert run(Path(BUILT), "stop", *place, **environ).stdout.startswith("stopped: process ")


def answer(made: Path, port: int, path: str) -> bool:
    """Whether a path is there for the administrator."""
    context = ssl.create_default_context(cafile=str(made / "ca.crt"))
    context.load_cert_chain(made / "admin.crt", made / "admin.key")
    raw = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)
    with context.wrap_socket(raw, server_hostname="127.0.0.1") as sock:
        sock.sendall(f"GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".encode())
        return sock.recv(100).startswith(b"HTTP/1.1 200 ")
