"""The Debian package holds the documented unit, for a user of its own."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from release_samples import bundle

from release import debian

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = debian.Package(version="0.1.0", architecture="amd64", libc="2.36", epoch=1000)


def test_the_unit_is_the_one_of_the_page() -> None:
    page = (ROOT / "docs" / "how-to" / "run-as-a-service.md").read_text()
    found = re.search(r"kubetrio\.service`:\n\n```ini\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    assert debian.UNIT.read_text() == found[1]


def test_the_unit_of_the_package_has_its_user() -> None:
    unit = debian.unit()
    assert "ExecStart=/usr/bin/kubetrio serve " in unit
    assert "\nUser=kubetrio\nGroup=kubetrio\n" in unit
    assert "DynamicUser" not in unit


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="there is no dpkg-deb")
def test_an_archive_is_the_same_when_made_again(tmp_path: Path) -> None:
    """Wherever it is made; settings are a configuration file, all belongs to root."""
    archives = []
    for place in ("one", "another"):
        (tmp_path / place).mkdir()
        debian.tree(tmp_path / place, bundle(), {"licences.txt": "texts"}, PACKAGE)
        archives.append(tmp_path / f"{place}.deb")
        debian.build(tmp_path / place, archives[-1], PACKAGE.epoch)
    assert archives[0].read_bytes() == archives[1].read_bytes()
    listed = subprocess.run(
        ("dpkg-deb", "--contents", archives[0]), check=True, capture_output=True, text=True
    ).stdout
    assert all(" root/root " in line for line in listed.splitlines())
    for path in ("usr/bin/kubetrio", "lib/systemd/system/kubetrio.service", "etc/kubetrio/"):
        assert f" ./{path}" in listed
