"""PodSecurity on a whole server: what is refused, what is warned of, what is left alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kubetrio.admission.attributes import Attributes, Operation, unheard
from kubetrio.admission.objectcache import ObjectCache
from kubetrio.informers.dispatch import Dispatcher
from kubetrio.kinds.builtin import registry
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.status import ApiError
from kubetrio.plugins.podsecurity import plugin as podsecurity
from kubetrio.plugins.podsecurity.plugin import TEMPLATES, PodSecurity
from kubetrio.plugins.podsecurity.policy import Policy, Standard, policy_of
from kubetrio.testing.client import Answer, Client
from kubetrio.testing.store_model import MemoryStore

Object = dict[str, Any]
NAMESPACES = "/api/v1/namespaces"
PODS = f"{NAMESPACES}/ns/pods"
PREFIX = "pod-security.kubernetes.io/"
MERGE = {"Content-Type": "application/merge-patch+json"}
BOLD = {"capabilities": {"add": ["SYS_TIME"]}}
HARDENED: Object = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
NOT_HARDENED = (
    'allowPrivilegeEscalation != false (container "c" must set '
    "securityContext.allowPrivilegeEscalation=false), unrestricted capabilities "
    '(container "c" must set securityContext.capabilities.drop=["ALL"]), '
    'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), '
    'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to '
    '"RuntimeDefault" or "Localhost")'
)
IS_BOLD = (
    'non-default capabilities (container "c" must not include "SYS_TIME" '
    "in securityContext.capabilities.add)"
)
EXISTING = 'existing pods in namespace "ns" violate the new PodSecurity enforce level'


def labels(**values: str) -> dict[str, str]:
    return {PREFIX + key.replace("_", "-"): value for key, value in values.items()}


def spec(context: Object | None = None, image: str = "i", **more: Any) -> Object:
    return {"containers": [{"name": "c", "image": image, "securityContext": context or {}}], **more}


def pod(name: str = "p", context: Object | None = None, **more: Any) -> Object:
    kind = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}
    return {**kind, "spec": spec(context, **more)}


def warnings(answer: Answer) -> list[str]:
    """The texts of all warnings of an answer."""
    found = [value.decode() for name, value in answer.head.headers if name == b"warning"]
    return [text.removeprefix('299 - "').removesuffix('"').replace('\\"', '"') for text in found]


async def namespace(client: Client, name: str = "ns", **values: str) -> Answer:
    meta = {"name": name, "labels": labels(**values)}
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}
    return await client.request("POST", NAMESPACES, json=body)


async def relabel(client: Client, **values: str | None) -> Answer:
    """Change labels of the namespace."""
    changed = {PREFIX + key.replace("_", "-"): value for key, value in values.items()}
    patch = {"metadata": {"labels": changed}}
    return await client.request("PATCH", f"{NAMESPACES}/ns", json=patch, headers=MERGE)


# ---------------------------------------------------------------- pods


async def test_pods_are_refused(client: Client) -> None:
    """With every violation, as what it is: forbidden."""
    await namespace(client, enforce="restricted")
    answer = await client.request("POST", PODS, json=pod())
    assert answer.json() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'pods "p" is forbidden: violates PodSecurity "restricted:latest": '
        f"{NOT_HARDENED}",
        "reason": "Forbidden",
        "details": {"name": "p", "kind": "pods"},
        "code": 403,
    }
    assert (await client.request("POST", PODS, json=pod(context=HARDENED))).status == 201


async def test_pods_are_warned_of(client: Client) -> None:
    """What is refused is not warned of, too."""
    await namespace(client, enforce="baseline", enforce_version="v1.20", warn="restricted")
    answer = await client.request("POST", PODS, json=pod())
    assert answer.status == 201
    assert warnings(answer) == [f'would violate PodSecurity "restricted:latest": {NOT_HARDENED}']
    answer = await client.request("POST", PODS, json=pod("q", BOLD))
    assert answer.json()["message"] == (
        f'pods "q" is forbidden: violates PodSecurity "baseline:v1.20": {IS_BOLD}'
    )
    assert warnings(answer) == []


DUPLICATED = [{"containerPort": 80}, {"containerPort": 80}]


def duplicating(name: str) -> Object:
    """A pod that is warned of by the rules of its kind, and that is bold."""
    made = pod(name, BOLD)
    made["spec"]["containers"][0]["ports"] = DUPLICATED
    return made


async def test_a_kind_warns_before_admission_does(client: Client) -> None:
    """And of what admission refuses, too: its rules are looked at first."""
    twice = (
        "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]"
    )
    await namespace(client, warn="baseline")
    answer = await client.request("POST", PODS, json=duplicating("p"))
    told = f'would violate PodSecurity "baseline:latest": {IS_BOLD}'
    assert (answer.status, warnings(answer)) == (201, [twice, told])
    await relabel(client, enforce="baseline")
    answer = await client.request("POST", PODS, json=duplicating("q"))
    assert (answer.status, warnings(answer)) == (403, [twice])


async def test_makers_of_pods_are_warned_of_what_is_enforced(client: Client) -> None:
    """Where no label says of what to warn: they are made, and their pods will not be."""
    await namespace(client, enforce="baseline")
    template = {"template": {"metadata": {"labels": {"a": "b"}}, "spec": pod("p", BOLD)["spec"]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, **template}
    path = "/apis/apps/v1/namespaces/ns/deployments"
    answer = await client.request("POST", path, json={"metadata": {"name": "d"}, "spec": spec})
    told = f'would violate PodSecurity "baseline:latest": {IS_BOLD}'
    assert (answer.status, warnings(answer)) == (201, [told])


async def test_other_namespaces_do_not_care(client: Client) -> None:
    """There is a policy by namespace, and none by default."""
    await namespace(client, enforce="restricted")
    path = f"{NAMESPACES}/default/pods"
    answer = await client.request("POST", path, json=pod("p", BOLD))
    assert (answer.status, warnings(answer)) == (201, [])


async def test_updates_count_where_they_matter(client: Client) -> None:
    """What was there before may go on; it may not become something else."""
    await namespace(client)
    await client.request("POST", PODS, json=pod("p", BOLD))
    await relabel(client, enforce="baseline")
    patch: Object = {"metadata": {"labels": {"a": "b"}}}
    answer = await client.request("PATCH", f"{PODS}/p", json=patch, headers=MERGE)
    assert answer.status == 200
    status = {"status": {"phase": "Running"}}
    answer = await client.request("PATCH", f"{PODS}/p/status", json=status, headers=MERGE)
    assert answer.status == 200
    patch = [{"op": "replace", "path": "/spec/containers/0/image", "value": "j"}]
    json_patch = {"Content-Type": "application/json-patch+json"}
    answer = await client.request("PATCH", f"{PODS}/p", json=patch, headers=json_patch)
    assert answer.status == 403
    assert answer.json()["message"].endswith(IS_BOLD)


async def test_ephemeral_containers_are_looked_at(client: Client) -> None:
    """They are how something else gets into a pod that is there already."""
    await namespace(client, enforce="baseline")
    await client.request("POST", PODS, json=pod())
    debug = {"name": "debug", "image": "i", "securityContext": BOLD}
    patch = {"spec": {"ephemeralContainers": [debug]}}
    path = f"{PODS}/p/ephemeralcontainers"
    answer = await client.request("PATCH", path, json=patch, headers=MERGE)
    told = IS_BOLD.replace('"c"', '"debug"')
    message = f'pods "p" is forbidden: violates PodSecurity "baseline:latest": {told}'
    assert (answer.status, answer.json()["message"]) == (403, message)
    debug["securityContext"] = {}
    assert (await client.request("PATCH", path, json=patch, headers=MERGE)).status == 200


# ---------------------------------------------------------------- what makes pods


@pytest.mark.parametrize(
    ("version", "plural", "kind", "body"),
    [
        ("v1", "podtemplates", "PodTemplate", lambda template: {"template": template}),
        *(
            (version, f"{kind.lower()}s", kind, lambda template: {"spec": {
                "selector": {"matchLabels": {"a": "b"}}, "template": template}})
            for version, kind in (
                ("apps/v1", "Deployment"), ("apps/v1", "ReplicaSet"), ("apps/v1", "DaemonSet"),
                ("apps/v1", "StatefulSet"),
            )
        ),
        ("v1", "replicationcontrollers", "ReplicationController", lambda template: {"spec": {
            "selector": {"a": "b"}, "template": template}}),
        ("batch/v1", "jobs", "Job", lambda template: {"spec": {"template": template}}),
        ("batch/v1", "cronjobs", "CronJob", lambda template: {"spec": {
            "schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}}}),
    ],
)  # fmt: skip
async def test_what_makes_pods_is_warned_of(
    client: Client, version: str, plural: str, kind: str, body: Any
) -> None:
    """Never refused: that is for its pods."""
    await namespace(client, enforce="restricted", warn="baseline", warn_version="v1.36")
    made = spec(BOLD)
    if version == "batch/v1":
        made["restartPolicy"] = "Never"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": made}
    obj = {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, **body(template)}
    root = "/api/v1" if version == "v1" else f"/apis/{version}"
    path = f"{root}/namespaces/ns/{plural}"
    answer = await client.request("POST", path, json=obj)
    assert answer.status == 201, answer.json()
    told = f'would violate PodSecurity "baseline:v1.36": {IS_BOLD}'
    assert warnings(answer) == [told]
    patch = {"metadata": {"labels": {"c": "d"}}}
    answer = await client.request("PATCH", f"{path}/x", json=patch, headers=MERGE)
    assert (answer.status, warnings(answer)) == (200, [told])
    if plural == "deployments":
        scale = {"spec": {"replicas": 3}}
        answer = await client.request("PATCH", f"{path}/x/scale", json=scale, headers=MERGE)
        assert (answer.status, warnings(answer)) == (200, [])


# ---------------------------------------------------------------- namespaces


async def test_labels_that_make_no_sense_are_refused(client: Client) -> None:
    """Every one is told."""
    answer = await namespace(client, enforce="foo", warn_version="v2")
    field, other = f"metadata.labels[{PREFIX}enforce]", f"metadata.labels[{PREFIX}warn-version]"
    first = 'Invalid value: "foo": must be one of privileged, baseline, restricted'
    second = 'Invalid value: "v2": must be "latest" or "v1.x"'
    assert answer.json() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'Namespace "ns" is invalid: [{field}: {first}, {other}: {second}]',
        "reason": "Invalid",
        "details": {
            "name": "ns",
            "kind": "Namespace",
            "causes": [
                {"reason": "FieldValueInvalid", "message": first, "field": field},
                {"reason": "FieldValueInvalid", "message": second, "field": other},
            ],
        },
        "code": 422,
    }
    await namespace(client, enforce="baseline")
    answer = await relabel(client, enforce="foo")
    assert answer.status == 422
    assert answer.json()["message"] == f'Namespace "ns" is invalid: {field}: {first}'


async def test_pods_that_were_there_are_warned_of(client: Client) -> None:
    """In groups of the same violations, sorted; nothing is said where nothing is stricter."""
    await namespace(client)
    for name in ("b", "a", "c"):
        await client.request("POST", PODS, json=pod(name, HARDENED | {"runAsUser": 0}))
    for name in ("z", "y"):
        await client.request("POST", PODS, json=pod(name, HARDENED, hostNetwork=True))
    await client.request("POST", PODS, json=pod("x", HARDENED | {"runAsUser": 0}, hostPID=True))
    escalating = HARDENED | {"allowPrivilegeEscalation": True}
    await client.request("POST", PODS, json=pod("x-1", escalating))
    await client.request("POST", PODS, json=pod("fine", HARDENED))
    answer = await relabel(client, enforce="restricted")
    assert answer.status == 200
    expected = [
        f'{EXISTING} "restricted:latest"',
        "a (and 2 other pods): runAsUser=0",
        "x-1: allowPrivilegeEscalation != false",
        "x: host namespaces, runAsUser=0",
        "y (and 1 other pod): host namespaces",
    ]
    assert warnings(answer) == expected
    assert warnings(await relabel(client, warn="baseline")) == []
    assert warnings(await relabel(client, enforce="baseline")) == []
    told = warnings(await relabel(client, enforce_version="v1.22"))
    assert told[1:] == ["x (and 2 other pods): host namespaces"]
    assert warnings(await relabel(client, enforce="privileged", enforce_version=None)) == []


async def test_pods_of_other_namespaces_are_not(client: Client) -> None:
    """Also where one name begins with the other."""
    await namespace(client)
    await namespace(client, "ns-2")
    await client.request("POST", f"{NAMESPACES}/ns-2/pods", json=pod("p", BOLD))
    assert warnings(await relabel(client, enforce="baseline")) == []


@pytest.mark.parametrize(("limit", "value"), [("PODS_CHECKED", 1), ("CHECKING_S", 0.0)])
async def test_many_pods_are_not_all_looked_at(
    client: Client, monkeypatch: pytest.MonkeyPatch, limit: str, value: float
) -> None:
    """One of each controller comes before its others, and all of it has a limit."""
    monkeypatch.setattr(podsecurity, limit, value)
    await namespace(client)
    for name in ("a", "b"):
        await client.request("POST", PODS, json=pod(name, BOLD))
    assert warnings(await relabel(client, enforce="baseline")) == [
        "new PodSecurity enforce level only checked against the first 1 of 2 existing pods",
        f'{EXISTING} "baseline:latest"',
        "a: non-default capabilities",
    ]


async def test_one_pod_of_each_controller_comes_first(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are all alike."""
    monkeypatch.setattr(podsecurity, "PODS_CHECKED", 2)
    await namespace(client)
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "1"}
    for name in ("a", "b"):
        body = pod(name, BOLD)
        body["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
        await client.request("POST", PODS, json=body)
    await client.request("POST", PODS, json=pod("c", hostPID=True))
    told = warnings(await relabel(client, enforce="baseline"))
    assert told[0].endswith("the first 2 of 3 existing pods")
    assert told[2:] == ["a: non-default capabilities", "c: host namespaces"]


# ---------------------------------------------------------------- the plugin alone


def asked(
    obj: Object,
    *,
    old: Object | None = None,
    plural: str = "pods",
    subresource: str = "",
    said: list[str] | None = None,
) -> Attributes:
    """A write of an object; `old` makes it an update."""
    resource = next(
        resource for (_, _, name), resource in registry().resources.items() if name == plural
    )
    return Attributes(
        operation=Operation.CREATE if old is None else Operation.UPDATE,
        resource=resource,
        subresource=subresource,
        namespace="ns",
        name=(obj.get("metadata") or {}).get("name") or "",
        user=UserInfo("u"),
        obj=obj,
        old=old,
        dry_run=False,
        warn=unheard if said is None else said.extend,
    )


def plugin(policy: Policy | None) -> PodSecurity:
    """A plugin for namespaces that all have this policy."""

    async def known(_: str) -> Policy | None:
        return policy

    return PodSecurity(known, ObjectCache(Dispatcher(MemoryStore())))


@pytest.mark.parametrize(
    ("policy", "annotations"),
    [
        (Policy(), {"enforce-policy": "privileged:latest"}),
        (
            Policy(audit=Standard("baseline", 30)),
            {
                "enforce-policy": "privileged:latest",
                "audit-violations": f'would violate PodSecurity "baseline:v1.30": {IS_BOLD}',
            },
        ),
        (
            policy_of(labels(enforce_version="x")),
            {
                "enforce-policy": "privileged:latest",
                "error": f"Failed to parse policy: metadata.labels[{PREFIX}enforce-version]: "
                'Invalid value: "x": must be "latest" or "v1.x"',
            },
        ),
    ],
)
async def test_the_audit_log_is_told(policy: Policy, annotations: dict[str, str]) -> None:
    """Which policy was enforced, and what else is wrong."""
    attributes = asked(pod("p", BOLD))
    await plugin(policy).validate(attributes)
    assert attributes.annotations == {PREFIX + key: text for key, text in annotations.items()}


async def test_old_labels_that_make_no_sense_are_guessed() -> None:
    """Stored before anybody looked: the strictest is enforced, and the object may stay so."""
    given = labels(enforce="foo")
    attributes = asked(pod("p", BOLD))
    with pytest.raises(ApiError, match='violates PodSecurity "restricted:latest": '):
        await plugin(policy_of(given)).validate(attributes)
    assert PREFIX + "error" in attributes.annotations
    old = {"metadata": {"name": "ns", "labels": given}}
    kept = asked({**old, "spec": {}}, old=old, plural="namespaces")
    await plugin(None).validate(kept)
    other = {"metadata": {"name": "ns", "labels": {**given, **labels(warn="foo")}}}
    with pytest.raises(ApiError) as caught:
        await plugin(None).validate(asked(other, old=old, plural="namespaces"))
    assert caught.value.code == 422


async def test_a_namespace_that_is_gone() -> None:
    """Nobody knows what it asked of pods; what makes pods may go on."""
    with pytest.raises(ApiError) as caught:
        await plugin(None).validate(asked(pod()))
    assert (caught.value.code, caught.value.message) == (
        500,
        'Internal error occurred: failed to lookup namespace "ns"',
    )
    await plugin(None).validate(asked({"spec": {}}, plural="deployments"))


@pytest.mark.parametrize("plural", sorted(resource.resource for resource in TEMPLATES))
async def test_without_a_template_there_is_nothing_to_say(plural: str) -> None:
    """It is not for this plugin to ask for one."""
    said: list[str] = []
    strict = Policy(warn=Standard("restricted"))
    await plugin(strict).validate(asked({"spec": {}}, plural=plural, said=said))
    assert said == []


def with_notes(key: str, image: str = "i") -> Object:
    body = pod("p", BOLD, image=image)
    body["metadata"]["annotations"] = {key: "x"}
    return body


def with_ephemeral(*names: str, image: str = "e") -> Object:
    containers = [{"name": name, "image": image} for name in names]
    return pod("p", BOLD, ephemeralContainers=containers)


NOTE = "container.seccomp.security.alpha.kubernetes.io/"
INIT = [{"name": "i", "image": "i"}]


@pytest.mark.parametrize(
    ("new", "old", "significant"),
    [
        (pod("p", BOLD), pod("p", BOLD), False),
        (pod("p", BOLD, image="j"), pod("p", BOLD), True),
        (pod("p", BOLD, initContainers=INIT), pod("p", BOLD), True),
        (pod("p", BOLD, hostPID=True), pod("p", BOLD), False),
        (with_notes(f"{NOTE}c"), pod("p", BOLD), True),
        (with_notes(f"{NOTE}other"), pod("p", BOLD), False),
        (with_ephemeral("e"), with_ephemeral(), True),
        (with_ephemeral("e"), with_ephemeral("f", "e"), False),
        (with_ephemeral("e", image="f"), with_ephemeral("e"), True),
    ],
)
async def test_which_updates_matter(new: Object, old: Object, significant: bool) -> None:
    """Those of what can be changed and of what standards are about."""
    checked = plugin(Policy(enforce=Standard("baseline")))
    if not significant:
        await checked.validate(asked(new, old=old))
        return
    with pytest.raises(ApiError, match="violates PodSecurity"):
        await checked.validate(asked(new, old=old))


@pytest.mark.parametrize(
    ("subresources", "looked_at"),
    [(("binding", "eviction", "status"), False), (("ephemeralcontainers", "resize", "new"), True)],
)
async def test_subresources(subresources: Sequence[str], looked_at: bool) -> None:
    """Only of those that are known to be harmless nothing is asked."""
    old, new = pod("p", BOLD), pod("p", BOLD, image="j")
    for subresource in subresources:
        attributes = asked(new, old=old, subresource=subresource)
        try:
            await plugin(Policy(enforce=Standard("baseline"))).validate(attributes)
        except ApiError:
            assert looked_at
        else:
            assert not looked_at
