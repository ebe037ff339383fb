"""What sequences are about: kinds, custom resources, rights, reviews, policies, tokens."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from fuzz.corpus import Corpus, Custom, Object, Schema, bound_policies, member, resolved, root
from fuzz.mutations import Mutator, dumps
from fuzz.options import APPLY, JSON, MERGE
from fuzz.steps import Reply, Send, Sequence, Step, collection
from kubetrio.schema.kind import Kind

RBAC = "rbac.authorization.k8s.io"
ADMISSION = "admissionregistration.k8s.io"
USERS = ("alice", "bob", "")
DRY = frozenset(
    f"{ADMISSION}/{name}"
    for name in (
        "mutatingadmissionpolicybindings",
        "validatingadmissionpolicybindings",
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
    )
) | {
    "apiregistration.k8s.io/apiservices",
    "flowcontrol.apiserver.k8s.io/flowschemas",
    "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations",
    "networking.k8s.io/ipaddresses",
    "networking.k8s.io/servicecidrs",
    "apiextensions.k8s.io/customresourcedefinitions",
}
"""Kinds that change how a server answers others: only dry runs of them go to running servers."""
ANCHOR = {"fuzz": "anchor"}
SEEN_S = 0.05  # until a server's informers have seen a write
POLICY_S = 1.3  # until a server has taken in a policy: it looks once a second
DEFINED_S = 1.0  # until a server serves a definition


@dataclass(kw_only=True)
class Area:
    """What a sequence needs.

    Args:
        mutator: draws.
        corpus: objects to begin with.
        send: sends a request.
        settle: waits until what was written is known everywhere.
        length: requests about one object.
        portable: whether bodies leave out what only one server knows.
        namespace: where everything goes; empty for where the objects say.
        protobuf: share of sequences about built-in kinds that use protobuf.
    """

    mutator: Mutator
    corpus: Corpus
    send: Send
    settle: Callable[[float], Awaitable[None]]
    length: int
    portable: bool = False
    namespace: str = ""
    protobuf: float = 0.0
    number: str = field(init=False)

    def __post_init__(self) -> None:
        self.number = str(self.mutator.rng.randrange(10**6))

    # ------------------------------------------------------------------ pieces

    def changed(self, value: Any, times: int, schema: Schema) -> Any:
        """A copy of a value with so many changes."""
        return self.mutator.mutated(value, schema, times)

    async def ask(
        self,
        method: str,
        path: str,
        what: str,
        body: Any = None,
        *,
        content: str = JSON,
        user: str = "",
        headers: dict[str, str] | None = None,
    ) -> Reply:
        """Send a request."""
        made = dict(headers or {})
        if body is not None:
            made["Content-Type"] = content
        data = None if body is None else dumps(body)
        return await self.send(Step(method, path, made, data, what, user))

    def sequence(
        self, resource: Kind | Custom, base: Object, send: Send | None = None, **options: Any
    ) -> Sequence:
        """A sequence about one object."""
        options.setdefault("namespace", self.namespace)
        options.setdefault("portable", self.portable)
        return Sequence(self.mutator, resource, base, send or self.send, **options)

    async def play(self, sequence: Sequence) -> None:
        """Run a sequence to its end."""
        await sequence.run(self.length)
        if self.portable:
            await sequence.end()

    def kind(self, group: str, resource: str) -> Kind:
        """A built-in kind that there are objects of."""
        found = [r for r in self.corpus.bases if (r.group, r.resource) == (group, resource)]
        return found[0]

    # ------------------------------------------------------------------- areas

    async def kinds(self) -> None:
        """An object of a built-in kind."""
        rng = self.mutator.rng
        resource = rng.choice(list(self.corpus.bases))
        bases = self.corpus.bases[resource]
        dry = bool(self.namespace) and f"{resource.group}/{resource.resource}" in DRY
        anchors = [base for base in bases if base["metadata"].get("labels") == ANCHOR]
        base = rng.choice((anchors or bases) if dry else bases)
        sequence = self.sequence(
            resource, base, dry=dry, anchored=bool(anchors), protobuf=rng.random() < self.protobuf
        )
        await self.play(sequence)

    async def customs(self) -> None:
        """An object of a custom resource, which others see in other versions."""
        rng = self.mutator.rng
        resource = rng.choice(list(self.corpus.custom))
        siblings = [
            r
            for r in self.corpus.custom
            if (r.group, r.resource) == (resource.group, resource.resource)
        ]

        async def send(step: Step) -> Reply:
            """Some requests go to another version; sometimes the body says so, too."""
            other = rng.choice(siblings)
            if other is resource or rng.random() < 0.7:
                return await self.send(step)
            here, there = resource.api_version, other.api_version
            body = step.body
            if body is not None and rng.random() < 0.9:
                body = body.replace(here.encode(), there.encode())
            target = step.target.replace(f"/apis/{here}/", f"/apis/{there}/")
            return await self.send(replace(step, target=target, body=body))

        await self.play(self.sequence(resource, rng.choice(self.corpus.custom[resource]), send))

    async def reviews(self) -> None:
        """Questions who may do what, and who is who, by several users."""
        rng = self.mutator.rng
        groups = ("authorization.k8s.io", "authentication.k8s.io")
        kinds = [r for r in self.corpus.bases if r.group in groups]
        for _ in range(self.length):
            resource = rng.choice(kinds)
            user = rng.choice(USERS) if rng.random() < 0.4 else ""
            base = rng.choice(self.corpus.bases[resource])
            await self.sequence(resource, base, self._as((user,))).run(1)

    def _as(self, users: tuple[str, ...], writes_s: float = 0.0) -> Send:
        async def send(step: Step) -> Reply:
            reply = await self.send(replace(step, user=self.mutator.rng.choice(users)))
            if writes_s and step.method != "GET":
                await self.settle(writes_s)
            return reply

        return send

    async def rights(self) -> None:
        """Roles and bindings, written by users with rights of their own."""
        rng = self.mutator.rng
        namespace = self.namespace or "default"
        granted = rng.sample(GRANTS, rng.choice((1, 2, 3)))
        role = f"{namespace}-limited-{self.number}"
        who = [{"kind": "User", "name": "alice", "apiGroup": RBAC}]
        ref = {"kind": "ClusterRole", "name": role, "apiGroup": RBAC}
        path = f"/apis/{RBAC}/v1"
        made: list[tuple[str, Object]] = [
            ("clusterroles", {"rules": [*BASIC, *granted]}),
            ("clusterrolebindings", {"subjects": who * rng.choice((1, 2)), "roleRef": ref}),
        ]
        for resource, body in made:
            body = {"metadata": {"name": role}, **body}
            await self.ask("POST", f"{path}/{resource}", f"{RBAC}/{resource} grant", body)
        await self.settle(SEEN_S)
        send = self._as(("alice", "alice", "alice", "bob", ""), SEEN_S)
        kinds = [r for r in self.corpus.bases if r.group == RBAC]
        played = []
        for _ in range(2):
            kind = rng.choice(kinds)
            base = rng.choice(self.corpus.bases[kind])
            sequence = self.sequence(kind, base, send)
            await sequence.run(self.length)
            played.append(sequence)
            await self._questions(namespace)
        for sequence in played if self.portable else ():
            await sequence.end()
        for resource, _ in made:
            await self.ask("DELETE", f"{path}/{resource}/{role}", f"{RBAC}/{resource} revoke")
        await self.settle(SEEN_S)

    async def _questions(self, namespace: str) -> None:
        rng = self.mutator.rng
        base_path = "/apis/authorization.k8s.io/v1"
        body: Object = {"spec": {"namespace": namespace}}
        path, user = f"{base_path}/selfsubjectrulesreviews", rng.choice(USERS)
        await self.ask("POST", path, "authorization.k8s.io/rules", body, user=user)
        about = {
            "namespace": rng.choice((namespace, "")),
            "verb": rng.choice(("get", "update", "create", "bind", "escalate", "*")),
            "group": rng.choice(("", "apps", RBAC)),
            "resource": rng.choice(("configmaps", "secrets", "roles", "deployments", "pods")),
            "name": rng.choice(("", "a", "reader")),
        }
        body = {"spec": {"user": rng.choice(("alice", "bob")), "groups": ["devs"]}}
        body["spec"]["resourceAttributes"] = about
        path = f"{base_path}/subjectaccessreviews"
        await self.ask("POST", path, "authorization.k8s.io/access", body)

    async def policies(self) -> None:
        """A policy with a binding, and writes that it judges or changes."""
        rng = self.mutator.rng
        space = f"{self.namespace or 'fuzz'}-policies"
        await self.ask(
            "POST", "/api/v1/namespaces", "policies/namespace", {"metadata": {"name": space}}
        )
        params = {"metadata": {"name": "params"}, "data": {"label": "a", "image": "added"}}
        configmaps = f"/api/v1/namespaces/{space}/configmaps"
        await self.ask("POST", configmaps, "policies/params", params)
        policy = copy.deepcopy(rng.choice(bound_policies()))
        kind = self.kind(ADMISSION, policy["kind"].lower()[:-1] + "ies")
        policy["metadata"]["name"] = name = (
            f"{policy['metadata']['name']}-{self.number}.example.test"
        )
        spec = self.changed(policy["spec"], rng.choice((0, 0, 1, 2)), self._spec(kind))
        policy["spec"] = _narrow(spec)
        binding: Object = {
            "metadata": {"name": name},
            "spec": {
                "policyName": name,
                "matchResources": {
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": space}}
                },
            },
        }
        if "paramKind" in policy["spec"]:
            binding["spec"]["paramRef"] = rng.choice(PARAMS)
        if policy["kind"].startswith("Validating"):
            binding["spec"]["validationActions"] = rng.choice(ACTIONS)
        bindings = f"/apis/{ADMISSION}/v1/{kind.resource[:-3]}ybindings"
        policies = f"/apis/{ADMISSION}/v1/{kind.resource}"
        await self.ask("POST", policies, f"policies/{kind.resource} create", policy)
        await self.ask("POST", bindings, "policies/bindings create", binding)
        await self.settle(POLICY_S)
        for _ in range(3):
            await self._judged(space)
        await self.ask("GET", f"{policies}/{name}", f"policies/{kind.resource} get")
        await self.ask("DELETE", f"{bindings}/{name}", "policies/bindings delete")
        await self.ask("DELETE", f"{policies}/{name}", f"policies/{kind.resource} delete")
        await self.settle(POLICY_S)

    def _spec(self, kind: Kind) -> Any:
        return member(resolved(root(kind))[1], "spec")

    async def _judged(self, space: str) -> None:
        """Writes in the namespace of policies."""
        rng = self.mutator.rng
        kind = self.kind(*rng.choice(JUDGED))
        resource: Kind | Custom = kind
        bases = self.corpus.bases[kind]
        if rng.random() < 0.3:
            boats = [r for r in self.corpus.custom if r.kind == "Boat"]
            resource = boat = rng.choice(boats)
            bases = self.corpus.custom[boat]
        base = copy.deepcopy(rng.choice(bases))
        base["metadata"] = {"name": rng.choice(("a", "keep-1", "free", "excluded"))}
        if rng.random() < 0.5:
            base["metadata"]["labels"] = rng.choice(LABELS)
        if base["kind"] == "ConfigMap" and rng.random() < 0.8:
            base.pop("binaryData", None)
            base["data"] = rng.choice(DATA)

        async def send(step: Step) -> Reply:
            return await self.send(replace(step, what=f"policies/{step.what}"))

        sequence = self.sequence(resource, base, send, namespace=space, portable=True)
        await sequence.run(self.length // 2)
        await sequence.end()

    async def tokens(self) -> None:
        """Tokens of a service account: made, bound, used, judged."""
        rng = self.mutator.rng
        namespace = self.namespace or "default"
        name = f"account-{self.number}"
        base_path = f"/api/v1/namespaces/{namespace}"
        await self.ask(
            "POST", f"{base_path}/serviceaccounts", "tokens/account", {"metadata": {"name": name}}
        )
        pod = {"serviceAccountName": name, "containers": [{"name": "c", "image": "i"}]}
        bound: dict[tuple[str, str, str], Object] = {
            ("v1", "Secret", "secrets"): {"type": "Opaque"},
            ("v1", "Pod", "pods"): {"spec": pod},
        }
        known: list[Object] = [{}, {"kind": "Pod", "apiVersion": "v1", "name": "nobody"}]
        for (version, kind, resource), body in bound.items():
            made = await self.ask(
                "POST",
                f"{base_path}/{resource}",
                f"tokens/{resource}",
                {"metadata": {"name": name}, **body},
            )
            value = made.json() or {}
            uid = (value.get("metadata") or {}).get("uid", "") if isinstance(value, dict) else ""
            ref = {"kind": kind, "apiVersion": version, "name": name}
            known += [ref, {**ref, "uid": uid}]
        path = f"{base_path}/serviceaccounts/{name}/token"
        for _ in range(self.length // 2):
            spec: Object = {"audiences": rng.choice(AUDIENCES), "expirationSeconds": 3600}
            if rng.random() < 0.6:
                spec["boundObjectRef"] = rng.choice(known)
            body = {"spec": spec}
            if rng.random() < 0.4:
                schema = {"$ref": "io.k8s.api.authentication.v1.TokenRequest"}
                body = self.changed(body, rng.choice((1, 2)), schema)
            answer = (await self.ask("POST", path, "tokens/request", body)).json()
            status = answer.get("status") if isinstance(answer, dict) else None
            token = status.get("token") if isinstance(status, dict) else None
            if isinstance(token, str) and token:
                await self._used(token)
        for resource in ("serviceaccounts", "secrets", "pods"):
            gone = f"{base_path}/{resource}/{name}?gracePeriodSeconds=0"
            await self.ask("DELETE", gone, f"tokens/{resource} delete")

    async def _used(self, token: str) -> None:
        rng = self.mutator.rng
        base_path = "/apis/authentication.k8s.io/v1"
        body = {"spec": {"token": token, "audiences": rng.choice(AUDIENCES)}}
        await self.ask("POST", f"{base_path}/tokenreviews", "tokens/review", body)
        headers = {"Authorization": f"Bearer {token}"}
        await self.ask(
            "POST", f"{base_path}/selfsubjectreviews", "tokens/whoami", {}, headers=headers
        )

    async def definitions(self) -> None:
        """A definition, changed while there are objects of it."""
        rng = self.mutator.rng
        base = copy.deepcopy(rng.choice(self.corpus.definitions))
        spec = base["spec"]
        spec["group"] = f"g{self.number}.example.test"
        name = base["metadata"]["name"] = f"{spec['names']['plural']}.{spec['group']}"
        base_path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        what = "definitions/definition"
        for times in (rng.choice((1, 2)), 0):
            made = await self.ask("POST", base_path, f"{what} create", self._changed(base, times))
            if made.status < 300:
                break
        await self.settle(DEFINED_S)
        for _ in range(3):
            resource, instance = self._instance(base)
            path = f"{collection(resource, self.namespace or 'default')}"
            one = f"{path}/{instance['metadata']['name']}"
            await self.ask("POST", path, "definitions/object create", instance)
            changed = self.changed(instance, 2, resource.schema)
            await self.ask("PUT", one, "definitions/object put", changed)
            way, content = rng.choice((("merge", MERGE), ("apply", APPLY)))
            target = f"{one}?fieldManager=m" + ("&force=true" if way == "apply" else "")
            applied = self.mutator.part(changed, 0.8)
            await self.ask("PATCH", target, f"definitions/object {way}", applied, content=content)
            await self.ask("GET", one, "definitions/object get")
            await self.ask(
                "PATCH", f"{base_path}/{name}", f"{what} merge", self._patch(base), content=MERGE
            )
            await self.settle(DEFINED_S / 2)
            await self.ask("GET", one, "definitions/object get")
            await self.ask("DELETE", one, "definitions/object delete")
        await self.ask("DELETE", f"{base_path}/{name}", f"{what} delete")

    def _instance(self, definition: Object) -> tuple[Custom, Object]:
        rng = self.mutator.rng
        names = definition["spec"]["names"]
        known = [r for r in self.corpus.custom if r.kind == names["kind"]]
        like = rng.choice(known)
        resource = replace(like, group=definition["spec"]["group"])
        instance = copy.deepcopy(rng.choice(self.corpus.custom[like]))
        instance["apiVersion"] = resource.api_version
        changed = self.changed(instance, rng.choice((0, 0, 1)), resource.schema)
        changed["metadata"] = instance["metadata"]
        return resource, changed

    def _changed(self, definition: Object, times: int) -> Object:
        """A definition whose schemas are a little different."""
        out = copy.deepcopy(definition)
        for version in out["spec"]["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            version["schema"]["openAPIV3Schema"] = self.changed(schema, times, {"$ref": PROPS})
        if times and self.mutator.rng.random() < 0.3:
            out["spec"] = self.changed(out["spec"], 1, {"$ref": SPEC})
        return out

    def _patch(self, definition: Object) -> Object:
        changed = self._changed(definition, self.mutator.rng.choice((1, 1, 2)))
        return {"spec": {"versions": changed["spec"]["versions"]}}


PROPS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
SPEC = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionSpec"
EVERYTHING = ["get", "list", "create", "update", "patch", "delete"]


def _rule(groups: str, resources: str, *verbs: str, names: tuple[str, ...] = ()) -> Object:
    rule: Object = {"apiGroups": groups.split(" "), "resources": resources.split()}
    rule["verbs"] = list(verbs)
    return {**rule, "resourceNames": list(names)} if names else rule


BASIC: list[Object] = [
    _rule(RBAC, "*", *EVERYTHING),
    _rule("", "configmaps", "get", "list", "watch"),
]
GRANTS: list[Object] = [
    _rule(RBAC, "roles clusterroles", "escalate"),
    _rule(RBAC, "roles clusterroles", "bind"),
    _rule(RBAC, "clusterroles", "bind", names=("view",)),
    _rule("", "configmaps secrets", "*"),
    _rule("*", "deployments */scale */status", "*"),
    _rule("", "configmaps", "update", "patch", names=("a",)),
    {"nonResourceURLs": ["/healthz", "/version/*"], "verbs": ["get"]},
    _rule("*", "*", "*"),
    _rule("", "users groups", "impersonate"),
]
JUDGED = (("", "configmaps"), ("", "configmaps"), ("apps", "deployments"))
LABELS: tuple[Object, ...] = ({"a": "b"}, {"a": "c"}, {"unchecked": "x"}, {"mark": "old", "l": "m"})
DATA: tuple[Object, ...] = (
    {"a": "b"}, {}, {"a": ""}, {"a": "b", "c": "d", "e": "f"}, {"mark": "red"},
    {"mark": "no label!"},
)  # fmt: skip
ACTIONS = (["Deny"], ["Warn"], ["Audit"], ["Deny", "Audit"], ["Warn", "Audit"], ["Deny", "Warn"])
PARAMS: tuple[Object, ...] = (
    {"name": "params", "parameterNotFoundAction": "Deny"},
    {"name": "params", "namespace": "fuzz-requests-policies", "parameterNotFoundAction": "Allow"},
    {"name": "missing", "parameterNotFoundAction": "Deny"},
    {"name": "missing", "parameterNotFoundAction": "Allow"},
    {"selector": {"matchLabels": {"a": "b"}}, "parameterNotFoundAction": "Deny"},
    {"selector": {}, "parameterNotFoundAction": "Allow"},
)
AUDIENCES: tuple[Any, ...] = (
    [], ["a"], ["https://kubernetes.default.svc.cluster.local"],
    ["https://kubernetes.default.svc.cluster.local", "b"], [""], None,
)  # fmt: skip


def _narrow(spec: Any) -> Any:
    """A policy's spec that leaves objects of the cluster alone: selectors of namespaces do not."""
    constraints = spec.get("matchConstraints") if isinstance(spec, dict) else None
    for name in ("resourceRules", "excludeResourceRules"):
        rules = constraints.get(name) if isinstance(constraints, dict) else None
        for rule in rules if isinstance(rules, list) else ():
            if isinstance(rule, dict):
                rule["scope"] = "Namespaced"
    return spec


AREAS: dict[str, tuple[int, Callable[[Area], Awaitable[None]]]] = {
    "kinds": (10, Area.kinds),
    "customs": (8, Area.customs),
    "rights": (3, Area.rights),
    "reviews": (3, Area.reviews),
    "policies": (3, Area.policies),
    "tokens": (2, Area.tokens),
    "definitions": (2, Area.definitions),
}
"""How often each is drawn."""


async def draw(area: Area, only: tuple[str, ...] = ()) -> str:
    """Play a sequence of an area that is drawn; returns its name."""
    names = [name for name in AREAS if not only or name in only]
    (name,) = area.mutator.rng.choices(names, [AREAS[name][0] for name in names])
    await AREAS[name][1](area)
    return name
