"""Admission policies and their bindings: read, compiled once for each change, chosen for a request.

Compiled policies are kept by uid and generation; the collections are read again when the commit
stream says that one of them changed, so a change counts from the next request on.  While there is
no policy a request costs one look at an empty mapping.

Source: docs "Validating Admission Policy", "Mutating Admission Policy"; KEP-3488, KEP-3962.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import trio

from kubetrio.admission.attributes import Attributes
from kubetrio.admission.criteria import Criteria, namespace_of
from kubetrio.cel.engine import NOT_INSTALLED, available
from kubetrio.cel.expressions import CompileError, Scope, admission_scope, check
from kubetrio.machinery.status import internal_error
from kubetrio.plugins.policies.dependencies import BINDINGS, PolicyDependencies
from kubetrio.plugins.policies.params import ConfigurationError, param_resource, params_of
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import Registry
from kubetrio.schema.wellknown import NAMESPACE_RESOURCE as NAMESPACES

Object = dict[str, Any]
Compiled = TypeVar("Compiled")


def policy_scope(spec: Mapping[str, Any], *, patches: bool) -> Scope:
    """What expressions of a policy see, its variables compiled.

    Args:
        spec: of the policy.
        patches: whether expressions may make objects and patches.
    """
    has_params = bool(spec.get("paramKind"))
    scope = admission_scope(params=has_params, authorizer=True, composed=True, patches=patches)
    for item in spec.get("variables") or ():
        scope = with_variable(scope, item.get("name") or "", item.get("expression") or "")
    return scope


def with_variable(scope: Scope, name: str, source: str) -> Scope:
    """A scope with one more variable; without one that does not compile: what asks for it fails."""
    try:
        return scope.having(name, check(source, scope))
    except CompileError:
        return scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A binding.

    Args:
        name: its name.
        spec: its spec.
        criteria: which requests it narrows its policy to.
    """

    name: str
    spec: Object
    criteria: Criteria


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(Generic[Compiled]):
    """A policy that is ready.

    Args:
        name: its name.
        spec: its spec.
        criteria: which requests it is about.
        compiled: its expressions.
        params: the resource of its parameters, or None.
        error: why it cannot be carried out, empty when it can.
        bindings: what puts it to work.
    """

    name: str
    spec: Object
    criteria: Criteria
    compiled: Compiled
    params: Kind | None
    error: str
    bindings: tuple[Binding, ...]

    @property
    def fails(self) -> bool:
        """Whether an error refuses the request."""
        return self.spec.get("failurePolicy") != "Ignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation(Generic[Compiled]):
    """A policy to be carried out for a request, or why that is not possible.

    Args:
        policy: the policy.
        binding: by which binding, None when the policy itself is at fault.
        resource: the resource as which it means the request.
        params: with which parameters.
        error: why it cannot be carried out; empty when it can.
    """

    policy: Policy[Compiled]
    binding: Binding | None
    resource: Kind
    params: Sequence[Object | None] = ()
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncompiled:
    """A policy that nothing here can carry out.

    Args:
        name: its name.
        criteria: which requests it is about.
        bindings: what puts it to work.
    """

    name: str
    criteria: Criteria
    bindings: tuple[Binding, ...]


class PolicySource(Generic[Compiled]):
    """The policies of one kind.

    Args:
        dependencies: the server.
        policies: plural name of the policies.
        compile_: compiles the expressions of a spec.
    """

    def __init__(
        self,
        dependencies: PolicyDependencies,
        policies: str,
        compile_: Callable[[Object], Compiled],
    ) -> None:
        self._lookup = dependencies.lookup
        self._cache = dependencies.cache
        self._registry = dependencies.registry
        self._collection = policies
        self._bindings = BINDINGS[policies]
        self._compile = compile_
        self._seen: tuple[object, object] = (None, None)
        self._ready: tuple[Policy[Compiled], ...] = ()
        self._uncompiled: tuple[Uncompiled, ...] = ()
        self._compiled: dict[tuple[str, int], tuple[Compiled, Criteria]] = {}
        dependencies.registry.subscribe(self._kinds_changed)

    def _kinds_changed(self, *_: Registry) -> None:
        """Look for the kinds of parameters anew; what is compiled stays."""
        self._ready, self._seen = (), (None, None)

    async def namespace(self, attributes: Attributes) -> Object | None:
        """The namespace of a request; that of a namespace is not itself."""
        if attributes.resource.group_resource == NAMESPACES or not attributes.namespace:
            return None
        return await self._get_namespace(attributes.namespace)

    async def _get_namespace(self, name: str) -> Object | None:
        return await self._cache.get(f"/registry/namespaces/{name}")

    async def policies(self) -> tuple[Policy[Compiled], ...]:
        """The policies that are bound, by name; none without an engine."""
        policies = await self._lookup.all(self._collection)
        if not policies:
            self._uncompiled = ()
            return ()
        bindings = await self._lookup.all(self._bindings)
        if self._seen[0] is policies and self._seen[1] is bindings:
            return self._ready
        served = self._registry.current
        bound: dict[str, list[Binding]] = {}
        for name, obj in bindings.items():
            spec = obj["spec"]
            criteria = Criteria(spec.get("matchResources"))
            binding = Binding(name=name, spec=spec, criteria=criteria)
            bound.setdefault(spec.get("policyName") or "", []).append(binding)
        ready: list[Policy[Compiled]] = []
        uncompiled: list[Uncompiled] = []
        kept: dict[tuple[str, int], tuple[Compiled, Criteria]] = {}
        for name, obj in sorted(policies.items()):
            if name in bound:
                bindings_of = tuple(bound[name])
                if available():
                    ready.append(await self._prepare(name, obj, bindings_of, kept))
                    continue
                criteria = Criteria(obj["spec"].get("matchConstraints"))
                uncompiled.append(Uncompiled(name=name, criteria=criteria, bindings=bindings_of))
        self._compiled, self._uncompiled = kept, tuple(uncompiled)
        if served is self._registry.current:  # else it may have found kinds that are gone
            self._ready, self._seen = tuple(ready), (policies, bindings)
        return tuple(ready)

    async def _prepare(
        self,
        name: str,
        obj: Object,
        bindings: tuple[Binding, ...],
        kept: dict[tuple[str, int], tuple[Compiled, Criteria]],
    ) -> Policy[Compiled]:
        meta, spec = obj["metadata"], obj["spec"]
        key = (meta["uid"], meta.get("generation") or 0)
        pair = self._compiled.get(key)
        if pair is None:
            # Compiling takes a millisecond or more: let others have a turn before each.
            await trio.lowlevel.checkpoint()
            pair = (self._compile(spec), Criteria(spec.get("matchConstraints")))
        kept[key] = pair
        params, error = None, ""
        if kind := spec.get("paramKind"):
            try:
                params = param_resource(self._registry, kind)
            except ConfigurationError as problem:
                error = str(problem)
        return Policy(
            name=name,
            spec=spec,
            criteria=pair[1],
            compiled=pair[0],
            params=params,
            error=error,
            bindings=bindings,
        )

    async def invocations(self, attributes: Attributes) -> list[Invocation[Compiled]]:
        """What is to be done for a request, in order.

        Raises:
            ApiError: 500, there is something to do and no engine.
        """
        result: list[Invocation[Compiled]] = []
        policies = await self.policies()
        for idle in self._uncompiled:
            if await self._is_about(idle, attributes):
                raise internal_error(f"{self._collection} {idle.name}: {NOT_INSTALLED}")
        for policy in policies:
            resource = await policy.criteria.match(attributes, self._get_namespace)
            if resource is None:
                continue
            if policy.error:
                error = f"failed to configure policy: {policy.error}"
                result.append(
                    Invocation(policy=policy, binding=None, resource=resource, error=error)
                )
                continue
            result += [
                await self._invocation(attributes, policy, binding, resource)
                for binding in policy.bindings
                if await binding.criteria.match(attributes, self._get_namespace) is not None
            ]
        return result

    async def _is_about(self, policy: Uncompiled, attributes: Attributes) -> bool:
        if await policy.criteria.match(attributes, self._get_namespace) is None:
            return False
        for binding in policy.bindings:
            if await binding.criteria.match(attributes, self._get_namespace) is not None:
                return True
        return False

    async def _invocation(
        self,
        attributes: Attributes,
        policy: Policy[Compiled],
        binding: Binding,
        resource: Kind,
    ) -> Invocation[Compiled]:
        params: Sequence[Object | None] = ()
        error = ""
        try:
            params = await params_of(
                policy.params, binding.spec.get("paramRef"), namespace_of(attributes), self._cache
            )
        except ConfigurationError as problem:
            error = f"failed to configure binding: {problem}"
        return Invocation(
            policy=policy, binding=binding, resource=resource, params=params, error=error
        )
