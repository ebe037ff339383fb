"""The Debian package: the server, its unit, its user and its state directory.

dpkg-deb makes the archive.  Sources: Debian Policy (sections 3.9, 5.3, 6 and 10), deb(5),
deb-control(5), ``--force-script-chrootless`` of dpkg(1), which sets ``DPKG_ROOT``.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

from release.archives import gzipped
from release.bundle import Bundle, lay

HERE = Path(__file__).resolve().parent
UNIT = HERE / "kubetrio.service"
MAINTAINER = "The kubetrio developers <kubetrio@kubetrio.invalid>"
PLACE = "/usr/local/bin/kubetrio"
DYNAMIC = "DynamicUser=yes\n"
STATIC = "User=kubetrio\nGroup=kubetrio\n"
KIB = 1024

WRAPPER = """#!/bin/sh
# The server's libraries are its own.
self=$(readlink -f -- "$0")
lib=${self%/bin/kubetrio}/lib/kubetrio
LD_LIBRARY_PATH=$lib/_internal exec "$lib/kubetrio" "$@"
"""
SYSUSERS = 'u kubetrio - "kubetrio, a Kubernetes API server" /var/lib/kubetrio\n'
SETTINGS = """\
# Flags of kubetrio serve by their names, such as:
# bind-address: 0.0.0.0
# tls-san: [api.example.org]
{}
"""
POSTINST = """#!/bin/sh
set -e
case "$1" in configure|abort-*) ;; *) exit 0 ;; esac
systemd-sysusers ${DPKG_ROOT:+--root="$DPKG_ROOT"} kubetrio.conf
owner=$(sed -n 's/^kubetrio:[^:]*:\\([0-9]*:[0-9]*\\):.*/\\1/p' "$DPKG_ROOT/etc/passwd")
if [ ! -d "$DPKG_ROOT/var/lib/kubetrio" ]; then
    mkdir -p -m 700 "$DPKG_ROOT/var/lib/kubetrio"
    chown "$owner" "$DPKG_ROOT/var/lib/kubetrio"
fi
if [ -z "$DPKG_ROOT" ] && [ -x /usr/bin/deb-systemd-helper ]; then
    deb-systemd-helper unmask kubetrio.service >/dev/null || true
    if deb-systemd-helper --quiet was-enabled kubetrio.service; then
        deb-systemd-helper enable kubetrio.service >/dev/null || true
    fi
    deb-systemd-helper update-state kubetrio.service >/dev/null || true
fi
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload >/dev/null || true
    if [ -n "$2" ]; then action=restart; else action=start; fi
    deb-systemd-invoke $action kubetrio.service >/dev/null || true
fi
"""
PRERM = """#!/bin/sh
set -e
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ] && [ "$1" = remove ]; then
    deb-systemd-invoke stop kubetrio.service >/dev/null || true
fi
"""
POSTRM = """#!/bin/sh
set -e
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload >/dev/null || true
fi
if [ "$1" = purge ]; then
    if [ -z "$DPKG_ROOT" ] && [ -x /usr/bin/deb-systemd-helper ]; then
        deb-systemd-helper purge kubetrio.service >/dev/null || true
    fi
    rm -rf "$DPKG_ROOT/var/lib/kubetrio" "$DPKG_ROOT/var/cache/kubetrio"
fi
"""
SCRIPTS = {"postinst": POSTINST, "prerm": PRERM, "postrm": POSTRM}
COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: kubetrio
Source: https://kubetrio.readthedocs.io/
Comment: Licences of the packages that are bundled are in licences.txt, and the packages with
 their versions in the bill of materials, in this directory.

Files: *
Copyright: The kubetrio developers
License: Apache-2.0
 On Debian systems, the full text of the Apache License version 2.0
 can be found in the file `/usr/share/common-licenses/Apache-2.0'.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """What the package says of itself.

    Attributes:
        version: of the release.
        architecture: as ``dpkg --print-architecture`` names it.
        libc: version of the C library that the bundle was built with.
        epoch: seconds since 1970, of everything in it.
    """

    version: str
    architecture: str
    libc: str
    epoch: int

    @property
    def file_name(self) -> str:
        """Name of the archive."""
        return f"kubetrio_{self.version}_{self.architecture}.deb"


def unit() -> str:
    """Return the unit with the user and the place of the package."""
    return UNIT.read_text().replace(PLACE, "/usr/bin/kubetrio").replace(DYNAMIC, STATIC)


def control(package: Package, size_bytes: int) -> str:
    """Return the control file; `size_bytes` is what the files take."""
    return f"""Package: kubetrio
Version: {package.version}
Section: admin
Priority: optional
Architecture: {package.architecture}
Maintainer: {MAINTAINER}
Installed-Size: {-(-size_bytes // KIB)}
Depends: libc6 (>= {package.libc}), systemd | systemd-standalone-sysusers
Homepage: https://kubetrio.readthedocs.io/
Description: Kubernetes API server in one process
 kubetrio serves the Kubernetes API from one process on one SQLite file.
 The package runs it as a service of systemd, as a user of its own; its
 state is in /var/lib/kubetrio, its settings in /etc/kubetrio.
"""


def changelog(package: Package) -> str:
    """Return the changelog of the package, which leads to that of the release."""
    when = format_datetime(datetime.fromtimestamp(package.epoch, UTC))
    return (
        f"kubetrio ({package.version}) unstable; urgency=medium\n\n"
        f"  * Release {package.version}; see https://kubetrio.readthedocs.io/\n\n"
        f" -- {MAINTAINER}  {when}\n"
    )


def tree(folder: Path, bundle: Bundle, documents: Mapping[str, str], package: Package) -> None:
    """Lay the content of the package into an empty folder.

    Args:
        folder: where.
        bundle: the server.
        documents: texts for ``/usr/share/doc/kubetrio``, by file name.
        package: what it says of itself.

    Raises:
        OSError: it cannot be written.
    """
    lay(bundle, folder / "usr/lib/kubetrio", package.epoch)
    files = {
        "usr/bin/kubetrio": WRAPPER.encode(),
        "usr/lib/sysusers.d/kubetrio.conf": SYSUSERS.encode(),
        "lib/systemd/system/kubetrio.service": unit().encode(),
        "etc/kubetrio/kubetrio.yaml": SETTINGS.encode(),
        "usr/share/doc/kubetrio/copyright": COPYRIGHT.encode(),
        "usr/share/doc/kubetrio/changelog.gz": gzipped(changelog(package).encode()),
    }
    for name, text in documents.items():
        files[f"usr/share/doc/kubetrio/{name}"] = text.encode()
    for name, content in files.items():
        _put(folder / name, content, 0o755 if name == "usr/bin/kubetrio" else 0o644)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    _put(folder / "DEBIAN/control", control(package, size).encode(), 0o644)
    _put(folder / "DEBIAN/conffiles", b"/etc/kubetrio/kubetrio.yaml\n", 0o644)
    for name, text in SCRIPTS.items():
        _put(folder / "DEBIAN" / name, text.encode(), 0o755)
    for path in (folder, *folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
        os.utime(path, (package.epoch, package.epoch), follow_symlinks=False)


def _put(path: Path, content: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)


def build(folder: Path, output: Path, epoch: int) -> None:
    """Make the archive of a laid tree.

    Raises:
        CalledProcessError: dpkg-deb refuses it.
    """
    environ = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "DPKG_DEB_THREADS_MAX": "1"}
    command = ("dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(folder), str(output))
    subprocess.run(command, check=True, env=environ, stdout=subprocess.DEVNULL)


def architecture() -> str:
    """Return Debian's name of the processor."""
    command = ("dpkg", "--print-architecture")
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
