"""Updates and applies of objects of all forms, against a model of structured merge."""

from apply_types import ROOT
from examples import shortened
from hypothesis import given
from hypothesis import strategies as st
from merge_model import Model, ModelConflict

from kubetrio.machinery.apply import apply
from kubetrio.machinery.ownership import (
    APPLY,
    ONE_VERSION,
    UPDATE,
    ApplyConflict,
    Manager,
    Typed,
    track_update,
)

WORDS = st.sampled_from("ab")
STRINGS = st.none() | st.dictionaries(WORDS, WORDS, max_size=2)
SET = st.none() | st.lists(WORDS, max_size=2, unique=True)
DEEP = st.fixed_dictionaries({}, optional={"sets": SET, "map": STRINGS, "text": WORDS})
ITEM = st.fixed_dictionaries({"name": WORDS}, optional={"v": WORDS, "deep": STRINGS})
PORT = st.fixed_dictionaries(
    {"port": st.sampled_from([1, 2])},
    optional={"protocol": st.sampled_from(["TCP", "UDP"]), "name": WORDS},
)
ANY = st.recursive(
    st.none() | WORDS | st.booleans(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
OBJECTS = st.fixed_dictionaries(
    {},
    optional={
        "spec": st.fixed_dictionaries({}, optional={"labels": STRINGS, "deep": DEEP}),
        "data": STRINGS,
        "count": st.none() | st.sampled_from([1, 2]),
        "set": SET,
        "items": st.none() | st.lists(ITEM, max_size=2, unique_by=lambda item: item["name"]),
        "ports": st.lists(
            PORT, max_size=2, unique_by=lambda port: (port["port"], port.get("protocol", "TCP"))
        ),
        "list": st.none() | st.lists(WORDS, max_size=2),
        "whole": STRINGS,
        "any": ANY,
    },
)
WRITES = st.lists(
    st.tuples(st.sampled_from(["update", "apply", "force"]), st.sampled_from("xy"), OBJECTS),
    max_size=6,
)


def typed(value):
    return Typed(value, ROOT, "v1")


def step(text):
    """A step of ours as the model writes it."""
    import json

    kind, _, rest = text.partition(":")
    if kind == "f":
        return ("f", rest)
    value = json.loads(rest)
    if kind == "v":
        return ("v", value)
    keys = ("port", "protocol") if "port" in value else ("name",)
    return ("k", *(value.get(key) for key in keys))


def flat(fields):
    return {tuple(map(step, path)) for path in fields}


def in_any_order(value):
    """Lists of items sorted, as the model keeps no order."""
    out = dict(value)
    for name in ("set", "items", "ports"):
        if isinstance(out.get(name), list):
            out[name] = sorted(out[name], key=repr)
    deep = (out.get("spec") or {}).get("deep") or {}
    if deep.get("sets"):
        out["spec"] = {**out["spec"], "deep": {**deep, "sets": sorted(deep["sets"])}}
    return out


@shortened(300)
@given(WRITES)
def test_objects_of_all_forms_follow_the_model(writes):
    """After any writes the object, its owners and every conflict are those of the model."""
    model = Model(ROOT)
    live, owners = typed({}), {}
    for verb, name, obj in writes:
        if verb == "update":
            model.update(name, obj)
            manager = Manager(name, UPDATE, "v1", "")
            owners = track_update(owners, manager, live, typed(obj), rules=ONE_VERSION, now="t")
            live = typed(obj)
        else:
            expected, found = set(), set()
            try:
                model.apply(name, obj, force=verb == "force")
            except ModelConflict as conflict:
                expected = conflict.fields
            manager = Manager(name, APPLY, "", "")
            try:
                merged = apply(
                    live, typed(obj), owners, manager, rules=ONE_VERSION, force=verb == "force"
                )
                live, owners = merged.typed, merged.owners
            except ApplyConflict as conflict:
                for each in conflict.conflicts:
                    [path] = flat([each.path])
                    found.add((each.manager.name, each.manager.operation, path))
            assert found == expected
        assert in_any_order(live.value) == in_any_order(model.live)
        held = {(who.name, who.operation): flat(owned.fields) for who, owned in owners.items()}
        assert held == model.owners
