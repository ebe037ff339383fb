"""Entries of managedFields, as kube-apiserver 1.36 writes them."""

import copy

import pytest

from kubetrio.machinery.fieldset import FieldSet
from kubetrio.machinery.lastapplied import ANNOTATION
from kubetrio.machinery.managedfields import (
    ANCIENT,
    UPDATERS_LIMIT,
    InvalidManagedFields,
    Write,
    decode,
    encode,
    on_apply,
    on_create,
    on_update,
    same_but_times,
)
from kubetrio.machinery.names import GroupVersionKind
from kubetrio.machinery.ownership import UPDATE, Manager, Owned, Rules, excluding
from kubetrio.machinery.status import ApiError
from kubetrio.schema import builtin, patchmeta

NO_STATUS = Rules(keep=excluding(("f:status",)))


def write(manager="m", kind="ConfigMap", now="2026-01-01T00:00:01Z", **more):
    gvk = GroupVersionKind("apps" if kind == "Deployment" else "", "v1", kind)
    name = builtin.type_name_of(gvk)
    return Write(
        schema=patchmeta.for_type(name),
        kind=gvk,
        manager=manager,
        now=now,
        empty={"apiVersion": gvk.api_version, "kind": kind, **patchmeta.empty_object(name)},
        **more,
    )


def configmap(data=None, **metadata):
    out = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", **metadata}}
    return out if data is None else {**out, "data": data}


def stored(obj, entries):
    out = copy.deepcopy(obj)
    out["metadata"].pop("managedFields", None)
    if entries:
        out["metadata"]["managedFields"] = entries
    return out


def created(data, manager="creator"):
    obj = configmap(data)
    return stored(obj, on_create(obj, write(manager)))


def applied(live, data, manager="alpha", *, force=False, **more):
    out = on_apply(live, configmap(data), write(manager, **more), force=force)
    return stored(out.obj, out.entries)


def owners(obj):
    """Manager and operation to fields."""
    found = obj["metadata"].get("managedFields", [])
    return {(entry["manager"], entry["operation"]): entry["fieldsV1"] for entry in found}


def test_create():
    """The creator owns what is there, and the map around it."""
    obj = configmap({"a": "1"})
    assert on_create(obj, write("creator")) == [
        {
            "manager": "creator",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-01-01T00:00:01Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {".": {}, "f:a": {}}},
        }
    ]
    assert "managedFields" not in obj["metadata"]


def test_create_of_nothing():
    """An object with a name alone has no owners."""
    assert on_create(configmap(), write()) == []


def test_parts_that_are_always_there_are_not_owned():
    """Members that Go always prints are there before the create; status is not the creator's."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {}}]},
        "status": {"phase": "Pending"},
    }
    (entry,) = on_create(pod, write(kind="Pod", rules=NO_STATUS))
    container = {".": {}, "f:image": {}, "f:name": {}, "f:resources": {}}
    assert entry["fieldsV1"] == {"f:spec": {"f:containers": {'k:{"name":"c"}': container}}}


def test_update_by_another_manager():
    """Who changes a value takes it; the map around it stays with its creator."""
    live = created({"a": "1"})
    new = stored(configmap({"a": "2", "b": "3"}), [])
    after = on_update(live, new, write("updater", now="2026-01-01T00:00:02Z"))
    assert [entry["manager"] for entry in after] == ["creator", "updater"]
    assert after[0]["fieldsV1"] == {"f:data": {}}
    assert after[0]["time"] == "2026-01-01T00:00:01Z"
    assert after[1]["fieldsV1"] == {"f:data": {"f:a": {}, "f:b": {}}}


def test_an_update_without_effect_keeps_entries():
    """Nothing is taken, so no entry and no time changes, whatever the client sent for them."""
    live = created({"a": "1"})
    entries = live["metadata"]["managedFields"]
    assert on_update(live, copy.deepcopy(live), write("x", now="later")) == entries
    assert on_update(live, stored(live, []), write("x", now="later")) == entries


def test_one_empty_entry_clears_and_stops_tracking():
    """After a reset nothing is tracked until somebody applies; then all is before-first-apply's."""
    live = created({"a": "1"})
    assert on_update(live, stored(live, [{}]), write()) == []
    bare = stored(live, [])
    assert on_update(bare, stored(configmap({"a": "2"}), []), write()) == []
    out = on_apply(bare, configmap(), write("empty"), force=False)
    assert owners(stored(out.obj, out.entries)) == {
        ("before-first-apply", "Update"): {"f:data": {".": {}, "f:a": {}}}
    }
    assert out.changed


@pytest.mark.parametrize(
    "bad",
    [
        {"operation": "Sing"},
        {"apiVersion": ""},
        {"fieldsType": ""},
        {"fieldsType": "FieldsV2"},
        {"fieldsV1": {"x": {}}},
    ],
)
def test_entries_that_make_no_sense_are_ignored(bad):
    """The live entries are used instead; reading them says what is wrong."""
    live = created({"a": "1"})
    entries = [{**live["metadata"]["managedFields"][0], **bad}]
    with pytest.raises(InvalidManagedFields):
        decode(entries)
    assert on_update(live, stored(live, entries), write()) == live["metadata"]["managedFields"]


def test_a_version_that_is_none_drops_all_entries():
    """Nobody owns anything then, of a new object and of a changed one."""
    live = created({"a": "1"})
    entries = [{**live["metadata"]["managedFields"][0], "apiVersion": "a/b/c"}]
    assert on_create(stored(live, entries), write()) == []
    assert on_update(live, stored(live, entries), write()) == []


def test_updates_may_bring_their_entries():
    """Entries in an update are taken, but not those in an update of a subresource."""
    live = created({"a": "1"})
    entries = [{**live["metadata"]["managedFields"][0], "manager": "renamed"}]
    new = stored(live, entries)
    assert on_update(live, new, write()) == entries
    kept = on_update(live, new, write(subresource="status"))
    assert kept == live["metadata"]["managedFields"]


def test_subresources_are_managers_of_their_own():
    """The same name owns apart what it writes through a subresource."""
    live = created({"a": "1"}, "m")
    new = stored(configmap({"a": "2"}), [])
    after = on_update(live, new, write(subresource="status"))
    assert [entry.get("subresource") for entry in after] == [None, "status"]


def test_apply_creates():
    """An apply to nothing owns what it says, without the declared parts around it."""
    out = on_apply(None, configmap({"a": "1"}), write("alpha"), force=False)
    assert out.changed
    assert out.obj == configmap({"a": "1"})
    assert owners(stored(out.obj, out.entries)) == {("alpha", "Apply"): {"f:data": {"f:a": {}}}}


def test_apply_again_changes_nothing():
    """Not even the time."""
    live = applied(None, {"a": "1"})
    out = on_apply(live, configmap({"a": "1"}), write("alpha", now="later"), force=False)
    assert not out.changed
    assert out.entries == live["metadata"]["managedFields"]


def test_apply_drops_what_it_does_not_say_any_more():
    """A field that its only owner leaves out is removed; a shared one stays."""
    live = applied(applied(None, {"a": "1", "b": "2"}), {"a": "1"}, "beta")
    after = applied(live, {"c": "3"})
    assert after["data"] == {"a": "1", "c": "3"}
    assert owners(after) == {
        ("alpha", "Apply"): {"f:data": {"f:c": {}}},
        ("beta", "Apply"): {"f:data": {"f:a": {}}},
    }


def test_sharing_a_value_has_no_time():
    """Owning what is there already changes entries, not the object: the new one has no time."""
    live = applied(None, {"a": "1"})
    out = on_apply(live, configmap({"a": "1"}), write("beta"), force=False)
    assert out.changed
    assert "time" not in out.entries[0]
    assert out.entries[0]["manager"] == "beta"


def test_conflicts_and_force():
    """Another's value needs force, which takes the field."""
    live = applied(None, {"a": "1"}, "one")
    with pytest.raises(ApiError) as caught:
        applied(live, {"a": "2"})
    assert caught.value.code == 409
    assert caught.value.message == ('Apply failed with 1 conflict: conflict with "one": .data.a')
    after = applied(live, {"a": "2"}, force=True)
    assert owners(after) == {("alpha", "Apply"): {"f:data": {"f:a": {}}}}


def test_conflicts_with_updates_say_the_version():
    """Updates are known by name and version."""
    with pytest.raises(ApiError) as caught:
        applied(created({"a": "1"}), {"a": "2"})
    assert caught.value.message == (
        'Apply failed with 1 conflict: conflict with "creator" using v1: .data.a'
    )


def test_kubectl_takes_over_from_client_side_apply():
    """What the annotation explains is no conflict, and the annotation is kept up to date."""
    text = '{"apiVersion":"v1","data":{"a":"1"},"kind":"ConfigMap","metadata":{"name":"a"}}\n'
    obj = configmap({"a": "1"}, annotations={ANNOTATION: text})
    live = stored(obj, on_create(obj, write("kubectl-client-side-apply")))
    with pytest.raises(ApiError):
        applied(live, {"a": "2"})
    after = applied(live, {"a": "2"}, "kubectl")
    assert after["data"] == {"a": "2"}
    assert after["metadata"]["annotations"][ANNOTATION] == text.replace('"a":"1"', '"a":"2"')
    assert owners(after)["kubectl", "Apply"] == {"f:data": {"f:a": {}}}


@pytest.mark.parametrize(
    ("config", "code", "message"),
    [
        ({"metadata": {}}, 400, "invalid object type: /, Kind="),
        (
            {"apiVersion": "v9", "kind": "ConfigMap"},
            400,
            "invalid object type: /v9, Kind=ConfigMap",
        ),
        ({"apiVersion": "a/b/c", "kind": "ConfigMap"}, 400, "invalid object type: /, Kind="),
        (configmap(managedFields=[]), 400, "metadata.managedFields must be nil"),
        (
            {**configmap(), "bogus": 1},
            500,
            (
                "failed to create typed patch object (/a; /v1, Kind=ConfigMap):"
                " .bogus: field not declared in schema"
            ),
        ),
    ],
)
def test_what_cannot_be_applied(config, code, message):
    """Bad applies are refused in kube-apiserver's words."""
    with pytest.raises(ApiError) as caught:
        on_apply(None, config, write(), force=False)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_stored_objects_that_make_no_sense():
    """They cannot be applied to; a plain update keeps their entries."""
    bad = {"metadata": {"name": "s"}, "spec": {"ports": [{"name": "x"}, {"port": None}, 1]}}
    service = write(kind="Service")
    config = {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 1}]}}
    entries = applied(None, {"a": "1"})["metadata"]["managedFields"]
    with pytest.raises(ApiError, match="failed to create typed live object"):
        on_apply(stored(bad, entries), config, service, force=False)
    assert on_update(stored(bad, entries), {**bad, "spec": {"ports": []}}, service) == entries
    with pytest.raises(ApiError, match="failed to decode managed fields: operation must be"):
        on_apply(stored(configmap(), [{"operation": "x"}]), configmap(), write(), force=False)


def test_entries_are_ordered():
    """Applies come first, then older entries, then by name."""
    fields = FieldSet.of(("f:data",))
    found = encode(
        {
            Manager("b", UPDATE, "v1", ""): Owned(fields, "v1", "2026-01-01T00:00:01Z"),
            Manager("a", UPDATE, "v1", ""): Owned(fields, "v1", "2026-01-01T00:00:02Z"),
            Manager("", UPDATE, "v1", ""): Owned(fields, "v1", "2026-01-01T00:00:02Z"),
            Manager("z", "Apply", "", ""): Owned(fields, "v1", None),
        }
    )
    assert [entry.get("manager") for entry in found] == ["z", "b", None, "a"]
    assert decode(found).keys() == {
        Manager("b", UPDATE, "v1", ""),
        Manager("a", UPDATE, "v1", ""),
        Manager("", UPDATE, "v1", ""),
        Manager("z", "Apply", "", ""),
    }


def test_old_updaters_become_one():
    """Beyond the limit the oldest are merged; nothing they own is lost, no applier is touched."""
    live = applied(None, {"mine": "1"})
    for number in range(UPDATERS_LIMIT + 3):
        new = copy.deepcopy(live)
        new["data"][f"k{number}"] = "1"
        now = f"2026-01-01T00:01:{number:02}Z"
        live = stored(new, on_update(live, new, write(f"u{number}", now=now)))
    found = {entry["manager"]: entry for entry in live["metadata"]["managedFields"]}
    assert len(found) == UPDATERS_LIMIT + 1
    assert found[ANCIENT]["fieldsV1"] == {"f:data": {f"f:k{n}": {} for n in range(4)}}
    assert found[ANCIENT]["time"] == "2026-01-01T00:01:03Z"
    assert "alpha" in found


def test_same_but_times():
    """Times and order do not count; anything else does."""
    first = created({"a": "1"})["metadata"]["managedFields"]
    later = [{**first[0], "time": "later"}]
    assert same_but_times(first, later)
    assert not same_but_times(first, [])
    assert not same_but_times(first, [{**first[0], "fieldsV1": {"f:data": {}}}])
