"""What a configuration asks for of keys: files that are named have to be in order at the start."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from kubetrio.auth.issuedtokens import read_signing_key, service_account_keys, token_issuer
from kubetrio.auth.keys import KeyFileError
from kubetrio.config import Config, ServiceAccounts
from kubetrio.tls.pki import Pki


def config(directory: Path, key: Path, *more: Path, **chosen: float | bool) -> Config:
    accounts = ServiceAccounts(key_files=(key, *more), signing_key_file=key, **chosen)  # type: ignore[arg-type]
    return Config(data_dir=directory, service_accounts=accounts)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    """One line with the flag and the file."""
    missing = tmp_path / "missing.pem"
    for flag, use in (
        ("service-account-key-file", service_account_keys),
        ("service-account-signing-key-file", read_signing_key),
    ):
        with pytest.raises(KeyFileError) as caught:
            use(config(tmp_path, missing))
        assert str(caught.value) == f"cannot read --{flag} {missing}: No such file or directory"


def test_files_that_hold_no_key(tmp_path: Path, certificates: Pki) -> None:
    """A public key signs nothing; a text is no key."""
    text = tmp_path / "text"
    text.write_text("no key")
    with pytest.raises(KeyFileError, match=r"^--service-account-key-file: data does not contain"):
        service_account_keys(config(tmp_path, certificates.sa_key, text))
    with pytest.raises(KeyFileError, match=r"^--service-account-signing-key-file: data does not"):
        read_signing_key(config(tmp_path, certificates.sa_pub))


def test_the_servers_own_keys_are_read_when_they_are_needed(tmp_path: Path) -> None:
    """That takes a library whose import is a good part of a start."""
    own = Config(data_dir=tmp_path)
    assert not service_account_keys(own).loaded
    assert (
        token_issuer(own, None, tmp_path / "sa.key").issuer == own.auth.service_account_issuers[0]
    )


@pytest.mark.parametrize(
    ("longest_s", "extended", "told"),
    [
        (0.0, True, 0),
        (3600.0, False, 0),
        (3600.0, True, 2),
        (7200.0, True, 1),
        (400 * 86_400.0, True, 0),
    ],
)
def test_lives_that_contradict_each_other_are_warned_of(
    tmp_path: Path,
    certificates: Pki,
    caplog: pytest.LogCaptureFixture,
    longest_s: float,
    extended: bool,
    told: int,
) -> None:
    """Extended tokens live longer than the longest life that is allowed."""
    caplog.set_level(logging.WARNING)
    chosen = {"max_expiration_s": longest_s, "extend_expiration": extended}
    chosen_by = config(tmp_path, certificates.sa_key, **chosen)
    token_issuer(chosen_by, read_signing_key(chosen_by), tmp_path)
    assert len(caplog.records) == told
    for record in caplog.records:
        assert record.getMessage().startswith("service-account-extend-token-expiration is true, ")
