"""Resource quantities."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.machinery import quantity
from kubetrio.machinery.quantity import Format, Quantity, parse

TENS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
TWOS = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def exact(value: Quantity) -> Fraction:
    """The number."""
    return value.coefficient * Fraction(10) ** value.exponent


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("0", "0"),
        ("0Ki", "0"),
        ("-0", "0"),
        ("+", "0"),
        (".", "0"),
        ("100m", "100m"),
        ("0.5", "500m"),
        (".5", "500m"),
        ("1.5", "1500m"),
        ("1000m", "1"),
        ("1000", "1k"),
        ("1024", "1024"),
        ("1500k", "1500k"),
        ("12e6", "12e6"),
        ("12E6", "12E6"),
        ("1e2", "100"),
        ("1.5e3", "1500"),
        ("15e-1", "1500e-3"),
        ("1Ki", "1Ki"),
        ("1024Ki", "1Mi"),
        ("8Ki", "8Ki"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        ("0.1Ki", "102400m"),
        ("0.0001Ki", "102400u"),
        ("100E", "100E"),
        ("10Ei", "9223372036854775807"),
        ("0.1n", "1n"),
        ("-0.1n", "-1n"),
        ("1.1n", "2n"),
        ("1e-1000000000", "1e-9"),
        ("0e-1000000000", "0"),
        ("-5Mi", "-5Mi"),
        ("1000E", "1000E"),
        ("12345678901234567890", "12345678901234567890"),
    ],
)
def test_canonical_form(text: str, printed: str) -> None:
    """A quantity prints without losing anything, in its own format."""
    assert str(parse(text)) == printed


@pytest.mark.parametrize("text", ["+5", "1.", "1.500", "05", "1500Mi", "+1Ki"])
def test_texts_that_pass_for_canonical_are_kept(text: str) -> None:
    """kube-apiserver prints these unchanged, so a client gets back what it wrote."""
    assert str(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", quantity.FORMAT_ERROR),
        ("abc", quantity.FORMAT_ERROR),
        (" 1", quantity.FORMAT_ERROR),
        ("1.2.3", quantity.FORMAT_ERROR),
        ("1e3x", quantity.FORMAT_ERROR),
        ("1 Gi", quantity.FORMAT_ERROR),
        ("1i", quantity.SUFFIX_ERROR),
        ("1e", quantity.SUFFIX_ERROR),
        ("1K", quantity.SUFFIX_ERROR),
        ("1kk", quantity.SUFFIX_ERROR),
        ("--1", quantity.SUFFIX_ERROR),
        ("1-3", quantity.SUFFIX_ERROR),
        ("1e9999999999999999999999", quantity.SUFFIX_ERROR),
        ("1e1000000000", quantity.NUMERIC_ERROR),
        ("9" * 5000, quantity.NUMERIC_ERROR),
        ("-.e-20", quantity.NUMERIC_ERROR),
    ],
)
def test_refusals(text: str, message: str) -> None:
    """Each refusal has the words of its part of the grammar."""
    with pytest.raises(ValueError) as error:
        parse(text)
    assert str(error.value) == message


def test_json_values() -> None:
    """Numbers and null are quantities too; nothing else is."""
    assert str(quantity.from_json(1.5)) == "1500m"
    assert str(quantity.from_json(2)) == "2"
    assert str(quantity.from_json(None)) == "0"
    assert str(quantity.from_json(" 1Gi ")) == "1Gi"
    for bad in (True, ["1"], {"a": 1}):
        with pytest.raises(ValueError, match="quantities must match"):
            quantity.from_json(bad)


def test_integers_are_rounded_away_from_zero() -> None:
    """value() and milli_value() never report less than was asked for."""
    assert parse("1100m").value() == 2
    assert parse("-1100m").value() == -2
    assert parse("1u").milli_value() == 1
    assert parse("1.5k").milli_value() == 1_500_000


def test_a_sum_takes_the_format_of_the_first_that_is_not_zero() -> None:
    """Zero has no format of its own."""
    assert str(parse("0") + parse("1Gi")) == "1Gi"
    assert str(parse("1Gi") + parse("1073741824")) == "2Gi"
    assert str(parse("1") - parse("1Gi")) == "-1073741823"
    assert str(-parse("1500m")) == "-1500m"
    assert not parse("1") - parse("1000m")


def test_equal_numbers_are_equal_whatever_their_text() -> None:
    """Equality and hash are of the number, not of the text."""
    assert len({parse("1"), parse("1000m"), parse("1e0")}) == 1
    assert parse("1") != "1"
    assert parse("1Ki").format is Format.BINARY_SI
    assert parse("1Ki") > parse("1k") >= parse("1000") < parse("1001")
    assert parse("1n") <= parse("1n")


numbers = st.builds(
    lambda sign, whole, point, decimals: (
        f"{sign}{whole}{'.' if point else ''}{decimals if point else ''}"
    ),
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**20),
    st.booleans(),
    st.text("0123456789", min_size=1, max_size=12),
)


@settings(max_examples=150, deadline=None)
@given(numbers, st.sampled_from([*TENS, *TWOS, "e3", "E-2", "e+7"]))
def test_numbers_against_fractions(number: str, suffix: str) -> None:
    """A quantity is the exact number, rounded away from zero at a nano, binary ones capped."""
    if suffix in TENS:
        factor = Fraction(10) ** TENS[suffix]
    elif suffix in TWOS:
        factor = Fraction(2) ** TWOS[suffix]
    else:
        factor = Fraction(10) ** int(suffix[1:])
    wanted = Fraction(number) * factor
    nanos = -(-abs(wanted) * 10**9 // 1)
    wanted = (-nanos if wanted < 0 else nanos) / Fraction(10**9)
    if suffix in TWOS:
        limit = 2**63 - 1
        wanted = max(min(wanted, Fraction(limit)), Fraction(-limit))
    value = parse(number + suffix)
    assert exact(value) == wanted
    assert exact(parse(str(value))) == wanted
    assert str(parse(str(value))) == str(value)


@settings(max_examples=100, deadline=None)
@given(numbers, numbers, st.sampled_from(list(TENS)), st.sampled_from(list(TWOS)))
def test_arithmetic_against_fractions(one: str, two: str, tens: str, twos: str) -> None:
    """Order, sums and differences are those of the numbers."""
    first, second = parse(one + tens), parse(two + twos)
    assert exact(first + second) == exact(first) + exact(second)
    assert exact(first - second) == exact(first) - exact(second)
    assert (first < second) is (exact(first) < exact(second))
    assert (first == second) is (exact(first) == exact(second))
    assert abs(first.value()) == -(-abs(exact(first)) // 1)
