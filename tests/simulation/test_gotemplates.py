"""The part of Go's templates that stages are written in."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kubetrio.simulation.goexpressions import Functions, TemplateError
from kubetrio.simulation.gotemplates import read

POD: dict[str, Any] = {
    "spec": {
        "nodeName": "n",
        "containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "y"}],
        "none": [],
    },
    "metadata": {"annotations": {"example.com/a": "1"}, "name": "p"},
    "on": True,
    "number": 3,
}


def last(*values: Any) -> Any:
    """The first that counts as true, or the last."""
    return next((one for one in values if one), values[-1])


def index(value: Any, key: Any) -> Any:
    """A member or an element."""
    return value.get(key) if isinstance(value, dict) else value[key]


FUNCTIONS: Functions = {
    "Quote": lambda value: orjson.dumps(value).decode(),
    "Now": lambda: "now",
    "index": index,
    "or": last,
    "eq": lambda one, *others: one in others,
    "dict": dict,
    "fail": lambda: list[int]().pop(),
}


def rendered(text: str) -> str:
    """A template, rendered of the pod."""
    return read(text, FUNCTIONS).render(POD, FUNCTIONS)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("plain", "plain"),
        ("{{ .spec.nodeName }}", "n"),
        ("{{.spec.missing.more}}", "<no value>"),
        ("{{ .on }} {{ .number }} {{ nil }}", "true 3 <no value>"),
        ("{{ .spec.nodeName | Quote }}", '"n"'),
        ('{{ Quote "a\\"b" }} {{ `c` }} {{ -1.5 }}', '"a\\"b" c -1.5'),
        ("{{ $x := Now }}{{ $x }}", "now"),
        ("{{ $x := 1 }}{{ if .on }}{{ $y := 2 }}{{ $y }}{{ end }}{{ $x }}", "21"),
        ("{{ $x := 1 }}{{ if .on }}{{ $x = 2 }}{{ end }}{{ $x }}", "2"),
        ("{{ if .missing }}a{{ else if .on }}b{{ else }}c{{ end }}", "b"),
        ("{{ if .missing }}a{{ else }}c{{ end }}", "c"),
        ("{{ if eq .number 3 }}three{{ end }}", "three"),
        ("{{ range .spec.containers }}{{ .name }} {{ end }}", "a b "),
        ("{{ range $i, $c := .spec.containers }}{{ $i }}{{ $c.name }}{{ end }}", "0a1b"),
        ("{{ range $c := .spec.containers }}{{ $c.image }}{{ end }}", "xy"),
        ("{{ range .spec.none }}a{{ else }}none{{ end }}", "none"),
        ("{{ range $k, $v := .metadata.annotations }}{{ $k }}={{ $v }}{{ end }}",
         "example.com/a=1"),
        ("{{ with .spec }}{{ .nodeName }}{{ $.metadata.name }}{{ end }}", "np"),
        ("{{ with $n := .spec.nodeName }}{{ $n }}{{ else }}no{{ end }}", "n"),
        ("{{ with .missing }}a{{ else }}{{ .number }}{{ end }}", "3"),
        ('{{ or ( index .metadata.annotations "b" ) "c" }}', "c"),
        ('{{ index ( or .metadata.annotations dict ) "example.com/a" }}', "1"),
        ("{{ (index .spec.containers 1).name }}", "b"),
        ("a {{- 1 -}} b {{/* nothing */}}", "a1b "),
        ("{{ $root := . }}{{ range .spec.containers }}{{ $root.number }}{{ end }}", "33"),
    ],
)  # fmt: skip
def test_templates(template: str, text: str) -> None:
    """As Go renders them."""
    assert rendered(template) == text


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ('{{ define "x" }}{{ end }}', "define is not supported"),
        ('{{ template "x" }}', "template is not supported"),
        ("{{ range .x }}{{ break }}{{ end }}", "break is not supported"),
        ("{{ toUpper .x }}", "function toUpper is not defined"),
        ("{{ if .x }}", "a block does not end"),
        ("{{ if .x }}{{ else }}", "end of the text"),
        ("{{ end }}", "unexpected"),
        ("{{ .x", "an action does not end"),
        ("{{ 'x' }}", "is not understood"),
        ("{{ .x | .y }}", "nothing can be piped"),
        ("{{ ( .x }}", "unexpected the end"),
        ("{{ range $a, $b, $c := .x }}{{ end }}", "unexpected ,"),
        ("{{ if .x }}{{ else }}{{ else }}{{ end }}", "unexpected else"),
        ("{{ }}", "unexpected the end"),
    ],
)
def test_what_is_beyond_is_refused(template: str, why: str) -> None:
    """When the template is read."""
    with pytest.raises(TemplateError, match=why):
        read(template, FUNCTIONS)


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("{{ .spec }}", "cannot be printed"),
        ("{{ $y = 1 }}", "undefined variable"),
        ("{{ $y }}", "undefined variable"),
        ("{{ range .number }}{{ end }}", "can't iterate"),
        ("{{ fail }}", "pop from empty"),
        ("{{ Quote }}", "argument"),
    ],
)
def test_what_goes_wrong_is_said(template: str, why: str) -> None:
    """When it is rendered."""
    with pytest.raises(TemplateError, match=why):
        rendered(template)
