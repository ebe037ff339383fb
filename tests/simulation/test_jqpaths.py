"""The part of jq that stages are written in."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.simulation.jqpaths import PathError, path_of

POD: dict[str, Any] = {
    "metadata": {
        "name": "p",
        "annotations": {"example.com/delay": "5s", "empty": None},
        "ownerReferences": [{"kind": "Job"}, {"kind": "X"}],
    },
    "status": {
        "phase": "Running",
        "conditions": [
            {"type": "Initialized", "status": "True", "n": 1},
            {"type": "Ready", "status": "False", "n": 2},
        ],
    },
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (".status.phase", ["Running"]),
        (".status.podIP", []),
        (".nothing.at.all", []),
        (".metadata.annotations.empty", []),
        ('.metadata.annotations["example.com/delay"]', ["5s"]),
        ('.metadata.annotations."example.com/delay"', ["5s"]),
        (".metadata.ownerReferences.[].kind", ["Job", "X"]),
        (".metadata.ownerReferences[].kind", ["Job", "X"]),
        (".metadata.ownerReferences[1].kind", ["X"]),
        (".metadata.ownerReferences[-1].kind", ["X"]),
        (".metadata.ownerReferences[7].kind", []),
        (".status.phase.[]", []),
        ('.status.conditions.[] | select( .type == "Ready" ) | .status', ["False"]),
        ('.status.conditions[] | select(.type != "Ready") | .status', ["True"]),
        (".status.conditions[] | select(.n == 2) | .type", ["Ready"]),
        (".status.conditions[] | select(.n == true) | .type", []),
        (".status.conditions[] | select(.gone == null) | .n", [1, 2]),
        (".", [POD]),
    ],
)
def test_values_are_found(path: str, values: list[Any]) -> None:
    """As jq finds them; what is missing is nothing."""
    assert path_of(path)(POD) == values


@pytest.mark.parametrize(
    "path",
    ["", "status", ".a..b", ".a[", ".a[1.5]", ".a | length", "select(.a)", 'select(.a == b)',
     ".a + .b", ".a b", "map(.a)", '.a | select(.b > 1)', ".a.", "$x"],
)  # fmt: skip
def test_the_rest_of_jq_is_refused(path: str) -> None:
    """When it is read, with the place that is not understood."""
    with pytest.raises(PathError, match="is not understood here"):
        path_of(path)
