"""Files of authentication, against what a kube-apiserver 1.36 said of the same files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubetrio.auth.jwtconfig import parse
from kubetrio.auth.strictconfig import StrictError
from kubetrio.kinds.authentication.configuration import ConfigurationError, compiled

RECORDED = Path(__file__).parent.parent.parent / "auth/recorded/authentication_configurations.json"
CASES = json.loads(RECORDED.read_text())
LOADING = 'failed to load authentication configuration from file "FILE": '


def said_of(text: str) -> str:
    try:
        compiled(parse(text.encode()), ["https://sa"])
    except StrictError as error:
        return f"{LOADING}{error}"
    except ConfigurationError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", CASES)
def test_a_file_is_taken_or_refused_in_the_words_of_kube_apiserver(name: str) -> None:
    """Each recorded file gets the recorded answer: nothing, or the same error."""
    assert said_of(CASES[name]["config"]) == CASES[name]["error"]


def test_a_huge_file_is_refused() -> None:
    """What is larger than any configuration is not read."""
    with pytest.raises(StrictError, match="more than"):
        parse(b"#" * (4 * 1024 * 1024))


def test_deep_nesting_is_an_error() -> None:
    """Nesting beyond reason is told, not crashed on."""
    with pytest.raises(StrictError):
        parse(b"[" * 100_000)


def test_aliases_cannot_blow_up_a_file() -> None:
    """A file of anchors that stand for millions of nodes is refused."""
    rows = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    rows += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(StrictError):
        parse("\n".join(rows).encode())


def test_expressions_without_an_engine_say_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without the CEL engine a file with expressions is refused with the command that helps."""
    monkeypatch.setattr("kubetrio.auth.claimexpressions.available", lambda: False)
    said = said_of(CASES["user ok"]["config"])
    assert "pip install '.[cel]'" in said
    assert "jwt[0].userValidationRules[0].expression" in said
    assert said_of(CASES["full"]["config"]) == ""
