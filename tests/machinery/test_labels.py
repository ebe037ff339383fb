"""Label selectors."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.machinery import labels
from kubetrio.machinery.labels import EVERYTHING, NOTHING, Requirement, Selector, parse

KEY_MESSAGE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_MESSAGE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
OBJECTS: dict[str, dict[str, str]] = {
    "c1": {"a": "1", "n": "2"},
    "c2": {"a": "2", "n": "5"},
    "c3": {"e": ""},
    "c4": {},
}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", "c1 c2 c3 c4"),
        ("  ", "c1 c2 c3 c4"),
        ("a=1", "c1"),
        ("a==1", "c1"),
        (" a = 1 ", "c1"),
        ("a!=1", "c2 c3 c4"),
        ("a", "c1 c2"),
        ("!a", "c3 c4"),
        ("! a", "c3 c4"),
        ("a in (1,2)", "c1 c2"),
        ("a in(1, 2)", "c1 c2"),
        ("a notin (1)", "c2 c3 c4"),
        ("a notin (1,2)", "c3 c4"),
        ("n > 3", "c2"),
        ("n<3", "c1"),
        ("a > 0", "c1 c2"),
        ("a in ()", ""),
        ("e in ()", "c3"),
        ("e in (,x)", "c3"),
        ("e in (x,)", "c3"),
        ("e in (x,,y)", "c3"),
        ("e=", "c3"),
        ("a,n>2", "c2"),
        ("a,n,!e", "c1 c2"),
        ("a,n,e", ""),
        ("a=1,", None),
        ("in in (in)", ""),
        ("notin", ""),
    ],
)
def test_what_a_selector_selects(text: str, names: str | None) -> None:
    """Every operator selects the objects kube-apiserver selects."""
    if names is None:
        with pytest.raises(ValueError, match="found '', expected: identifier after ','"):
            parse(text)
        return
    selector = parse(text)
    assert [name for name, given in OBJECTS.items() if selector.matches(given)] == names.split()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a=>1", "unable to parse requirement: found '>', expected: identifier"),
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        ("a==!", "unable to parse requirement: found '!', expected: identifier"),
        (
            "-a=1",
            f'unable to parse requirement: <nil>: Invalid value: "-a": {KEY_MESSAGE}',
        ),
        (
            "a=-1-",
            f'unable to parse requirement: values[0][a]: Invalid value: "-1-": {VALUE_MESSAGE}',
        ),
        (
            "a in (b,-)",
            f'unable to parse requirement: values[0][a]: Invalid value: "-": {VALUE_MESSAGE}',
        ),
        ("a in (1", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in 1", "unable to parse requirement: found '1' expected: '('"),
        ("a in (1 2)", "unable to parse requirement: found '2', expected: ',' or ')'"),
        (
            "n > x",
            (
                'unable to parse requirement: values[0]: Invalid value: "x": '
                "for 'Gt', 'Lt' operators, the value must be an integer"
            ),
        ),
        (
            "n > -x",
            (
                "unable to parse requirement: [values[0]: Invalid value: \"-x\": for 'Gt', 'Lt' "
                f'operators, the value must be an integer, values[0][n]: Invalid value: "-x": '
                f"{VALUE_MESSAGE}]"
            ),
        ),
        (
            "n > 9223372036854775808",
            (
                'unable to parse requirement: values[0]: Invalid value: "9223372036854775808": '
                "for 'Gt', 'Lt' operators, the value must be an integer"
            ),
        ),
        (",", "found ',', expected: !, identifier, or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!a=1", "found '=', expected: ',' or 'end of string'"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=1 b", "found 'b', expected: ',' or 'end of string'"),
        ("a,=", "found '=', expected: identifier after ','"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    """Each refusal has kube-apiserver's words."""
    with pytest.raises(ValueError) as error:
        parse(text)
    assert str(error.value) == message


def test_nul_ends_the_text() -> None:
    """The scanner takes a NUL for the end, after the word before it was closed."""
    assert parse("a=1 \0,b") == parse("a=1")


def test_requirements_print_in_order_of_keys() -> None:
    """The canonical text is sorted and has no spaces it can do without."""
    assert str(parse("z , a in (2,1), !c,b==x, n>1,m notin ()")) == (
        "a in (1,2),b==x,!c,m notin (),n>1,z"
    )


def test_exact_is_the_one_value_allowed() -> None:
    """A key is pinned by equality or by a list of one."""
    selector = parse("a=1,b in (2),c in (3,4),d!=5")
    assert [selector.exact(key) for key in "abcde"] == ["1", "2", None, None, None]


def test_empty_and_nothing() -> None:
    """No requirement selects everything; nothing is not empty."""
    assert parse("") is EVERYTHING
    assert EVERYTHING.empty
    assert EVERYTHING.matches({})
    assert not NOTHING.empty
    assert not NOTHING.matches({})


def test_label_selector_objects() -> None:
    """matchLabels and matchExpressions make the same selector as their text."""
    selector = labels.from_label_selector(
        {
            "matchLabels": {"b": "1", "a": "2"},
            "matchExpressions": [
                {"key": "c", "operator": "In", "values": ["y", "x"]},
                {"key": "d", "operator": "NotIn", "values": ["z"]},
                {"key": "e", "operator": "Exists"},
                {"key": "f", "operator": "DoesNotExist", "values": []},
            ],
        }
    )
    assert selector == parse("a=2,b=1,c in (x,y),d notin (z),e,!f")
    assert labels.from_label_selector({}) == EVERYTHING
    assert labels.from_label_selector(None) == NOTHING


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ({"key": "a", "operator": "Near"}, '"Near" is not a valid label selector operator'),
        (
            {"key": "a", "operator": "In"},
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            {"key": "a", "operator": "Exists", "values": ["x"]},
            'values: Invalid value: ["x"]: values set must be empty for exists and does not exist',
        ),
        ({"key": "-", "operator": "Exists"}, f'key: Invalid value: "-": {KEY_MESSAGE}'),
    ],
)
def test_bad_label_selector_objects(expression: dict[str, object], message: str) -> None:
    """Bad expressions are refused in kube-apiserver's words."""
    with pytest.raises(ValueError) as error:
        labels.from_label_selector({"matchExpressions": [expression]})
    assert str(error.value) == message


keys = st.sampled_from(["a", "b", "in", "notin", "example.com/c", "n.1"])
texts = st.sampled_from(["", "1", "2", "30", "x", "in", "x-y_z.1"])
requirements = st.one_of(
    st.builds(Requirement, keys, st.sampled_from(["exists", "!"])),
    st.builds(
        Requirement, keys, st.sampled_from(["=", "==", "!="]), st.builds(lambda v: (v,), texts)
    ),
    st.builds(
        Requirement,
        keys,
        st.sampled_from(["in", "notin"]),
        st.sets(texts, min_size=1).map(lambda values: tuple(sorted(values))),
    ),
    st.builds(
        Requirement,
        keys,
        st.sampled_from(["gt", "lt"]),
        st.integers(0, 40).map(lambda number: (str(number),)),
    ),
)
selectors = st.lists(requirements, max_size=5).map(
    lambda items: Selector(tuple(sorted(items, key=lambda item: item.key)))
)


def naive(requirement: Requirement, given: dict[str, str]) -> bool:
    """The documented meaning of one requirement."""
    value = given.get(requirement.key)
    match requirement.operator:
        case "exists":
            return value is not None
        case "!":
            return value is None
        case "in" | "=" | "==":
            return value is not None and value in requirement.values
        case "notin" | "!=":
            return value is None or value not in requirement.values
    if value is None or not value.isdigit():
        return False
    limit = int(requirement.values[0])
    return int(value) > limit if requirement.operator == "gt" else int(value) < limit


@settings(max_examples=150, deadline=None)
@given(selectors)
def test_a_printed_selector_parses_to_itself(selector: Selector) -> None:
    """Printing loses nothing."""
    assert parse(str(selector)) == selector


@settings(max_examples=150, deadline=None)
@given(selectors, st.dictionaries(keys, texts))
def test_matching_against_a_model(selector: Selector, given: dict[str, str]) -> None:
    """The compiled test agrees with the documented meaning."""
    assert selector.matches(given) is all(naive(item, given) for item in selector.requirements)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="aZ1-_./ =!<>(),in\tž\0", max_size=16))
def test_any_text_parses_or_is_refused(text: str) -> None:
    """No text breaks the parser, and what it accepts it prints and reads again."""
    try:
        selector = parse(text)
    except ValueError:
        return
    assert parse(str(selector)) == selector


def test_the_number_of_requirements_is_bounded() -> None:
    """Each is a test of each object; the longest query has room for tens of thousands."""
    assert len(parse(",".join(["a"] * labels.MOST_REQUIREMENTS)).requirements) == 1000
    with pytest.raises(ValueError, match=r"^more than 1000 requirements$"):
        parse(",".join(["a"] * (labels.MOST_REQUIREMENTS + 1)))


def test_values_are_not() -> None:
    """They are looked up, however many there are."""
    values = [f"{number:04x}" for number in range(20_000)]
    selector = parse(f"a in ({','.join(values)})")
    assert selector.requirements == (Requirement("a", "in", tuple(values)),)
    assert selector.matches({"a": "00ff"})


def test_what_is_wrong_with_many_values_is_told_of_some() -> None:
    """The answer is not a hundred times the question."""
    with pytest.raises(ValueError, match="unable to parse") as raised:
        parse(f"a in ({','.join(f'/{number}' for number in range(1000))})")
    assert str(raised.value).count("values[") == 100


@pytest.mark.parametrize(
    ("items", "values"),
    [
        ("a", ["a"]),
        ("a,", ["", "a"]),
        (",a", ["", "a"]),
        ("a,,b", ["", "a", "b"]),
        (",", [""]),
        (",,,", [""]),
        ("a,b,a", ["a", "b"]),
        ("in,notin", ["in", "notin"]),
    ],
)
def test_nothing_between_commas_is_a_value(items: str, values: list[str]) -> None:
    """At the beginning, within and at the end."""
    assert parse(f"k in ({items})").requirements == (Requirement("k", "in", tuple(values)),)
