"""What a bundle says of its parts: all that is needed, with versions and licences."""

import json
import runpy
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "singlefile" / "inventory.py"


def test_every_part_has_a_version_and_a_licence(tmp_path: Path) -> None:
    """Of the package in this environment and what it needs, extras only where asked for."""
    runpy.run_path(str(SCRIPT))["write"]("kubetrio", tmp_path)
    parts = {each["name"]: each for each in json.loads((tmp_path / "inventory.json").read_text())}
    assert {"kubetrio", "trio", "apsw", "sqlite", "openssl", "python"} <= parts.keys()
    assert "pytest" not in parts
    assert all(each["version"] and each["licences"] for each in parts.values())
    assert all(set(each["requires"]) <= parts.keys() for each in parts.values())
    text = (tmp_path / "licences.txt").read_text()
    for name in ("trio", "apsw", "cryptography"):
        assert f"\n{name} {parts[name]['version']}: " in text


def test_notices_of_debian_are_read_where_programs_can_read_them() -> None:
    """Prose that has a line of that form is none; what is known by name is told else."""
    debian = runpy.run_path(str(SCRIPT))["debian"]
    form = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/"
    text = f"{form}\n\nFiles: *\nLicense: Zlib\n\nFiles: b\nLicense: MIT\n words\n"
    assert debian("zlib1g", text) == ["MIT", "Zlib"]
    prose = "This is prose.\n\nLicense: Permission is granted\n"
    assert debian("libstdc++6", prose) == ["GPL-3.0-or-later WITH GCC-exception-3.1"]
    assert debian("libother", "prose") == ["/usr/share/doc/libother/copyright"]


def test_the_library_of_the_interpreter_is_no_package_of_the_system(tmp_path: Path) -> None:
    """Debian may have one of that name, of another version."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    (tmp_path / f"libpython{version}.so.1.0").touch()
    assert runpy.run_path(str(SCRIPT))["libraries"](tmp_path) == []
