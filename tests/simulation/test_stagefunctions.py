"""Functions of templates."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.simulation.goexpressions import TemplateError
from kubetrio.simulation.gotemplates import read
from kubetrio.simulation.stagefunctions import functions_of, quoted

POD: dict[str, Any] = {
    "metadata": {"name": "p"},
    "spec": {"nodeName": "n", "list": [1, 2], "text": "a"},
    "status": {},
}


def rendered(text: str, pod: dict[str, Any] = POD) -> str:
    """A template, rendered of a pod."""
    functions = functions_of(pod, 1_700_000_000.0, "198.18.0.1", "100.64.0.1")
    return read(text, functions).render(pod, functions)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ Now }}", "2023-11-14T22:13:20Z"),
        ("{{ Now | Quote }}", '"2023-11-14T22:13:20Z"'),
        ("{{ Quote 5 }}", '"5"'),
        ("{{ quote .spec.text }}", '"a"'),
        ("{{ NodeIPWith .spec.nodeName }}", "198.18.0.1"),
        ('{{ PodIPWith .spec.nodeName ( or .spec.hostNetwork false ) "u" "p" "n" }}', "100.64.0.1"),
        ('{{ PodIPWith .spec.nodeName true "u" "p" "n" }}', "198.18.0.1"),
        ("{{ range NodeIPsWith .spec.nodeName }}{{ . }}{{ end }}", "198.18.0.1"),
        ("{{ range PodIPsWith .spec.nodeName false }}{{ . }}{{ end }}", "100.64.0.1"),
        ("{{ YAML .spec.list 2 }}", "[1,2]"),
        ("{{ index .spec.list 1 }} {{ index .gone 3 }} {{ index .spec \"text\" }}",
         "2 <no value> a"),
        ("{{ eq .spec.text \"b\" \"a\" }} {{ eq 1 true }} {{ ne 1 2 }}", "true false true"),
        ("{{ lt 1 2 }} {{ le 2 2 }} {{ gt 1 2 }} {{ ge 1 2 }}", "true true false false"),
        ("{{ and 1 0 }} {{ or 0 \"x\" }} {{ not .gone }}", "0 x true"),
        ("{{ len .spec.list }} {{ add 1 2 }} {{ print \"a\" 1 }}", "2 3 a1"),
        ("{{ default \"d\" .gone }} {{ .spec.text | default \"d\" }}", "d a"),
        ("{{ index (dict \"k\" \"v\") \"k\" }} {{ index (list 1 2) 0 }}", "v 1"),
    ],
)  # fmt: skip
def test_functions(template: str, text: str) -> None:
    """As kwok and sprig have them."""
    assert rendered(template) == text


def test_a_pod_keeps_its_address() -> None:
    """The one that its status says."""
    pod = {**POD, "status": {"podIP": "100.64.0.9"}}
    assert rendered("{{ PodIPWith .spec.nodeName false }}", pod) == "100.64.0.9"


def test_lists_end() -> None:
    """An element that is not there is an error."""
    with pytest.raises(TemplateError, match="out of range"):
        rendered("{{ index .spec.list 7 }}")


def test_quoting() -> None:
    """What is no text is quoted as JSON."""
    assert [quoted(one) for one in ('a"b', None, True, 1)] == ['"a\\"b"', '"null"', '"true"', '"1"']
