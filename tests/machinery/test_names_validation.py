"""Names, label keys and label values."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.machinery import names_validation as nv

SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    r"for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
LABEL_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@pytest.mark.parametrize(
    ("name", "messages"),
    [
        ("a", []),
        ("example.com", []),
        ("Bad_Name", [SUBDOMAIN]),
        ("a..b", [SUBDOMAIN]),
        ("a\n", [SUBDOMAIN]),
        ("", [SUBDOMAIN]),
        ("a" * 253, []),
        ("a" * 254, ["must be no more than 253 characters"]),
    ],
)
def test_subdomains(name: str, messages: list[str]) -> None:
    """RFC 1123 subdomains up to 253 bytes are good."""
    assert nv.dns1123_subdomain(name) == messages


@pytest.mark.parametrize(
    ("name", "messages"),
    [
        ("1-a", []),
        ("ABC", [LABEL]),
        ("a.b", ["must not contain dots"]),
        ("a" * 64, ["must be no more than 63 characters"]),
        ("-" * 64, ["must be no more than 63 characters", LABEL]),
    ],
)
def test_labels(name: str, messages: list[str]) -> None:
    """RFC 1123 labels have no dots and at most 63 bytes."""
    assert nv.dns1123_label(name) == messages


@pytest.mark.parametrize(("name", "messages"), [("a-1", []), ("1-a", [LABEL_1035])])
def test_rfc_1035_labels(name: str, messages: list[str]) -> None:
    """RFC 1035 labels start with a letter."""
    assert nv.dns1035_label(name) == messages


@pytest.mark.parametrize("check", [nv.dns1123_label, nv.dns1123_subdomain, nv.dns1035_label])
def test_a_prefix_may_end_with_a_dash(check: nv.NameCheck) -> None:
    """A trailing dash is good in a prefix only; a dash alone never is."""
    assert check("gen-", True) == []
    assert check("gen-", False)
    assert check("-", True)


@pytest.mark.parametrize(
    ("name", "prefix", "messages"),
    [
        ("a b:C", False, []),
        (".", False, ["may not be '.'"]),
        ("..", False, ["may not be '..'"]),
        ("..", True, []),
        ("a/b%", False, ["may not contain '/'", "may not contain '%'"]),
    ],
)
def test_path_segments(name: str, prefix: bool, messages: list[str]) -> None:
    """A path segment only has to survive in a path."""
    assert nv.path_segment(name, prefix) == messages


@pytest.mark.parametrize(
    ("key", "messages"),
    [
        ("app", []),
        ("example.com/App_1.x", []),
        ("-a", [NAME_PART]),
        ("", ["name part must be non-empty", NAME_PART]),
        ("/a", ["prefix part must be non-empty"]),
        ("A/a", [f"prefix part {SUBDOMAIN}"]),
        ("a/" + "b" * 64, ["name part must be no more than 63 bytes"]),
        ("a" * 254 + "/b", ["prefix part must be no more than 253 bytes"]),
        (
            "a/b/c",
            [
                NAME_PART.replace("name part", "a valid label key")
                + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            ],
        ),
    ],
)
def test_label_keys(key: str, messages: list[str]) -> None:
    """Prefix and name of a label key are checked apart."""
    assert nv.qualified_name(key) == messages


@pytest.mark.parametrize(
    ("value", "messages"),
    [
        ("", []),
        ("My_value.1", []),
        ("-bad-", [VALUE]),
        ("x" * 64, ["must be no more than 63 bytes"]),
    ],
)
def test_label_values(value: str, messages: list[str]) -> None:
    """Label values may be empty and have at most 63 bytes."""
    assert nv.label_value(value) == messages


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="aZ9-._/ž\n", max_size=8))
def test_label_values_against_a_second_definition(value: str) -> None:
    """Good values start and end with a letter or digit and hold nothing unusual."""
    good = not value or bool(
        re.fullmatch(r"[A-Za-z0-9._-]*", value) and value[0].isalnum() and value[-1].isalnum()
    )
    assert (nv.label_value(value) == []) is good
