"""Whether a device meets the expressions of a class or of a request.

Source: docs "Dynamic Resource Allocation"; k8s.io/dynamic-resource-allocation/cel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from kubetrio.cel import values
from kubetrio.cel.expressions import DEVICE, CompileError, check
from kubetrio.cel.programs import Inputs, Program
from kubetrio.controllers.scheduler.devices.facts import Device

Object = dict[str, Any]

MOST_PROGRAMS = 256
_VALUES = ("string", "int", "bool")
_DOMAIN = re.compile(r"""device\.(?:attributes|capacity)\[\s*(?:"([^"]*)"|'([^']*)')\s*\]""")
"""A domain that an expression names; there is a map for each, empty where nothing is in it."""


class SelectorError(Exception):
    """An expression cannot be evaluated; the text says why."""


@lru_cache(maxsize=MOST_PROGRAMS)
def _program(expression: str) -> Program | str:
    """An expression that can be evaluated, or why it does not compile."""
    try:
        return Program(check(expression, DEVICE))
    except CompileError as error:
        return str(error)


def _by_domain(
    driver: str, members: Mapping[str, Object], read: Any, domains: Iterable[str]
) -> dict[str, dict[str, Any]]:
    """Values by domain and name; names without a domain are of the driver's."""
    by_domain: dict[str, dict[str, Any]] = {domain: {} for domain in domains}
    for name, member in members.items():
        domain, _, rest = name.rpartition("/")
        by_domain.setdefault(domain or driver, {})[rest] = read(member)
    return by_domain


def _attribute(member: Object) -> Any:
    if "version" in member:
        return values.semver(member["version"])
    for name in _VALUES:
        if name in member:
            return member[name]
    raise SelectorError("unsupported attribute value")


def _capacity(member: Object) -> Any:
    return values.quantity(str(member.get("value") or "0"))


def meets(device: Device, expression: str) -> bool:
    """Whether a device meets an expression.

    Args:
        device: the device, which remembers the answer.
        expression: in CEL.

    Raises:
        SelectorError: it does not compile, or cannot be evaluated.
    """
    answer = device.known.get(expression)
    if answer is None:
        answer = device.known[expression] = _answer(device, expression)
    if isinstance(answer, str):
        raise SelectorError(answer)
    return answer


def _answer(device: Device, expression: str) -> bool | str:
    program = _program(expression)
    if isinstance(program, str):
        return f"CEL compile error: {program}"
    driver = device.id.driver
    domains = {one or other for one, other in _DOMAIN.findall(expression)}
    try:
        inputs = {
            "device.driver": driver,
            "device.allowMultipleAllocations": False,
            "device.attributes": _by_domain(driver, device.attributes, _attribute, domains),
            "device.capacity": _by_domain(driver, device.capacity, _capacity, domains),
        }
    except (SelectorError, ValueError) as error:
        return f"CEL runtime error: {error}"
    outcome = program.evaluate(Inputs(inputs))
    if outcome.error:
        return f"CEL runtime error: {outcome.error}"
    return outcome.value is True
