"""Flags given as texts are a configuration, or one line."""

from __future__ import annotations

import pytest

from kubetrio.flags.given import FlagsError, configured

OWN = ["--secure-port=0", "--durability=normal"]


def test_flags_of_the_user_replace_those_of_the_caller() -> None:
    """By name, each for itself."""
    config = configured(OWN, ["--secure-port=7"])
    assert (config.serving.secure_port, config.storage.durability) == (7, "normal")


@pytest.mark.parametrize(
    "flag", ["--no-such-flag", "--secure-port=x", "--max-requests-inflight=-1"]
)
def test_what_cannot_be_used_is_one_line(flag: str) -> None:
    """Unknown flags, values of another type, and values that may not be."""
    with pytest.raises(FlagsError, match=flag.partition("=")[0]) as caught:
        configured(OWN, [flag])
    assert "\n" not in str(caught.value)
