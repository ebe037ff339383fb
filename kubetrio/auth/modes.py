"""Authorizers by mode: what each is made of, and the functions that make them.

The table of modes is `kubetrio.config.authorization.MODES`; a row names one of these functions, or
one of another module.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

from kubetrio.auth.authorize import ALLOWED, Authorizer, Rules
from kubetrio.config.authorization import MODES
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.machinery.identity import Attributes, Decision, UserInfo, Verdict
from kubetrio.schema import builtin
from kubetrio.schema.registry import LiveRegistry

if TYPE_CHECKING:
    from kubetrio.auth.abac import Policies
    from kubetrio.auth.rbac.authorizer import Rbac

FORBIDDEN = Verdict(Decision.NO_OPINION, "Everything is forbidden.")
ALL_RESOURCES = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
ALL_PATHS = {"verbs": ["*"], "nonResourceURLs": ["*"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeContext:
    """What authorizers are made of.

    Args:
        informers: of the server.
        registry: what is served.
        rbac: roles and bindings.
        policies: of the file that ``--authorization-policy-file`` names, None without one.
    """

    informers: SharedInformerFactory
    registry: LiveRegistry
    rbac: Rbac
    policies: Policies | None


class ModeAuthorizer(NamedTuple):
    """An authorizer, and what it has to read before the server is ready.

    Args:
        authorizer: decides.
        start: reads it; raises `StoreError`.  None where there is nothing to read.
    """

    authorizer: Authorizer
    start: Callable[[], Awaitable[object]] | None = None


Make = Callable[[ModeContext], ModeAuthorizer]


def make(mode: str, context: ModeContext) -> ModeAuthorizer:
    """Make the authorizer of a mode; loads its module.

    Args:
        mode: a key of `MODES` whose row names a function.
        context: what it is made of.
    """
    module, _, name = MODES[mode].make.rpartition(".")
    return cast("Make", getattr(import_module(module), name))(context)


def node(context: ModeContext) -> ModeAuthorizer:
    """Mode Node: what the pods of a node use."""
    from kubetrio.auth.node.authorizer import NodeAuthorizer, rules_of
    from kubetrio.auth.node.graphinformer import NodeGraphInformer

    informer = NodeGraphInformer(context.informers.dispatcher, context.registry.current)
    rules = rules_of(builtin.parsed("bootstrap")["ClusterRole system:node"])
    return ModeAuthorizer(NodeAuthorizer(informer.graph, rules), informer.start)


def rbac(context: ModeContext) -> ModeAuthorizer:
    """Mode RBAC: roles and bindings."""
    return ModeAuthorizer(context.rbac)


def abac(context: ModeContext) -> ModeAuthorizer:
    """Mode ABAC: policies of a file."""
    if context.policies is None:
        raise AssertionError("mode ABAC is checked to have a policy file")
    return ModeAuthorizer(context.policies)


def allow(_: ModeContext) -> ModeAuthorizer:
    """Mode AlwaysAllow."""
    return ModeAuthorizer(AlwaysAllow())


def deny(_: ModeContext) -> ModeAuthorizer:
    """Mode AlwaysDeny."""
    return ModeAuthorizer(AlwaysDeny())


class AlwaysAllow:
    """Allows everything."""

    def authorize(self, attributes: Attributes) -> Verdict:
        """Allow."""
        del attributes
        return ALLOWED

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """Everything."""
        del user, namespace
        return Rules((ALL_RESOURCES,), (ALL_PATHS,))


class AlwaysDeny:
    """Has no opinion on anything, so that a later authorizer may still allow it."""

    def authorize(self, attributes: Attributes) -> Verdict:
        """Have no opinion."""
        del attributes
        return FORBIDDEN

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """Nothing."""
        del user, namespace
        return Rules()
