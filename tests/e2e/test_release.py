"""What a release consists of: the package installs and starts, the image runs, the tests collect.

``KUBETRIO_RELEASE`` names a folder that ``python -m release.build`` made; ``.ci/release`` does
both.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pages
import pytest

MADE = Path(os.environ.get("KUBETRIO_RELEASE") or "/nonexistent")
TIMEOUT_S = 300
ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not MADE.is_dir(), reason="KUBETRIO_RELEASE names no release"),
]


CHROOT = shutil.which("chroot", path="/usr/sbin:/usr/bin:/sbin:/bin")
can_change_root = pytest.mark.skipif(
    os.geteuid() != 0 or CHROOT is None, reason="needs root, and chroot"
)


def made(pattern: str) -> Path:
    """The file of the release with such a name; a test of what was left out is skipped."""
    paths = list(MADE.glob(pattern))
    if not paths:
        pytest.skip(f"this release was built without {pattern}")
    (path,) = paths
    return path


def run(
    *command: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=TIMEOUT_S, cwd=cwd, env=env
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_the_sums_are_those_of_the_files() -> None:
    """Of each file, and of no other; what is there always is there."""
    listed = {}
    for line in made("SHA256SUMS").read_text().splitlines():
        digest, _, name = line.partition("  ")
        listed[name] = digest
    files = {path.name: path.read_bytes() for path in MADE.iterdir() if path.name != "SHA256SUMS"}
    assert listed == {name: sha256(content).hexdigest() for name, content in files.items()}
    assert {Path(name).suffix for name in listed} >= {".whl", ".gz", ".service"}


@pytest.mark.skipif(
    shutil.which("dpkg") is None or shutil.which("systemd-sysusers") is None or os.geteuid() != 0,
    reason="needs dpkg, systemd-sysusers and root",
)
def test_the_debian_package_installs_starts_and_goes(tmp_path: Path) -> None:
    """Into a root of its own, without chroot; purged, nothing is left of it."""
    root = tmp_path / "root"
    for folder in ("var/lib/dpkg", "etc"):
        (root / folder).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    dpkg = ("dpkg", f"--root={root}", "--force-script-chrootless", "--force-depends")
    run(*dpkg, "-i", made("*.deb"))
    assert (root / "var/lib/kubetrio").stat().st_mode & 0o777 == 0o700
    assert "\nkubetrio:x:" in "\n" + (root / "etc/passwd").read_text()
    program, data = root / "usr/bin/kubetrio", ("--data-dir", root / "var/lib/kubetrio")
    settings = ("--config", root / "etc/kubetrio/kubetrio.yaml")
    run(program, "serve", "--detach", "--secure-port", "0", *settings, *data)
    try:
        assert run(program, "status", *data).stdout.startswith("kubetrio is ready")
    finally:
        assert run(program, "stop", *data).stdout.startswith("stopped: process ")
    edited = root / "etc/kubetrio/kubetrio.yaml"
    edited.write_text("event-ttl: 2h\n")
    run(*dpkg, "-i", made("*.deb"))  # as an upgrade: settings and data stay
    assert edited.read_text() == "event-ttl: 2h\n"
    assert "no faults" in run(program, "verify", *data).stdout
    run(*dpkg, "--purge", "kubetrio")
    for path in ("usr/bin/kubetrio", "var/lib/kubetrio", "etc/kubetrio/kubetrio.yaml"):
        assert not (root / path).exists()


class Image:
    """The image, its layers unpacked over each other.

    Args:
        folder: where there is room.
    """

    def __init__(self, folder: Path) -> None:
        self._layout, self.root = folder / "layout", folder / "root"
        with tarfile.open(made("*-oci.tar")) as archive:
            archive.extractall(self._layout, filter="data")
        (row,) = json.loads((self._layout / "index.json").read_text())["manifests"]
        self.manifest = json.loads(self._blob(row).read_text())
        self.config = json.loads(self._blob(self.manifest["config"]).read_text())["config"]
        for layer in self.manifest["layers"]:
            with tarfile.open(self._blob(layer)) as archive:
                archive.extractall(self.root, filter="tar")  # with owners, which root may give

    def _blob(self, row: dict[str, str]) -> Path:
        return self._layout / "blobs" / row["digest"].replace(":", "/")

    def command(self, *arguments: str) -> list[str | Path]:
        """What runs its program as its user, with its root and nothing else."""
        assert CHROOT is not None
        user = f"--userspec={self.config['User']}"
        environ = ("/usr/bin/env", "-i", *self.config["Env"])
        return [*environ, CHROOT, user, self.root, *self.config["Entrypoint"], *arguments]


@pytest.fixture
def image(tmp_path: Path) -> Image:
    """The image of the release."""
    return Image(tmp_path)


def test_the_program_of_the_image_is_in_it(image: Image) -> None:
    """And may be run; what it writes to is its user's."""
    program = image.root / image.config["Entrypoint"][0].lstrip("/")
    assert program.stat().st_mode & 0o111
    assert image.config["User"] == "65532:65532"


@can_change_root
def test_the_image_says_its_version(image: Image) -> None:
    """The one of its annotations."""
    version = image.manifest["annotations"]["org.opencontainers.image.version"]
    assert run(*image.command("--version")).stdout == f"kubetrio {version}\n"


@can_change_root
def test_the_image_serves_and_stops(image: Image) -> None:
    """Its own command, on a free port; `status` in it is the health check, SIGTERM ends it."""
    command = image.command(*image.config["Cmd"], "--secure-port", "0")
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        status = image.command("status", "--data-dir", "/data", "--wait", f"{TIMEOUT_S}s")
        assert run(*status).stdout.startswith("kubetrio is ready")
        database = image.root / "data" / "kubetrio.db"
        assert (database.stat().st_uid, database.stat().st_mode & 0o777) == (65532, 0o600)
    finally:
        server.terminate()
        said, _ = server.communicate(timeout=TIMEOUT_S)
    assert server.returncode == 0, said


@pytest.mark.skipif(shutil.which("skopeo") is None, reason="there is no skopeo")
def test_a_stock_tool_reads_the_image(image: Image) -> None:
    """Its labels, platform and layers, whose digests it checks."""
    told = json.loads(run("skopeo", "inspect", f"oci-archive:{made('*-oci.tar')}").stdout)
    assert told["Os"] == "linux"
    assert told["Labels"] == image.manifest["annotations"]
    assert told["Layers"] == [layer["digest"] for layer in image.manifest["layers"]]


def test_the_wheel_runs_a_cluster_by_name(tmp_path: Path) -> None:
    """Installed in a directory of its own: the commands that the page begins with."""
    site = tmp_path / "site"
    target = ("--no-deps", "--no-index", "--target", site)
    run(sys.executable, "-m", "pip", "install", "-q", *target, made("*.whl"))
    assert (site / "kubetrio" / "types" / "apps" / "v1.pyi").is_file()
    assert (site / "kubetrio" / "py.typed").is_file()
    commands = pages.blocks("docs/how-to/clusters.md", "sh")[0]
    path = os.pathsep.join([str(site / "bin"), os.environ["PATH"]])
    home = {"HOME": str(tmp_path), "XDG_STATE_HOME": "", "PATH": path, "PYTHONPATH": str(site)}
    if shutil.which("kubectl") is None:
        commands = re.sub(r"(?m)^kubectl .*\n", "", commands)
    run("bash", "-ec", commands, cwd=tmp_path, env=home)
    assert list((tmp_path / ".local/state/kubetrio").iterdir()) == []


def test_the_wheel_has_what_an_index_and_a_type_checker_read() -> None:
    """The README as its description, facts of Kubernetes, marker of types, licence and notice."""
    with zipfile.ZipFile(made("*.whl")) as wheel:
        names = wheel.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        text = wheel.read(metadata).decode()
    assert "\nDescription-Content-Type: text/markdown\n" in text
    assert (ROOT / "README.md").read_text() in text
    assert {"kubetrio/py.typed", "kubetrio/_schemas/traits.json"} <= set(names)
    for ending in ("licenses/LICENSE", "licenses/schemas/NOTICE", "entry_points.txt"):
        assert any(name.endswith(f".dist-info/{ending}") for name in names), ending
    assert [name for name in names if name.startswith(("tests/", "release/"))] == []


def test_the_bill_of_materials_has_a_licence_for_each_part() -> None:
    """And the texts of the licences name each package of Python's."""
    bill = json.loads(made("*.cdx.json").read_text())
    texts = made("*-licences.txt").read_text()
    assert bill["bomFormat"] == "CycloneDX"
    assert len(bill["components"]) > 30
    for part in bill["components"]:
        assert {"licenses", "version", "purl"} <= part.keys(), part
        if part["purl"].startswith("pkg:pypi/"):
            assert f"\n{part['name']} {part['version']}: " in f"\n{texts}", part["name"]


def test_the_sdist_has_the_files_of_the_commit() -> None:
    """All of them, so that tests and builds find there what they find in a checkout."""
    with tarfile.open(made("*.tar.gz")) as archive:
        files = {member.name.partition("/")[2] for member in archive if not member.isdir()}
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")
    listed = run("git", "-C", ROOT, "ls-tree", "-r", "--name-only", "HEAD").stdout.splitlines()
    assert files == set(listed) | {"PKG-INFO"}


@pytest.mark.slow
def test_the_tests_of_the_sdist_collect(tmp_path: Path) -> None:
    """All that they read is in it."""
    with tarfile.open(made("*.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    command = (sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider")
    said = run(*command, cwd=folder, env={**os.environ, "PYTHONPATH": str(folder)}).stdout
    assert re.search(r"^[0-9/]+ tests collected ", said, re.MULTILINE), said
