"""Parameters of drivers."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.kinds.resource.validation.parts import PARAMETERS_MAX, raw_object
from kubetrio.machinery.status import Cause
from kubetrio.wire.goscan import Float


@pytest.mark.parametrize("value", [Float("1.5"), 10**20])
def test_opaque_parameters_that_are_numbers(value: Any) -> None:
    """Fractions and numbers of any size are told as what they are: no objects."""
    causes: list[Cause] = []
    raw_object(value, "p", causes, PARAMETERS_MAX)
    assert [cause.message for cause in causes] == [
        'Invalid value: "<value omitted>": must be a valid JSON object'
    ]
    causes = []
    raw_object({"a": value}, "p", causes, PARAMETERS_MAX)
    assert causes == []
