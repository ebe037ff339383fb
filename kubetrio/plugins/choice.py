"""Which admission plugins are on: the flags, and what is wrong with them.

Source: docs "Admission Control in Kubernetes" (how to turn plugins on and off).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kubetrio.admission.configuration import ConfigurationError
from kubetrio.config import Admission
from kubetrio.config.kinds import csv
from kubetrio.gotext.text import aggregate


def listed(texts: Sequence[str]) -> list[str]:
    """The names of a flag that may be repeated."""
    return [name for text in texts for name in csv(text)]


def chosen(config: Admission, known: Sequence[str], default: Collection[str]) -> tuple[str, ...]:
    """The names of the plugins that are on, in their order.

    Args:
        config: the flags.
        known: all names, in the order in which plugins are asked.
        default: those that are on unless the flags say otherwise.

    Raises:
        ConfigurationError: the flags make no sense, in kube-apiserver's words.
    """
    on, off, only = map(
        listed, (config.enable_plugins, config.disable_plugins, config.only_plugins)
    )
    wrong: list[str] = []
    if config.only_plugins:
        if config.enable_plugins or config.disable_plugins:
            wrong.append(
                "admission-control and enable-admission-plugins/disable-admission-plugins flags "
                "are mutually exclusive"
            )
        wrong += _unknown("admission-control", only, known)
    wrong += _unknown("enable-admission-plugins", on, known)
    wrong += _unknown("disable-admission-plugins", off, known)
    if both := sorted(set(on) & set(off)):
        wrong.append(
            f"[{' '.join(both)}] in enable-admission-plugins and disable-admission-plugins "
            "overlapped"
        )
    if wrong:
        raise ConfigurationError(aggregate(wrong))
    if config.only_plugins:
        return tuple(name for name in known if name in only)
    return tuple(name for name in known if name in on or (name in default and name not in off))


def _unknown(flag: str, names: Sequence[str], known: Sequence[str]) -> list[str]:
    return [f'{flag} plugin "{name}" is unknown' for name in names if name not in known]
