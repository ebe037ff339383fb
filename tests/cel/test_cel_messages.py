"""Types as protobuf messages: any names that members of a schema can have."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kubetrio.cel.engine import available, engine
from kubetrio.cel.messages import Descriptors

pytestmark = pytest.mark.skipif(not available(), reason="needs the extra cel")


def types_of(fields: Mapping[str, str], *shown: str) -> list[str]:
    cel = engine()
    env = cel.NewEnv(Descriptors({"thing": dict(fields)}), variables={"it": cel.Type("thing")})
    return [env.compile(f"it.{name}").return_type().name() for name in shown or fields]


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"nestBox": "string", "nest_box": "int"}, ["STRING", "INT"]),
        ({"aB": "string", "a_B": "bool", "a__b": "double"}, ["STRING", "BOOL", "DOUBLE"]),
        ({"nestBox": "map<string,int>", "nest_box": "string"}, ["MAP", "STRING"]),
        ({"nestBox": "map<string,int>", "nest_box": "map<string,int>"}, ["MAP", "MAP"]),
        ({"x": "map<string,int>", "X": "map<string,int>"}, ["MAP", "MAP"]),
        ({"x": "map<string,int>", "XEntry": "string"}, ["MAP", "STRING"]),
        ({"XEntry": "string", "x": "map<string,int>"}, ["STRING", "MAP"]),
        ({"serialized_size": "int", "descriptor": "int", "has_x": "int", "x": "int"}, ["INT"] * 4),
    ],
)
def test_members_with_one_name_elsewhere(fields: dict[str, str], found: list[str]) -> None:
    assert [name.partition("<")[0] for name in types_of(fields)] == found


@pytest.mark.parametrize("count", [5_000, 20_500, 65_536])
def test_objects_of_many_members(count: int) -> None:
    fields = dict.fromkeys((f"m{at}" for at in range(count)), "string")
    assert types_of(fields, "m0", f"m{min(count, 65_535) - 1}") == ["STRING", "STRING"]
