"""Order of printed keys."""

import pytest

from kubetrio.wire.yamlorder import sorted_keys


@pytest.mark.parametrize(
    "keys",
    [["a", "b"], ["-", "a"], ["1", "a"], ["2", "10"], ["a2", "a10"], ["1", "01"], ["a1b", "a1c"],
     ["a", "aa"], ["1.9", "1.10"], ["A", "a"], ["10", "100"]],
)  # fmt: skip
def test_sorted_keys(keys: list[str]) -> None:
    """Numbers by value, marks before letters, short before long."""
    assert sorted_keys(keys[::-1]) == keys
