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


def made(pattern: str) -> Path:
    """The file of the release with such a name; a test of what was left out is skipped."""
    paths = list(MADE.glob(pattern))
    if not paths:
        pytest.skip(f"this release was built without {pattern}")
    (path,) = paths
    return path


def run(*command: str | Path, **named: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=TIMEOUT_S, **named
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
    run(*dpkg, "--purge", "kubetrio")
    for path in ("usr/bin/kubetrio", "var/lib/kubetrio", "etc/kubetrio/kubetrio.yaml"):
        assert not (root / path).exists()


def test_the_image_says_its_version(tmp_path: Path) -> None:
    """Its layers unpacked over each other; as a process where this user may change the root."""
    with tarfile.open(made("*-oci.tar")) as archive:
        archive.extractall(tmp_path / "layout", filter="data")

    def blob(row: dict[str, str]) -> Path:
        return tmp_path / "layout" / "blobs" / row["digest"].replace(":", "/")

    (row,) = json.loads((tmp_path / "layout" / "index.json").read_text())["manifests"]
    manifest = json.loads(blob(row).read_text())
    config = json.loads(blob(manifest["config"]).read_text())["config"]
    root = tmp_path / "root"
    for layer in manifest["layers"]:
        with tarfile.open(blob(layer)) as archive:
            archive.extractall(root, filter="data")
    chroot = shutil.which("chroot", path="/usr/sbin:/usr/bin:/sbin:/bin")
    if os.geteuid() or chroot is None:
        assert (root / config["Entrypoint"][0].lstrip("/")).stat().st_mode & 0o111
        return
    environ = dict(each.split("=", 1) for each in config["Env"])
    user = f"--userspec={config['User']}"
    said = run(chroot, user, root, *config["Entrypoint"], "--version", env=environ).stdout
    version = manifest["annotations"]["org.opencontainers.image.version"]
    assert said == f"kubetrio {version}\n"


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
