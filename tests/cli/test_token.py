"""``kubetrio token``: what its help shows acts as the token's account."""

import re

import pytest

from kubetrio.cli import main


def test_the_example_for_kubectl_leaves_the_administrators_certificate_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A client certificate counts before a token, so kubeconfig's would decide."""
    with pytest.raises(SystemExit):
        main(["token", "--help"])
    shown = capsys.readouterr().out.replace("\\\n", "")
    (line,) = re.findall("^ *kubectl .*", shown, re.MULTILINE)
    assert "--token" in line
    assert "--kubeconfig /dev/null" in line
