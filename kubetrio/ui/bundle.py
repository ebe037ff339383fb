"""All modules of the page as one, so that a browser asks once and none waits for another.

A module becomes a function that is called once and returns what it exports; imports are the
destructuring of that.  The modules keep to the few forms of ``import`` and ``export`` that are read
here, each at the beginning of a line, and export no variable that changes later.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

IMPORT = re.compile(
    r'^import (?:\* as (?P<all>\w+)|\{ (?P<names>[^}]*) \}) from "\./(?P<module>[\w-]+)\.js";$',
    re.MULTILINE,
)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
LEFT = re.compile(r"^\s*(?:import|export)\b.*", re.MULTILINE)


class BundleError(ValueError):
    """A module has a form of import or export that is not read, or imports itself by others."""


def bundled(modules: Mapping[str, str], entry: str) -> str:
    """Return one module that does what all do.

    Args:
        modules: texts by name, without ``.js``.
        entry: that whose exported ``start`` is called at the end.

    Raises:
        BundleError: they are not written as they are to be.
    """
    parts: list[str] = []
    done: set[str] = set()

    def add(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise BundleError(" imports ".join((*above, name)))
        if name in done:
            return
        text = modules[name]
        for statement in IMPORT.finditer(text):
            add(statement["module"], (*above, name))
        done.add(name)
        parts.append(_called(name, text))

    add(entry, ())
    return "".join([*parts, f"${entry}.start();\n"])


def _called(name: str, text: str) -> str:
    """A module as a constant, whose members are what it exports."""
    exports = EXPORT.findall(text)
    body = IMPORT.sub(_destructured, EXPORT.sub("", text))
    if left := LEFT.search(body):
        raise BundleError(f"{name}: {left[0].strip()}")
    return f"const ${name} = (() => {{\n{body}return {{ {', '.join(exports)} }};\n}})();\n"


def _destructured(statement: re.Match[str]) -> str:
    names = statement["all"] or f"{{ {statement['names']} }}"
    return f"const {names} = ${statement['module']};"
