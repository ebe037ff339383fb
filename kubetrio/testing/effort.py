"""How much a function does, counted in calls: a measure that no other process disturbs."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any


def calls(fn: Callable[[], object]) -> Counter[str]:
    """Calls a function makes, of Python's functions and of built-in ones, by name.

    A generator counts each time it goes on.  What the function raises is its own matter.

    Args:
        fn: the function.
    """
    counted: Counter[str] = Counter()

    def count(frame: Any, event: str, arg: Any) -> None:
        if event == "call":
            counted[frame.f_code.co_name] += 1
        elif event == "c_call":
            counted[arg.__name__] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        fn()
    except ValueError:
        pass
    finally:
        sys.setprofile(before)
    return counted
