"""Flags of kube-apiserver as envtest gives them, and what `kubetrio serve` is given for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubetrio.cli.envtest import apiserver

KEPT = {"data-dir": "/etcd", "fsync": True}


def given(*arguments: str, fsync: bool = True) -> list[str]:
    """Arguments of ``kubetrio serve``."""
    return apiserver.translated(apiserver.sort(arguments), {**KEPT, "fsync": fsync})


def test_data_is_in_etcds_directory_and_controllers_are_off() -> None:
    """Whatever else is asked for."""
    assert given("--etcd-servers=http://x:1", "--secure-port", "7") == [
        "--data-dir=/etcd/kubetrio", "--allow-privileged=false", "--controllers=-*",
        "--secure-port", "7",
    ]  # fmt: skip


def test_what_is_asked_for_goes_before_what_envtest_means() -> None:
    """Controllers and durability are a test's own matter."""
    asked = ("--controllers=*", "--durability=full")
    assert given(*asked, fsync=False) == [
        "--data-dir=/etcd/kubetrio", "--allow-privileged=false", *asked
    ]  # fmt: skip
    assert "--durability=normal" in given(fsync=False)
    assert not [flag for flag in given() if "durability" in flag]


@pytest.mark.parametrize("flag", ["--allow-privileged=true", "--allow-privileged"])
def test_what_envtest_says_of_privileged_pods_counts(flag: str) -> None:
    """Without a word of it the default is kube-apiserver's, which refuses them."""
    assert [each for each in given(flag) if "privileged" in each] == [flag]
    assert "--allow-privileged=false" in given()


def test_a_pair_in_the_certificate_directory_is_served(tmp_path: Path) -> None:
    """As kube-apiserver does; without a pair, or with another one by flag, it is --cert-dir."""
    flags = ("--cert-dir", str(tmp_path))
    assert f"--cert-dir={tmp_path}" in given(*flags)
    for name in ("apiserver.crt", "apiserver.key"):
        (tmp_path / name).touch()
    found = given(*flags)
    assert f"--tls-cert-file={tmp_path}/apiserver.crt" in found
    assert f"--tls-private-key-file={tmp_path}/apiserver.key" in found
    assert f"--cert-dir={tmp_path}" not in found
    assert f"--cert-dir={tmp_path}" in given(
        *flags, "--tls-cert-file=a", "--tls-private-key-file=b"
    )


@pytest.mark.parametrize("arguments", [["--insecure-port=0"], ["--insecure-port", ""], []])
def test_flags_of_old_releases_that_ask_for_nothing_are_dropped(arguments: list[str]) -> None:
    """So are empty arguments, which their templates leave."""
    found = apiserver.sort([*arguments, "--insecure-bind-address=127.0.0.1", ""])
    apiserver.refuse_insecure(found)
    assert found.through == []


def test_a_port_without_tls_is_refused() -> None:
    """It is what releases of controller-runtime before 0.9 wait for."""
    with pytest.raises(apiserver.Mistake, match="no port without TLS"):
        apiserver.refuse_insecure(apiserver.sort(["--insecure-port", "8080"]))


@pytest.mark.parametrize(
    ("servers", "why"),
    [("", "is missing"), ("http://127.0.0.1:x", "http://127.0.0.1:x: Port could not be cast")],
)
def test_an_etcd_that_cannot_be_asked_is_told(servers: str, why: str) -> None:
    """Before anything is written."""
    with pytest.raises(apiserver.Mistake, match=why):
        apiserver.ask(servers)


def test_help_has_no_insecure_port(capsys: pytest.CaptureFixture[str]) -> None:
    """By that envtest knows that it must not give one."""
    with pytest.raises(SystemExit, match="0"):
        apiserver.main(["--help"])
    assert "--insecure-port" not in capsys.readouterr().out
