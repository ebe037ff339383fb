"""Objects on the command line, as kubectl takes them."""

from __future__ import annotations

import pytest

from kubetrio.cli.common import Failure
from kubetrio.cli.wanted import wanted
from kubetrio.datadir.objects import Kinds, UnknownKind

KINDS = Kinds([])


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], {}),
        (["deploy"], {"deployments": set()}),
        (["deploy", "services"], {"deployments": set(), "services": set()}),
        (["deploy,svc"], {"deployments": set(), "services": set()}),
        (["deploy/web", "cm/a", "cm/b"], {"deployments": {"web"}, "configmaps": {"a", "b"}}),
        (["deployments.apps/web"], {"deployments": {"web"}}),
        (["pod", "a", "b"], {"pods": {"a", "b"}}),
        (["deploy,svc", "web"], {"deployments": {"web"}, "services": {"web"}}),
        (["pod", "a", "svc"], {"pods": {"a"}, "services": set()}),
        (["pod", "pod/a"], {"pods": set()}),
    ],
)
def test_words(words: list[str], found: dict[str, set[str]]) -> None:
    """Kinds alone mean all objects; names behind a kind or a slash mean those."""
    assert {one.kind.resource: one.names for one in wanted(words, KINDS)} == found


def test_words_that_name_nothing() -> None:
    """The first word is a kind; a slash stands between two names."""
    with pytest.raises(UnknownKind):
        wanted(["web"], KINDS)
    for word in ("/web", "deploy/", "deploy/web/scale"):
        with pytest.raises(Failure, match="is not KIND/NAME"):
            wanted([word], KINDS)


def test_names_are_missing_until_they_are_found() -> None:
    """So that one that is not there can be told."""
    [one] = wanted(["pod", "a", "b"], KINDS)
    assert [one.takes(name) for name in ("a", "c")] == [True, False]
    assert one.missing == {"b"}
