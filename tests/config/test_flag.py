"""Fields with their flags: values of a section."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path

import pytest

from kubetrio.config import Config, ConfigError, Serving, Storage
from kubetrio.config.flag import rows, values


def test_fields_cannot_be_changed() -> None:
    """A configuration is a value; `replace` makes another one."""
    chosen = Serving()
    with pytest.raises(FrozenInstanceError):
        chosen.secure_port = 1  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del chosen.secure_port
    assert replace(chosen, secure_port=1).secure_port == 1
    assert chosen.secure_port == 6443


def test_equal_fields_make_equal_values() -> None:
    """Of the same section; a repr says all of them."""
    assert Storage() == Storage(durability="full")
    assert Storage() != Storage(durability="normal")
    assert Storage() != Serving()
    assert repr(Storage()).startswith("Storage(in_memory=False, backend='', etcd_servers=(), ")


def test_a_copy_is_the_same() -> None:
    """Also one that went to another process."""
    config = Config(data_dir=Path("data"), feature_gates={"A": True})
    assert copy.deepcopy(config) == config
    assert pickle.loads(pickle.dumps(config)) == config


def test_no_value_is_shared_between_configurations() -> None:
    """Each has its own mapping of gates."""
    one, other = Config(data_dir=Path("a")), Config(data_dir=Path("a"))
    assert one.feature_gates == {}
    assert one.feature_gates is not other.feature_gates


def test_what_is_no_field_is_a_mistake() -> None:
    """As with any function."""
    with pytest.raises(TypeError, match=r"^Storage has no secure_port$"):
        Storage(secure_port=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Storage("full")  # type: ignore[misc]


def test_an_error_names_fields_and_flags() -> None:
    """The first for embedders, the others for the command line."""
    with pytest.raises(ConfigError) as caught:
        Storage(history_window_s=-1)
    assert (caught.value.fields, caught.value.flags) == (
        ("history_window_s",),
        ("--history-window",),
    )
    assert str(caught.value) == "history_window_s: -1 is no number of seconds of 0 or more"
    assert caught.value.by_flag().startswith("--history-window: -1 is ")


def test_rows_are_all_fields_in_order() -> None:
    """Those of sections where their section stands."""
    paths = [row.path for row in rows(Config)]
    assert paths[0] == "data_dir"
    assert paths[1 : 1 + len(fields(Storage))] == [f"storage.{one.name}" for one in fields(Storage)]
    assert paths[-1] == "name"


def test_values_go_with_their_rows() -> None:
    """For pages that show how a server runs."""
    config = Config(data_dir=Path("data"), serving=Serving(secure_port=1))
    found = {row.path: value for row, value in values(config)}
    assert found["serving.secure_port"] == 1
    assert found["data_dir"] == Path("data")
