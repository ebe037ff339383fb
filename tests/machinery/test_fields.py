"""Field selectors."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.machinery import fields
from kubetrio.machinery.fields import EVERYTHING, MOST_REQUIREMENTS, Selector, parse


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        ("", ()),
        (",", ()),
        ("metadata.name=a", (("metadata.name", "=", "a"),)),
        ("metadata.name==a", (("metadata.name", "=", "a"),)),
        ("metadata.name!=a", (("metadata.name", "!=", "a"),)),
        ("b=1,a=2", (("a", "=", "2"), ("b", "=", "1"))),
        ("=a", (("", "=", "a"),)),
        ("a=", (("a", "=", ""),)),
        ("a=\\,\\=\\\\", (("a", "=", ",=\\"),)),
        ("a b= c ", (("a b", "=", " c "),)),
    ],
)
def test_parsing(text: str, requirements: tuple[fields.Requirement, ...]) -> None:
    """Requirements are sorted by their text and unescaped."""
    assert parse(text).requirements == requirements


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "metadata.name in (a)",
            "invalid selector: 'metadata.name in (a)'; can't understand 'metadata.name in (a)'",
        ),
        ("b,a=1", "invalid selector: 'b,a=1'; can't understand 'b'"),
        ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
        ("a=\\x", "invalid field selector: invalid escape sequence: \\x"),
        ("a=\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    """Each refusal has kube-apiserver's words."""
    with pytest.raises(ValueError) as error:
        parse(text)
    assert str(error.value) == message


def test_matching() -> None:
    """A field without a value is the empty string."""
    selector = parse("a=1,b!=2,c=")
    assert selector.matches({"a": "1"})
    assert selector.matches({"a": "1", "b": "1", "c": ""})
    assert not selector.matches({"a": "1", "b": "2"})
    assert not selector.matches({})
    assert EVERYTHING.matches({})


def test_exact_and_without() -> None:
    """A field pinned by equality can be read and taken out."""
    selector = parse("metadata.name=x,a!=1")
    assert selector.exact("metadata.name") == "x"
    assert selector.exact("a") is None
    assert selector.without("metadata.name") == parse("a!=1")
    assert selector.without("metadata.name").without("a").empty


names = st.text(alphabet="abc.", min_size=1, max_size=4)
selectors = st.lists(
    st.tuples(names, st.sampled_from(["=", "!="]), st.text(alphabet="a,=\\ž ", max_size=5)),
    max_size=4,
).map(lambda items: Selector(tuple(items)))


@settings(max_examples=150, deadline=None)
@given(selectors)
def test_a_printed_selector_parses_to_the_same_requirements(selector: Selector) -> None:
    """Printing escapes what parsing unescapes."""
    assert sorted(parse(str(selector)).requirements) == sorted(selector.requirements)


@settings(max_examples=100, deadline=None)
@given(selectors, st.dictionaries(names, st.text(alphabet="a,=", max_size=2)))
def test_matching_against_a_model(selector: Selector, given: dict[str, str]) -> None:
    """All requirements hold or the object is not selected."""
    wanted = all(
        (given.get(field, "") == value) == (operator == "=")
        for field, operator, value in selector.requirements
    )
    assert selector.matches(given) is wanted


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab.=!,\\", max_size=12))
def test_any_text_parses_or_is_refused(text: str) -> None:
    """No text breaks the parser."""
    try:
        message = f"invalid selector: {parse(text)}"
    except ValueError as error:
        message = str(error)
    assert message.startswith(("invalid selector: ", "invalid field selector: "))


def test_the_number_of_requirements_is_bounded() -> None:
    """Each is a test of each object; nothing between commas is none."""
    assert len(parse(",,".join(["a=b"] * MOST_REQUIREMENTS)).requirements) == 1000
    with pytest.raises(ValueError, match=r"^invalid field selector: more than 1000 requirements$"):
        parse(",".join(["a=b"] * (MOST_REQUIREMENTS + 1)))


@pytest.mark.parametrize("text", ["==", "=", "!=", "==,=", ",=,"])
def test_a_requirement_about_nothing_is_none(text: str) -> None:
    assert parse(text).empty
    assert not parse("=a").empty
