"""Types of built-in objects, for type checkers: ``from kubetrio.types.apps.v1 import Deployment``.

An object is a dictionary, so its type is a ``TypedDict``.  Type checkers read its members in the
stubs (``python -m facts stubs`` makes them, and the modules beside them).  At run time a type knows
its ``apiVersion`` and ``kind`` alone, and is made when it is imported: types that a program does
not use cost it neither memory nor time.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal, TypedDict

from kubetrio.schema import builtin

__all__: list[str] = []  # programs import the modules below it

NAMED_META, TEMPLATE_META = "ObjectMeta", "TemplateMeta"
"""Metadata of objects, which have names, and of templates, which need none."""
META = "io.k8s.apimachinery.pkg.apis.meta.v1"
VERSIONED = re.compile(r"\.v\d\w*$")


def packages() -> Iterator[str]:
    """Names of the packages of types whose kinds an API group has, and of metadata."""
    for file in sorted((builtin.folder() / "types").glob("*.json")):
        if VERSIONED.search(file.stem):
            yield file.stem


def module_of(package: str) -> tuple[str, str]:
    """The first label of the group of a package, and its version.

    Args:
        package: such as ``io.k8s.api.apps.v1``.
    """
    _, group, version = package.rsplit(".", 2)
    return group, version


def lazily(package: str, module: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module, which makes a type when it is first asked for.

    Args:
        package: whose types they are, such as ``io.k8s.api.apps.v1``.
        module: name of the module.
    """
    return partial(_type, package, module)


def _type(package: str, module: str, name: str) -> Any:
    """A type of a package.

    Raises:
        AttributeError: the package has no such type.
    """
    try:
        like = NAMED_META if (package, name) == (META, TEMPLATE_META) else name
        schema = builtin.type_schema(f"{package}.{like}")
    except KeyError:
        schema = {}
    if not schema.get("properties") or name.endswith("List"):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    members: dict[str, Any] = {}
    match schema.get("x-kubernetes-group-version-kind"):
        case [{"group": group, "version": version, "kind": kind}]:
            api = f"{group}/{version}" if group else version
            members = {"apiVersion": Literal[api], "kind": Literal[kind]}
    make: Any = TypedDict
    result = make(name, members, total=False)
    result.__module__ = module
    setattr(sys.modules[module], name, result)
    return result
