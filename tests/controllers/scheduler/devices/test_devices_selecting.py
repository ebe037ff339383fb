"""Expressions about devices, and that their answers are remembered."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kubetrio.controllers.scheduler.devices.facts import Device, slice_facts
from kubetrio.controllers.scheduler.devices.selecting import SelectorError, meets
from kubetrio.testing.devices import device, resource_slice


def made(**more: Any) -> Device:
    """A device."""
    return slice_facts(orjson.dumps(resource_slice("s", device("a", **more)))).devices[0]


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ('device.driver == "gpu.example"', True),
        ('device.attributes["gpu.example"].model == "a"', True),
        ('"model" in device.attributes["other.example"]', False),
        ('device.capacity["gpu.example"].memory == quantity("8Gi")', True),
        ("device.allowMultipleAllocations", False),
    ],
)
def test_an_expression(expression: str, answer: bool) -> None:
    """It sees the driver, the attributes and the capacity."""
    assert meets(made(), expression) is answer


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("device.nothing", "CEL compile error"),
        ('device.attributes["gpu.example"].nothing == 1', "no such key: nothing"),
    ],
)
def test_an_expression_that_fails(expression: str, text: str) -> None:
    """It fails each time, with the same words."""
    one = made()
    for _ in range(2):
        with pytest.raises(SelectorError, match=text):
            meets(one, expression)


def test_names_with_a_domain() -> None:
    """They are of that domain, others of the driver's."""
    one = made(attributes={"other.example/size": {"int": 3}, "ok": {"bool": True}})
    assert meets(one, 'device.attributes["other.example"].size > 2')
    assert meets(one, 'device.attributes["gpu.example"].ok')
    assert one.known['device.attributes["gpu.example"].ok'] is True
