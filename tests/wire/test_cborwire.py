"""Objects in CBOR."""

import io
import sys
from typing import Any

import cbor2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.wire import cborwire

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=5)
    | st.sampled_from([0.5, 1.1, -2.25]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(JSON)
def test_round_trip(value: Any) -> None:
    """JSON goes through unharmed."""
    assert cborwire.decode(cborwire.encode(value)) == value


def test_bytes_on_the_wire() -> None:
    """Strings are byte strings, keys sorted, bytes tagged, floats short, all of it marked."""
    obj = {"kind": "Secret", "data": {"k": "aGk="}, "n": 1.5}
    expected = "d9d9f7a3416ef93e004464617461a1416bd6426869446b696e64"
    assert cborwire.encode(obj, {"data": {"*": True}}).hex() == expected + "46536563726574"


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("d6426869", "aGk="),
        ("d543fbefff", "--__"),
        ("d7426869", "6869"),
        ("426869", "hi"),
        ("626869", "hi"),
        ("41ff", "\ufffd"),
        ("d9d9f7d9d9f7a1416101", {"a": 1}),
        ("a14161d9d9f7a1416280", {"a": {"b": []}}),
        ("d682f6f5", [None, True]),
        ("f94000", 2),
    ],
)
def test_decode(raw: str, value: Any) -> None:
    """Tags say how byte strings look in JSON; without one they are text."""
    back = cborwire.decode(bytes.fromhex(raw))
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize(
    "raw",
    ["", "a1", "0000", "a2416101416102", "a2416101616102", "a10102", "f97e00", "f97c00",
     "1bffffffffffffffff", "61ff", "bf4161ff", "a1d6416101"],
)  # fmt: skip
def test_refused(raw: str) -> None:
    """Malformed, repeated keys, other keys than strings, and numbers that are no JSON."""
    with pytest.raises(ValueError):
        cborwire.decode(bytes.fromhex(raw))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**63, {"a": -(2**63) - 1}])
def test_not_encodable(value: Any) -> None:
    """Numbers Kubernetes cannot carry in CBOR."""
    with pytest.raises(ValueError):
        cborwire.encode(value)


def test_depth() -> None:
    """Nesting is bounded when writing as when reading."""
    value: Any = 1
    for _ in range(64):
        value = [value]
    assert cborwire.decode(cborwire.encode(value)) == value
    with pytest.raises(ValueError, match="nested"):
        cborwire.encode([value])


@pytest.mark.parametrize("count", [0, 1, 30, 300])
def test_list_and_event(count: int) -> None:
    """Lists and events are put together from encoded objects."""
    item = {"metadata": {"name": "x"}}
    made = cborwire.encode_list("v1", "List", {"a": "b"}, [cborwire.encode(item)] * count)
    whole = {"kind": "List", "apiVersion": "v1", "metadata": {"a": "b"}, "items": [item] * count}
    assert made == cborwire.encode(whole)
    event = cborwire.encode_event("ADDED", made)
    assert cborwire.decode(event) == {"type": "ADDED", "object": whole}


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=40))
def test_any_bytes(data: bytes) -> None:
    """Any bytes are decoded or refused with a ValueError."""
    try:
        cborwire.decode(data)
    except ValueError:
        pass


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without cbor2 the error says what to install."""
    monkeypatch.setitem(sys.modules, "cbor2", None)
    assert not cborwire.available()
    with pytest.raises(cborwire.CborUnavailable, match=r"kubetrio\[cbor\]"):
        cborwire.encode({})


@settings(max_examples=200, deadline=None)
@given(JSON, st.integers(1, 12))
def test_pieces_make_the_bytes_of_one_call(value: Any, items: int) -> None:
    """However few items are printed in a call."""
    whole = cborwire.encode(value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cborwire, "PIECE_ITEMS", items)
        assert cborwire.encode(value) == whole


@pytest.mark.parametrize(
    "value",
    [
        {str(number): "" for number in range(30_000)},
        [[number] for number in range(30_000)],
        {"a": [{"b": {str(number): [] for number in range(30_000)}}]},
    ],
)
def test_no_call_of_the_library_prints_many_items(
    value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each lets no other thread run."""
    dumps, sizes = cbor2.dumps, []

    def items(value: Any) -> int:
        inside = value if isinstance(value, list) else [*value, *value.values()]
        return sum(items(x) if isinstance(x, dict | list) else 1 for x in inside) + 1

    def noted(value: Any, **options: Any) -> bytes:
        sizes.append(items(value) if isinstance(value, dict | list) else 1)
        return dumps(value, **options)

    monkeypatch.setattr(cbor2, "dumps", noted)
    assert cborwire.decode(cborwire.encode(value)) == value
    assert max(sizes) <= cborwire.PIECE_ITEMS + 1
    assert len(sizes) > 5


def test_the_library_is_given_a_piece_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has at once it decodes without letting another thread run."""
    value = {str(number): [] for number in range(30_000)}
    data = cborwire.encode(value)
    load, given = cbor2.load, []

    def noted(source: Any, **options: Any) -> Any:
        read = source.read

        class Noting(io.BytesIO):
            def read(self, size: int | None = -1, /) -> bytes:
                piece = read(size)
                given.append(len(piece))
                return bytes(piece)

        return load(Noting(data), **options)

    monkeypatch.setattr(cbor2, "load", noted)
    assert cborwire.decode(data) == value
    assert sum(given) == len(data) - len(cborwire.PREFIX)
    assert max(given) <= cborwire.READ_BYTES
