"""Which certificate a client is shown, by the name it asks for."""

from __future__ import annotations

import pytest

from kubetrio.http.servernames import Names, NameTable

DEFAULT = Names("kube-apiserver", ("kubernetes", "*.default.test"))
TABLE = NameTable(
    DEFAULT,
    [
        (Names("a.test", ("b.test", "*.c.test")), ()),
        (Names("b.test", ("d.test",)), ("x.test", "*.y.test", "192.0.2.1")),
        (Names("", ("b.test", "e.test")), ()),
        (Names("f.test", ()), ("a.test", "b.test", "*")),
        (Names("late", ("x.test", "late.test")), ("x.test",)),
    ],
)


@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("a.test", 3),  # given with a flag, before the one whose certificate says so
        ("b.test", 3),
        ("e.test", 2),
        ("x.test", 1),  # the earlier flag
        ("X.TEST.", 1),
        ("q.c.test", 0),
        ("q.r.c.test", None),  # a wildcard is one label
        ("c.test", None),
        ("q.y.test", 1),
        ("d.test", 1),  # nobody said so, but its certificate is for it
        ("late.test", 4),
        ("kubernetes", 3),  # the asterisk alone is for names of one label
        ("q.default.test", None),
        ("unknown.test", None),
        ("192.0.2.1", 1),
    ],
)
def test_a_name_finds_its_certificate(name: str, at: int | None) -> None:
    """In Go's order, with kube-apiserver's table."""
    assert TABLE.find(name) == at


def test_the_default_certificate_goes_before_names_nobody_gave() -> None:
    """Of two that are for a name only by what they hold, the default one is shown."""
    table = NameTable(Names("", ("both.test",)), [(Names("", ("both.test",)), ("other.test",))])
    assert table.find("both.test") is None
    assert table.find("other.test") == 0


def test_who_names_nobody_is_known_by_the_address() -> None:
    """If a flag names it; addresses in certificates do not count."""
    assert TABLE.at_address("192.0.2.1") == 1
    assert TABLE.at_address("192.0.2.2") is None


@pytest.mark.parametrize(
    ("common", "used"),
    [
        ("a.test", True),
        ("*.a.test", True),
        ("*", True),
        ("192.0.2.1", False),
        ("::1", False),
        ("Some Body", False),
        ("UPPER.test", False),
        ("", False),
    ],
)
def test_common_names_that_are_host_names_count(common: str, used: bool) -> None:
    """Others say who, not where."""
    assert Names(common, ("x",)).extracted() == ((common, "x") if used else ("x",))


@pytest.mark.parametrize(
    ("pattern", "name", "covered"),
    [
        ("*.a", "x.a", True),
        ("*.a", ".a", False),
        ("*.a", "a", False),
        ("*", "x", False),
        ("A.B", "a.b", True),
        ("x*.a", "xy.a", False),
    ],
)
def test_wildcards_of_certificates(pattern: str, name: str, covered: bool) -> None:
    """The whole first label, and no other."""
    assert Names("", (pattern,)).cover(name) is covered
