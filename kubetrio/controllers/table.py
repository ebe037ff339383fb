"""The table of controllers: each has a row, and can be switched off by its name.

The names are those of kube-controller-manager for what does the same there.  What belongs to the
server itself, as post-start hooks of kube-apiserver do, is no controller and has no row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from kubetrio.env import Env
from kubetrio.informers.controller import Controller
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.kinds.core import protection
from kubetrio.kinds.core.protection import Protected, Protection
from kubetrio.kinds.core.quota.keeper import QuotaKeeper
from kubetrio.kinds.core.quota.stored import StoredQuotas
from kubetrio.kinds.rbac.aggregation import ClusterRoleAggregation
from kubetrio.resources.operations import Operations
from kubetrio.schema.registry import LiveRegistry

ALL = "*"


class Context(NamedTuple):
    """What controllers are made of.

    Args:
        registry: what is served.
        operations: writes.
        informers: of the server.
        quotas: counts them.
        env: clocks.
    """

    registry: LiveRegistry
    operations: Operations
    informers: SharedInformerFactory
    quotas: StoredQuotas
    env: Env


class Row(NamedTuple):
    """A controller.

    Args:
        make: makes it, from its name and what there is.
        alias: another name, which kube-controller-manager had before.
        on_by_default: whether ``*`` means it.
    """

    make: Callable[[str, Context], Controller]
    alias: str = ""
    on_by_default: bool = True


def _quotas(name: str, context: Context) -> Controller:
    return QuotaKeeper(name, context.informers, context.quotas, context.env)


def _protection(protected: Protected, name: str, context: Context) -> Controller:
    return Protection(
        name, protected, context.registry, context.operations, context.informers.dispatcher
    )


def _garbage(name: str, context: Context) -> Controller:
    from kubetrio.kinds.common.garbage.collector import GarbageCollector

    return GarbageCollector(
        name, context.registry, context.operations, context.informers, context.env
    )


def _namespaces(name: str, context: Context) -> Controller:
    from kubetrio.kinds.core.termination.controller import NamespaceController

    return NamespaceController(
        name, context.registry, context.operations, context.informers, context.env
    )


def _aggregation(name: str, context: Context) -> Controller:
    return ClusterRoleAggregation(name, context.registry, context.operations, context.informers)


TABLE: Mapping[str, Row] = {
    "clusterrole-aggregation-controller": Row(_aggregation, "clusterrole-aggregation"),
    "garbage-collector-controller": Row(_garbage, "garbagecollector"),
    "namespace-controller": Row(_namespaces, "namespace"),
    "resourcequota-controller": Row(_quotas, "resourcequota"),
    "persistentvolumeclaim-protection-controller": Row(
        partial(_protection, protection.CLAIMS), "pvc-protection"
    ),
    "persistentvolume-protection-controller": Row(
        partial(_protection, protection.VOLUMES), "pv-protection"
    ),
    "volumeattributesclass-protection-controller": Row(partial(_protection, protection.CLASSES)),
}


class UnknownController(ValueError):
    """A controller was named that is not in the table; the text says which."""


def chosen(asked: Sequence[str], table: Mapping[str, Row] = TABLE) -> list[str]:
    """The names of the controllers to run, in the order of the table.

    Args:
        asked: names, names after a ``-``, and ``*``, as for kube-controller-manager; of several
            that are about one controller the first holds.
        table: all there are.

    Raises:
        UnknownController: one of the names is of none.
    """
    names = {row.alias: name for name, row in table.items() if row.alias}
    names.update((name, name) for name in table)
    said: dict[str, bool] = {}
    for entry in asked:
        if entry == ALL:
            continue
        name = entry.removeprefix("-")
        if name not in names:
            raise UnknownController(f'"{name}" is not in the list of known controllers')
        said.setdefault(names[name], not entry.startswith("-"))
    return [
        name for name, row in table.items() if said.get(name, ALL in asked and row.on_by_default)
    ]


def made(
    asked: Sequence[str], context: Context, table: Mapping[str, Row] = TABLE
) -> list[Controller]:
    """The controllers to run; for the arguments see `chosen`."""
    return [table[name].make(name, context) for name in chosen(asked, table)]
