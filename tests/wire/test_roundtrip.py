"""Every built-in kind survives every representation."""

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import DESCRIPTORS, KINDS, objects

from kubetrio.schema import builtin
from kubetrio.wire import cborwire, yamlwire
from kubetrio.wire.descriptors import message_name
from kubetrio.wire.jsonwire import encode
from kubetrio.wire.protowire import ProtobufCodec

CODEC = ProtobufCodec(builtin.message)
FAST = settings(
    max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), database=None
)


@pytest.mark.parametrize("type_name", sorted(set(KINDS.values())))
def test_all_representations(type_name: str) -> None:
    """JSON, protobuf, CBOR and YAML of an object say the same, and members keep their order."""

    @FAST
    @given(objects(type_name))
    def check(obj: dict) -> None:
        raw = CODEC.encode(obj, type_name)
        back = CODEC.decode(raw, type_name)
        assert back == obj
        assert encode(back) == encode(obj)
        assert CODEC.encode(back, type_name) == raw
        shape = DESCRIPTORS.binary_shape(message_name(type_name))
        assert cborwire.decode(cborwire.encode(obj, shape)) == obj
        assert yamlwire.decode(yamlwire.encode(obj)).value == obj

    check()


def members(schema: dict) -> set[str]:
    """Names of the properties a type has."""
    return set(schema.get("properties", ()))


@pytest.mark.parametrize("type_name", sorted(set(KINDS.values())))
def test_no_property_without_a_field(type_name: str) -> None:
    """Every property of a published type, however deep, has a field in its message."""
    seen = set()

    def visit(name: str) -> None:
        if name in seen:
            return
        seen.add(name)
        schema = builtin.type_schema(name)
        plan = CODEC._compiler.plan(message_name(name))
        if hasattr(plan, "order"):
            assert members(schema) - set(plan.order) <= {"apiVersion", "kind"}, name
        for text in orjson.dumps(schema).split(b'"$ref":"')[1:]:
            visit(text.partition(b'"')[0].decode())

    visit(type_name)


@FAST
@given(st.data())
def test_mutated_bytes(data: st.DataObject) -> None:
    """Damaged messages are read or refused, never worse."""
    random = data.draw(st.randoms(use_true_random=True))
    type_name = random.choice(sorted(set(KINDS.values())))
    raw = bytearray(CODEC.encode(data.draw(objects(type_name)), type_name))
    for _ in range(200):
        damaged = bytearray(raw)
        for _ in range(random.randint(1, 4)):
            damaged[random.randrange(len(damaged))] = random.randrange(256)
        try:
            CODEC.decode(bytes(damaged[: random.randrange(len(damaged) + 1)]), type_name)
        except ValueError:
            pass
