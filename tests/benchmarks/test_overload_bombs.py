"""Bodies of attacks are as long as they are said to be, and are what their codec reads."""

import json

import pytest

from benchmarks.overload import bombs

KB = 1024


@pytest.mark.parametrize("shape", bombs.SHAPES, ids=lambda shape: f"{shape.codec} {shape.what}")
@pytest.mark.parametrize("size", [4 * KB, 64 * KB])
def test_a_body_fills_its_size(shape: bombs.Shape, size: int):
    body = shape.fill("v1", "ConfigMap", size)
    assert size - len(shape.unit) < len(body) <= size


@pytest.mark.parametrize("shape", [shape for shape in bombs.SHAPES if shape.codec == "json"])
def test_json_is_json_of_the_kind(shape: bombs.Shape):
    body = json.loads(shape.fill("v1", "ConfigMap", 4 * KB))
    assert (body["apiVersion"], body["kind"]) == ("v1", "ConfigMap")


def test_every_shape_is_sent_in_every_size():
    sizes = (2 * KB, 4 * KB)
    made = list(bombs.bodies("v1", "ConfigMap", sizes))
    assert len(made) == len(bombs.SHAPES) * len(sizes)
    assert {media for media, _ in made} == set(bombs.MEDIA.values())
