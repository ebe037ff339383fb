"""Server-side apply, against a model that knows nothing of field sets."""

import pytest
from apply_model import Model, ModelConflict, paths
from apply_types import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.machinery.apply import apply, conflict_error
from kubetrio.machinery.applyvalues import field_set
from kubetrio.machinery.fieldset import FieldSet
from kubetrio.machinery.ownership import (
    APPLY,
    ONE_VERSION,
    UPDATE,
    ApplyConflict,
    Conflict,
    Manager,
    Owned,
    Rules,
    Typed,
    excluding,
    track_update,
)
from kubetrio.schema import patchmeta

KEYS = st.sampled_from("abc")
BITS = st.sampled_from("01")
DATA = st.dictionaries(KEYS, BITS, max_size=3)
ITEMS = st.dictionaries(KEYS, st.none() | BITS, max_size=2)
WRITES = st.lists(
    st.tuples(st.sampled_from(["update", "apply", "force"]), st.sampled_from("xyz"), DATA, ITEMS),
    max_size=8,
)
BASE = {"base": "0"}, {"base": None}


def made(data, items):
    parts = [{"name": n} if v is None else {"name": n, "v": v} for n, v in items.items()]
    return {"data": data, "items": parts}


def typed(value, version="v1"):
    return Typed(value, ROOT, version)


def applier(name):
    return Manager(name, APPLY, "", "")


def updater(name):
    return Manager(name, UPDATE, "v1", "")


def flat(fields):
    """Paths in the form of the model, without the containers."""
    out = set()
    for top, *rest in fields:
        if rest:
            step, *more = rest
            name = step[2:] if top == "f:data" else step.removeprefix('k:{"name":"')[:-2]
            out.add(("d" if top == "f:data" else "i", name, *(part[2:] for part in more)))
    return out


def values(obj):
    return paths(obj["data"], {item["name"]: item.get("v") for item in obj["items"]})


@settings(max_examples=150, deadline=None)
@given(WRITES)
def test_ownership_follows_the_model(writes):
    """After any writes, the object, its owners and every conflict are those of the model."""
    model = Model()
    model.update("base", paths(*BASE))
    live = typed(made(*BASE))
    owners = track_update({}, updater("base"), typed({}), live, rules=ONE_VERSION, now="t")
    for verb, name, data, items in writes:
        if verb == "update":
            whole = {**BASE[0], **data}, {**BASE[1], **items}
            model.update(name, paths(*whole))
            new = typed(made(*whole))
            owners = track_update(owners, updater(name), live, new, rules=ONE_VERSION, now="t")
            live = new
        else:
            force = verb == "force"
            expected: set[tuple[str, tuple[str, ...]]] = set()
            try:
                model.apply(name, paths(data, items), force=force)
            except ModelConflict as conflict:
                expected = conflict.fields
            config = {key: part for key, part in made(data, items).items() if part}
            found: set[tuple[str, tuple[str, ...]]] = set()
            try:
                merged = apply(
                    live, typed(config), owners, applier(name), rules=ONE_VERSION, force=force
                )
            except ApplyConflict as conflict:
                for each in conflict.conflicts:
                    found |= {(each.manager.name, path) for path in flat([each.path])}
            else:
                live, owners = merged.typed, merged.owners
            assert found == expected
        assert values(live.value) == model.live
        held = {(who.name, who.operation): flat(owned.fields) for who, owned in owners.items()}
        assert {who: owned for who, owned in held.items() if owned} == model.owners


def test_applying_the_same_again_changes_nothing():
    """The live object comes back, and nothing is owned otherwise."""
    config = typed(made({"a": "1"}, {"x": "1"}))
    first = apply(typed({}), config, {}, applier("m"), rules=ONE_VERSION, force=False)
    again = apply(first.typed, config, first.owners, applier("m"), rules=ONE_VERSION, force=False)
    assert again.typed is first.typed
    assert again.owners == first.owners


def test_what_others_put_into_an_item_stays_with_it():
    """Giving up a field of an item leaves the item and what is nobody's in it."""
    live = typed(made({}, {"x": "1"}) | {"items": [{"name": "x", "v": "1", "deep": {"k": "v"}}]})
    owners = {applier("m"): Owned(field_set(made({}, {"x": "1"}), ROOT), "v1", None)}
    config = typed({"items": [{"name": "x"}]})
    merged = apply(live, config, owners, applier("m"), rules=ONE_VERSION, force=False)
    assert merged.typed.value["items"] == [{"name": "x", "deep": {"k": "v"}}]


def test_filtered_fields_are_not_owned():
    """What a subresource may not set is merged (and reset later), but not owned."""
    rules = Rules(keep=excluding(("f:data",)))
    config = typed({"data": {"a": "1"}, "count": 1})
    merged = apply(typed({}), config, {}, applier("m"), rules=rules, force=False)
    assert merged.owners[applier("m")].fields == FieldSet.of(("f:count",))


def renamed(obj, version):
    """A kind whose count is called size in v2; v0 is not served."""
    if version == "v0":
        return None
    names = ("size", "count") if version == "v1" else ("count", "size")
    out = {key: value for key, value in obj.items() if key != names[0]}
    if names[0] in obj:
        out[names[1]] = obj[names[0]]
    return out, SIZED if version == "v2" else ROOT


SIZED = type(ROOT)(
    kind=ROOT.kind,
    load_fields=lambda: {
        **{name: part for name, part in ROOT.fields.items() if name != "count"},
        "size": ROOT.fields["count"],
    },
)
VERSIONS = Rules(convert=renamed)


def test_dropped_fields_are_found_in_the_version_they_were_applied_in():
    """What was applied in one version is given up in another."""
    live = typed({"count": 1, "on": True})
    owners = {applier("m"): Owned(FieldSet.of(("f:size",)), "v2", None)}
    config = typed({"on": True})
    merged = apply(live, config, owners, applier("m"), rules=VERSIONS, force=False)
    assert merged.typed.value == {"on": True}
    assert merged.owners[applier("m")].api_version == "v1"


def test_what_is_owned_in_another_version_stays():
    """A field that somebody owns by another name is not taken out."""
    live = typed({"count": 1, "on": True})
    owners = {
        applier("m"): Owned(FieldSet.of(("f:count",), ("f:on",)), "v1", None),
        applier("o"): Owned(FieldSet.of(("f:size",)), "v2", None),
    }
    merged = apply(live, typed({}), owners, applier("m"), rules=VERSIONS, force=False)
    assert merged.typed.value == {"count": 1}
    assert list(merged.owners) == [applier("o")]


def test_conflicts_in_another_version_are_found():
    """An owner is asked in its own version, and its path is given in it."""
    owners = {applier("o"): Owned(FieldSet.of(("f:size",)), "v2", None)}
    with pytest.raises(ApplyConflict) as caught:
        apply(
            typed({"count": 1}),
            typed({"count": 2}),
            owners,
            applier("m"),
            rules=VERSIONS,
            force=False,
        )
    assert caught.value.conflicts == (Conflict(applier("o"), "v2", ("f:size",)),)


def test_owners_in_versions_that_are_gone_own_nothing():
    """Entries of versions that are not served are dropped; what was applied in one is kept."""
    live = typed({"count": 1, "on": True})
    owners = {
        applier("m"): Owned(FieldSet.of(("f:count",)), "v0", None),
        applier("o"): Owned(FieldSet.of(("f:on",)), "v0", None),
    }
    merged = apply(live, typed({"on": False}), owners, applier("m"), rules=VERSIONS, force=False)
    assert merged.typed.value == {"count": 1, "on": False}
    assert set(merged.owners) == {applier("m")}


def test_one_conflict_in_words():
    """The message names the manager and the field."""
    error = conflict_error((Conflict(applier("one"), "v1", ("f:data", "f:a")),))
    assert error.code == 409
    assert error.message == 'Apply failed with 1 conflict: conflict with "one": .data.a'
    assert error.details == {
        "causes": [
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "one"',
                "field": ".data.a",
            }
        ]
    }


def test_many_conflicts_in_words():
    """They are listed by manager; updates say their version, subresources their name."""
    status = Manager("two", UPDATE, "apps/v1", "status")
    error = conflict_error(
        (
            Conflict(applier("one"), "v1", ("f:a",)),
            Conflict(applier("one"), "v1", ("f:b",)),
            Conflict(status, "apps/v1", ("f:c",)),
        )
    )
    assert error.message == (
        'Apply failed with 3 conflicts: conflicts with "one":\n- .a\n- .b\n'
        'conflicts with "two" with subresource "status" using apps/v1:\n- .c'
    )


def test_giving_up_the_last_label_keeps_the_name():
    """Fields that nobody can own are not pruned with what is given up beside them."""
    schema = patchmeta.for_type("io.k8s.api.core.v1.ConfigMap")
    labelled = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "o"}}
    live = {**labelled, "metadata": {"name": "o", "uid": "u", "labels": {"l": "1"}}}
    owner = Manager("one", "Apply", "", "")
    owned = Owned(FieldSet.of(("f:metadata", "f:labels", "f:l")), "v1", None)
    merged = apply(
        Typed(live, schema, "v1"),
        Typed(labelled, schema, "v1"),
        {owner: owned},
        owner,
        rules=Rules(),
        force=False,
    )
    assert merged.typed.value["metadata"]["name"] == "o"
    assert merged.typed.value["metadata"]["uid"] == "u"
    assert not merged.typed.value["metadata"].get("labels")
