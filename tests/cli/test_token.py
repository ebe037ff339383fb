"""``kubetrio token``: what its help shows acts as the token's account."""

import re

import pytest

from kubetrio.cli import main
from kubetrio.cli.common import Failure
from kubetrio.cli.token import account_of


def test_the_example_for_kubectl_leaves_the_administrators_certificate_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A client certificate counts before a token, so kubectl is given a kubeconfig without one."""
    with pytest.raises(SystemExit):
        main(["token", "--help"])
    shown = capsys.readouterr().out
    (made,) = re.findall("kubetrio kubeconfig .*--token .* > (.*)$", shown, re.MULTILINE)
    (used,) = re.findall("^ *kubectl (.*)", shown, re.MULTILINE)
    assert used == f"--kubeconfig {made} auth whoami"


@pytest.mark.parametrize(
    ("text", "namespace", "account"),
    [
        ("robot", None, ("default", "robot")),
        ("robot", "ci", ("ci", "robot")),
        ("ci/robot", None, ("ci", "robot")),
        ("ci/robot", "ci", ("ci", "robot")),
    ],
)
def test_accounts(text: str, namespace: str | None, account: tuple[str, str]) -> None:
    """The namespace is a part of the name, or a flag, or ``default``."""
    assert account_of(text, namespace) == account


@pytest.mark.parametrize(("text", "namespace"), [("a/b/c", None), ("ci/", None), ("ci/a", "x")])
def test_what_is_no_account(text: str, namespace: str | None) -> None:
    """A name is missing, or two namespaces are named."""
    with pytest.raises(Failure):
        account_of(text, namespace)
