"""The one door to the CEL engine, which is an optional extra and 16 MB: imported when first needed.

What kube-apiserver's engine (cel-go) has and this one lacks is made up for elsewhere in this
package: Kubernetes' functions (`declarations`, `functions`), presence tests on null and variables
that are evaluated when they are asked for (`rewriting`), the wording of errors (`wording`).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from kubetrio.gotext.regexp.bindings import available as re2_available

NOT_INSTALLED = (
    "this server has no CEL engine, so it cannot tell what the expression means; "
    "stop it, install kubetrio[cel] (in a checkout: pip install '.[cel]'), and start it again"
)


class Missing(Exception):
    """The engine is not installed."""


@cache
def _load() -> Any:
    try:
        return import_module("cel_expr_python.cel") if re2_available() else None
    except ImportError:
        return None


def available() -> bool:
    """Whether the engine is installed."""
    return _load() is not None


def engine() -> Any:
    """The engine's module.

    Raises:
        Missing: it is not installed.
    """
    module = _load()
    if module is None:
        raise Missing(NOT_INSTALLED)
    return module


def extensions(*names: str) -> list[Any]:
    """Extensions that come with the engine.

    Args:
        names: such as ``strings``.
    """
    return [
        getattr(import_module(f"cel_expr_python.ext.ext_{name}"), f"Ext{name.capitalize()}")()
        for name in names
    ]
