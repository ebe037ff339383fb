"""Profiles change defaults, and nothing that was given."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubetrio.cli.commands import parser
from kubetrio.cli.serve import configured
from kubetrio.config import Config, Serving, Storage, edge
from kubetrio.config.flag import rows
from kubetrio.config.profiles import PROFILES
from kubetrio.flags.terminal import Terminal


def served(*arguments: str) -> tuple[Config, Terminal]:
    """What ``kubetrio serve`` makes of its arguments."""
    config, terminal, _ = configured(parser("serve").parse_args(["serve", *arguments]))
    return config, terminal


def test_profiles_name_fields_that_there_are() -> None:
    """Else a renamed field would lose its value without a word."""
    paths = {row.path for row in rows(Config)}
    assert {path for profile in PROFILES.values() for path in profile} <= paths


def test_the_edge_profile_is_small() -> None:
    """A bound for each of memory, database and history, and a journal."""
    config = edge(Config(data_dir=Path("d")))
    assert config.storage.journal_bytes
    assert config.storage.quota_backend_bytes
    assert config.memory.limit_bytes
    assert config.memory.cache_bytes < Config(data_dir=Path("d")).memory.cache_bytes
    assert config.storage.durability == "full"


def test_what_is_given_stays() -> None:
    """Also in a section of which the profile changes other fields."""
    given = Config(
        data_dir=Path("d"),
        storage=Storage(history_window_s=7.0),
        serving=Serving(secure_port=0, max_connections=5),
    )
    config = edge(given)
    assert (config.storage.history_window_s, config.storage.journal_bytes > 0) == (7.0, True)
    assert (config.serving.secure_port, config.serving.max_connections) == (0, 5)


def test_flags_and_their_file_win_over_a_profile(tmp_path: Path) -> None:
    """The profile may stand in either."""
    file = tmp_path / "flags.yaml"
    file.write_text("profile: edge\nhistory-window: 2m\n")
    config, _ = served("--config", str(file), "--cache-size=4Mi")
    assert config.storage.history_window_s == 120.0
    assert config.memory.cache_bytes == 4 << 20
    assert config.storage.journal_bytes == PROFILES["edge"]["storage.journal_bytes"]


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_is_a_configuration(name: str) -> None:
    """Every value is one that its field may have."""
    config, terminal = served(f"--profile={name}")
    assert terminal.profile == name
    assert config == (edge(Config(data_dir=config.data_dir)) if name == "edge" else config)
