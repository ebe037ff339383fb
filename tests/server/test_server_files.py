"""The files of a configuration are read and checked before anything is written."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from kubetrio.config import (
    Admission,
    Authentication,
    Authenticators,
    Authorization,
    Config,
    Faults,
    Kubelet,
    ServiceAccounts,
    Serving,
)
from kubetrio.config.audit import Audit
from kubetrio.config.encryption import Encryption
from kubetrio.server import StartError, open_server
from kubetrio.server.composition import check_files
from kubetrio.server.files import load_files
from kubetrio.server.parts import Parts

WRONG = "neither: [a key\n"


def wrong_choices(file: Path) -> dict[str, dict[str, Any]]:
    """Sections of a configuration that name a file of another kind, by field of `Files`."""
    return {
        "encryption": {"encryption": Encryption(provider_config=file)},
        "keys": {"service_accounts": ServiceAccounts(key_files=(file,), signing_key_file=file)},
        "authorization": {"authorization": Authorization(config_file=file)},
        "authentication": {"authenticators": Authenticators(authentication_config=file)},
        "admission": {"admission": Admission(plugin_config_file=file)},
        "tokens": {"auth": Authentication(token_auth_file=file)},
        "audit": {"audit": Audit(policy_file=file, log_path="-")},
        "faults": {"faults": Faults(file=file)},
    }


@pytest.mark.parametrize("name", sorted(wrong_choices(Path())))
async def test_a_file_that_is_none_stops_the_start_before_anything_is_written(
    tmp_path: Path, name: str
) -> None:
    """Whether the data directory is there or not; checking is the same as starting."""
    file, data = tmp_path / "file", tmp_path / "data"
    file.write_text(WRONG)
    config = Config(data_dir=data, serving=Serving(secure_port=0))
    config = replace(config, **wrong_choices(file)[name])
    with pytest.raises(StartError) as checked:
        check_files(config, Parts())
    assert "\n" not in str(checked.value)
    with pytest.raises(StartError) as started:
        async with open_server(config):
            raise AssertionError("it started")
    assert str(started.value) == str(checked.value)
    assert not data.exists()
    data.mkdir()
    with pytest.raises(StartError) as again:
        async with open_server(config):
            raise AssertionError("it started")
    assert str(again.value) == str(checked.value)
    assert not list(data.iterdir())


def test_files_of_kubelets_have_to_be_there(tmp_path: Path) -> None:
    """What connects to kubelets reads them when it first does."""
    config = Config(data_dir=tmp_path, kubelet=Kubelet(certificate_authority=tmp_path / "none"))
    with pytest.raises(StartError, match=r"^cannot read --kubelet-certificate-authority: "):
        load_files(config)


def test_what_files_say_does_not_change(tmp_path: Path) -> None:
    """Without files there is what a server has by default."""
    files = load_files(Config(data_dir=tmp_path))
    assert {field.name for field in fields(files)} > set(wrong_choices(tmp_path))
    assert (files.encryption, files.issuer, files.faults, files.cbor) == (None, None, None, False)
    with pytest.raises(AttributeError):
        files.cbor = True  # type: ignore[misc]
