"""Annotations that hold what older versions had members for."""

from __future__ import annotations

import pytest

from kubetrio.kinds.apps.annotations import ROLLBACK_TO, TEMPLATE_GENERATION
from kubetrio.schema.annotated import read_annotations

DEPLOYMENT, DAEMON_SET = "io.k8s.api.apps.v1.Deployment", "io.k8s.api.apps.v1.DaemonSet"


@pytest.mark.parametrize(
    ("type_name", "key", "text", "kept"),
    [
        (DEPLOYMENT, ROLLBACK_TO, "5", "5"),
        (DEPLOYMENT, ROLLBACK_TO, "+5", "5"),
        (DEPLOYMENT, ROLLBACK_TO, "007", "7"),
        (DEPLOYMENT, ROLLBACK_TO, "-1", "-1"),
        (DEPLOYMENT, ROLLBACK_TO, "", None),
        (DAEMON_SET, TEMPLATE_GENERATION, "+5", "5"),
        (DAEMON_SET, ROLLBACK_TO, "x", "x"),
        ("io.k8s.api.core.v1.Pod", TEMPLATE_GENERATION, "x", "x"),
    ],
)
def test_numbers_are_printed_again(type_name: str, key: str, text: str, kept: str | None) -> None:
    """In their shortest form; the annotations of other kinds are texts like any other."""
    obj = {"metadata": {"name": "n", "annotations": {key: text}}}
    meta = {"name": "n"} if kept is None else {"name": "n", "annotations": {key: kept}}
    assert read_annotations(type_name, obj) == {"metadata": meta}
    assert obj["metadata"]["annotations"] == {key: text}


@pytest.mark.parametrize("obj", [{}, {"metadata": {}}, {"metadata": {"annotations": {}}}])
@pytest.mark.parametrize("type_name", [DEPLOYMENT, DAEMON_SET])
def test_most_objects_have_none(type_name: str, obj: dict[str, object]) -> None:
    """They stay what they are."""
    assert read_annotations(type_name, obj) is obj


@pytest.mark.parametrize(
    ("type_name", "key", "text", "words"),
    [
        (
            DEPLOYMENT,
            ROLLBACK_TO,
            "x",
            (
                f"failed to parse annotation[{ROLLBACK_TO}]=x as int64: "
                'strconv.ParseInt: parsing "x": invalid syntax'
            ),
        ),
        (
            DAEMON_SET,
            TEMPLATE_GENERATION,
            "",
            'strconv.ParseInt: parsing "": invalid syntax',
        ),
        (
            DAEMON_SET,
            TEMPLATE_GENERATION,
            str(2**63),
            f'strconv.ParseInt: parsing "{2**63}": value out of range',
        ),
    ],
)
def test_what_is_no_number(type_name: str, key: str, text: str, words: str) -> None:
    """The words are Go's."""
    with pytest.raises(ValueError) as raised:
        read_annotations(type_name, {"metadata": {"annotations": {key: text}}})
    assert str(raised.value) == words
