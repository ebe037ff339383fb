"""From client-side to server-side apply."""

import json

from apply_types import ROOT

from kubetrio.machinery.lastapplied import ANNOTATION, ANNOTATIONS_LIMIT, refreshed, remaining
from kubetrio.machinery.ownership import UPDATE, Conflict, Manager, Typed

CLIENT = Manager("kubectl-client-side-apply", UPDATE, "v1", "")
ON_COUNT = Conflict(CLIENT, "v1", ("f:count",))
ON_FLAG = Conflict(CLIENT, "v1", ("f:on",))


def live(last, **more):
    text = last if isinstance(last, str) else json.dumps(last)
    return Typed({"metadata": {"annotations": {ANNOTATION: text}}, **more}, ROOT, "v1")


def test_conflicts_about_what_was_applied_before_do_not_count():
    """Fields that the annotation has with the live value are kubectl's own."""
    there = live({"apiVersion": "v1", "count": 1}, count=1, on=True)
    assert remaining((ON_COUNT, ON_FLAG), there) == (ON_FLAG,)


def test_fields_changed_since_still_conflict():
    """A live value that is not the applied one is somebody's."""
    there = live({"apiVersion": "v1", "count": 1}, count=2)
    assert remaining((ON_COUNT,), there) == (ON_COUNT,)


def test_useless_annotations_explain_nothing():
    """None, no JSON, another version, another type: all conflicts stay."""
    for last in ("", "{", "[]", {"apiVersion": "v2", "count": 1}, {"apiVersion": "v1", "x": 1}):
        assert remaining((ON_COUNT,), live(last, count=1)) == (ON_COUNT,)


def test_the_annotation_is_kept_up_to_date():
    """An annotation that is there says what was applied, as kubectl would write it."""
    config = {"kind": "K", "apiVersion": "v1", "metadata": {"annotations": {ANNOTATION: "old"}}}
    after = refreshed(live("old").value, {**config, "data": {"a": "<&>"}})
    assert after["metadata"]["annotations"][ANNOTATION] == (
        '{"apiVersion":"v1","data":{"a":"\\u003c\\u0026\\u003e"},"kind":"K",'
        '"metadata":{"annotations":{}}}\n'
    )


def test_no_annotation_is_added():
    """Objects that were never applied by a client stay without."""
    obj = {"metadata": {"annotations": {"a": "b"}}}
    assert refreshed(obj, {}) is obj
    assert refreshed({}, {}) == {}


def test_an_annotation_that_is_too_large_goes():
    """Rather than an object that no one can write."""
    config = {"data": {"a": "x" * ANNOTATIONS_LIMIT}}
    assert refreshed(live("old").value, config)["metadata"]["annotations"] == {}
