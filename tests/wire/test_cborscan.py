"""Ends of CBOR items, and what is refused before decoding."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.wire.cborscan import MAX_DEPTH, ItemScanner

ITEMS = ["00", "3903e7", "fb3ff8000000000000", "4161", "6161", "80", "a0", "820102", "a141610a",
         "9f01ff", "bf416101ff", "5f41614162ff", "d9d9f7a0", "d6426869", "f4", "f6", "5fff",
         "8180", "a14161d64161"]  # fmt: skip


@pytest.mark.parametrize("item", ITEMS)
def test_ends(item: str) -> None:
    """An item ends where it ends, whether fed whole, with more behind it, or byte by byte."""
    data = bytes.fromhex(item)
    for behind in (b"", b"\x00", data):
        scanner = ItemScanner()
        assert scanner.advance(data + behind)
        assert scanner.position == len(data)
    scanner = ItemScanner()
    done = [scanner.advance(data[:end]) for end in range(len(data) + 1)]
    assert done == [False] * len(data) + [True]


@pytest.mark.parametrize(
    "item",
    ["ff", "1c", "1f", "df", "c074", "c24101", "c482", "d81c80", "d9010280", "f7", "f0", "f820",
     "5f6161ff", "5f5f", "5f00", "9b7fffffffffffffff", "bb7fffffffffffffff", "d9d9f7ff", "81ff",
     "81" * (MAX_DEPTH + 1), "81" * MAX_DEPTH + "80"],
)  # fmt: skip
def test_refused(item: str) -> None:
    """Malformed heads, tags without use, simple values that are no JSON, and bombs."""
    with pytest.raises(ValueError):
        ItemScanner().advance(bytes.fromhex(item))


def test_many_items() -> None:
    """The number of items is bounded."""
    scanner = ItemScanner()
    with pytest.raises(ValueError, match="too many"):
        scanner.advance(b"\x9f" + b"\x00" * 600_000)


@settings(max_examples=300)
@given(st.binary(max_size=40))
def test_any_bytes(data: bytes) -> None:
    """Any bytes are an item, the beginning of one, or refused; chunks make no difference."""

    def outcome(steps: int) -> object:
        scanner = ItemScanner()
        try:
            for end in range(steps, len(data), steps):
                if scanner.advance(data[:end]):
                    return scanner.position
            return scanner.advance(data) and scanner.position
        except ValueError:
            return "refused"

    whole, bytewise = outcome(len(data) or 1), outcome(1)
    assert whole == bytewise or whole == "refused"
