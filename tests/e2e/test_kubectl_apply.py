"""Manifests of the shapes people use, applied with kubectl in every way it knows.

Applied twice, nothing is written the second time: no object gets another resourceVersion.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubectl_runner import MANIFESTS, Kubectl, Said, needs_kubectl

from kubetrio.testing import process

pytestmark = [pytest.mark.e2e, needs_kubectl]

# kubectl sends a patch for these each time, because the manifest and the object differ in spelling
# (quantities, defaults inside atomic lists, fields that are replaced whole, values that Go omits);
# the server then finds nothing to write.
SPELLED_DIFFERENTLY = {
    "daemonset.apps/agent",
    "deployment.apps/single",
    "deployment.apps/web",
    "endpoints/external",
    "horizontalpodautoscaler.autoscaling/web",
    "job.batch/render",
    "limitrange/defaults",
    "mutatingwebhookconfiguration.admissionregistration.k8s.io/inject.example.test",
    "networkpolicy.networking.k8s.io/web",
    "persistentvolumeclaim/backup",
    "pod/native-sidecar",
    "pod/toolbox",
    "poddisruptionbudget.policy/database",
    "poddisruptionbudget.policy/web",
    "priorityclass.scheduling.k8s.io/important",
    "resourceclaim.resource.k8s.io/shared-gpu",
    "resourcequota/by-priority",
    "resourcequota/compute",
    "rolebinding.rbac.authorization.k8s.io/config-reader",
    "statefulset.apps/database",
    "validatingadmissionpolicy.admissionregistration.k8s.io/replicas.example.test",
}
PRIVILEGED = "17-agent-daemonset.yaml"
LIST = "43-list.yaml"
UNSUPPORTED = {PRIVILEGED, LIST}
FILES = sorted(path for path in MANIFESTS.glob("*.yaml") if path.name not in UNSUPPORTED)
NAMESPACES = "00-namespaces.yaml"


def chosen(names: Iterator[Path] | list[Path]) -> list[str]:
    return [argument for path in names for argument in ("-f", str(path))]


ALL = chosen(FILES)
BUT_NAMESPACES = chosen([path for path in FILES if path.name != NAMESPACES])


def documents() -> list[Any]:
    return [doc for path in FILES for doc in yaml.safe_load_all(path.read_text())]


def serve(directory: Path) -> Iterator[Kubectl]:
    flags = ("--durability", "normal", "--allow-privileged")
    server = process.start(directory / "data", directory / "log", *flags)
    try:
        yield Kubectl(server, directory)
        assert "Traceback" not in server.log.read_text()
    finally:
        server.kill()


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """A server for the commands that change single objects, in namespace ``ops``."""
    for made in serve(tmp_path_factory.mktemp("ops")):
        made("create", "namespace", "ops")
        yield made.using("--namespace", "ops")


@pytest.fixture(scope="module", params=["client", "server"])
def applied(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Kubectl, str]]:
    """A server on which all manifests were applied, client-side or server-side."""
    flags = ["--server-side"] if request.param == "server" else []
    word = "serverside-applied" if flags else "created"
    for made in serve(tmp_path_factory.mktemp(request.param)):
        before = made.everything()
        made("apply", *flags, "-f", str(MANIFESTS / NAMESPACES))
        dry = made("apply", *flags, "--dry-run=server", *BUT_NAMESPACES)
        assert dry.count(f"{word} (server dry run)") == len(dry.splitlines())
        namespaces = {("v1/Namespace", "", name) for name in ("shop", "data", "agents")}
        assert set(made.everything()) == set(before) | namespaces
        done = made("apply", *flags, *ALL).splitlines()
        assert len(done) == len(documents())
        for line in done:
            assert line.endswith((f" {word}", " unchanged")), line
        yield made, request.param


def name_of(doc: Any) -> tuple[str, str, str]:
    meta = doc["metadata"]
    version = "v1" if doc["apiVersion"] == "events.k8s.io/v1" else doc["apiVersion"]
    version = "autoscaling/v2" if version == "autoscaling/v1" else version
    return f"{version}/{doc['kind']}", meta.get("namespace", ""), meta["name"]


def test_the_manifests_are_many(applied: tuple[Kubectl, str]) -> None:
    """More than forty, of most kinds that there are, and all of them are there."""
    kubectl, _ = applied
    there = kubectl.everything()
    for doc in documents():
        assert name_of(doc) in there
    assert len(FILES) > 40
    assert len({doc["kind"] for doc in documents()}) > 45


def test_a_second_apply_writes_nothing(applied: tuple[Kubectl, str]) -> None:
    """No resourceVersion changes; kubectl says so where its own comparison finds no difference."""
    kubectl, mode = applied
    before = kubectl.everything()
    flags = ["--server-side"] if mode == "server" else []
    for line in kubectl("apply", *flags, *ALL).splitlines():
        name, _, what = line.partition(" ")
        if mode == "server":
            assert what == "serverside-applied"
        else:
            assert what == ("configured" if name in SPELLED_DIFFERENTLY else "unchanged"), line
    after = kubectl.everything()
    assert {key: obj for key, obj in after.items() if before.get(key) != obj} == {}
    assert set(before) == set(after)


def test_nothing_differs(applied: tuple[Kubectl, str]) -> None:
    """`kubectl diff` asks the server for a dry run and finds none."""
    kubectl, mode = applied
    flags = ["--server-side"] if mode == "server" else []
    before = kubectl.everything()
    said = kubectl.try_("diff", *flags, *ALL)
    assert (said.code, said.out) == (0, ""), said
    assert kubectl.everything() == before


def test_a_difference_is_shown_and_not_made(applied: tuple[Kubectl, str]) -> None:
    """`kubectl diff` on a changed manifest; exit code 1."""
    kubectl, mode = applied
    flags = ["--server-side"] if mode == "server" else []
    text = (MANIFESTS / "45-deployment-minimal.yaml").read_text()
    changed = text.replace("registry.example.test/minimal", "registry.example.test/minimal:2")
    before = kubectl.json("get", "deployment", "minimal", "-n", "shop")
    said = kubectl.try_("diff", *flags, "-f", "-", stdin=changed)
    assert said.code == 1, said
    assert "-      - image: registry.example.test/minimal\n" in said.out
    assert "+      - image: registry.example.test/minimal:2\n" in said.out
    assert "-  generation: 1\n+  generation: 2\n" in said.out
    assert kubectl.json("get", "deployment", "minimal", "-n", "shop") == before


def test_changes_and_removals_are_applied(applied: tuple[Kubectl, str]) -> None:
    """What leaves the manifest leaves the object, what others set stays; and back."""
    kubectl, mode = applied
    kubectl = kubectl.using("--namespace", "shop")
    flags = ["--server-side"] if mode == "server" else []
    text = (MANIFESTS / "03-web-configmap.yaml").read_text()
    kubectl("annotate", "configmap", "web-config", "owner=somebody")
    changed = text.replace("  LOG_LEVEL: info\n", "  NEW: value\n")
    kubectl("apply", *flags, "-f", "-", stdin=changed)
    got = kubectl.json("get", "configmap", "web-config")
    assert set(got["data"]) == {"NEW", "FEATURE_FLAGS", "site.conf"}
    assert got["metadata"]["annotations"]["owner"] == "somebody"
    kubectl("apply", *flags, "-f", "-", stdin=text)
    kubectl("annotate", "configmap", "web-config", "owner-")
    assert set(kubectl.json("get", "configmap", "web-config")["data"]) == {
        "LOG_LEVEL",
        "FEATURE_FLAGS",
        "site.conf",
    }


def test_the_other_side_takes_over(applied: tuple[Kubectl, str]) -> None:
    """Client-side after server-side apply and the other way round; afterwards nothing differs."""
    kubectl, mode = applied
    file = str(MANIFESTS / "34-lease.yaml")
    if mode == "client":
        assert kubectl("apply", "--server-side", "-f", file).endswith(" serverside-applied\n")
        kubectl("apply", "-f", file)
        assert kubectl("apply", "-f", file).endswith(" unchanged\n")
    else:
        said = kubectl.try_("apply", "-f", file)
        assert said.out.endswith(" configured\n")
        assert "missing the kubectl.kubernetes.io/last-applied-configuration" in said.err
        assert kubectl("apply", "-f", file).endswith(" unchanged\n")
        assert kubectl("apply", "--server-side", "-f", file).endswith(" serverside-applied\n")


def test_field_conflicts_are_told(applied: tuple[Kubectl, str]) -> None:
    """Another manager's field is not taken without force."""
    kubectl, mode = applied
    if mode == "client":
        pytest.skip("only server-side apply has conflicts")
    text = (MANIFESTS / "16-database-config.yaml").read_text()
    other = ["apply", "--server-side", "--field-manager=other", "-f", "-"]
    said = kubectl.try_(*other, stdin=text.replace('"100"', '"200"'))
    assert said.code == 1
    assert (
        'error: Apply failed with 1 conflict: conflict with "kubectl": .data.MAX_CONNECTIONS\n'
        in said.err
    )
    kubectl(*other, "--force-conflicts", stdin=text.replace('"100"', '"200"'))
    kubectl(*other, "--force-conflicts", stdin=text)


def test_manifests_can_be_replaced_and_deleted(applied: tuple[Kubectl, str]) -> None:
    """`kubectl replace` of files as they are; `kubectl delete` of them all leaves what was."""
    kubectl, _ = applied
    names = ["03-web-configmap.yaml", "05-web-deployment.yaml", "08-web-hpa.yaml"]
    names += ["15-database-statefulset.yaml", "31-webhooks.yaml", "14-rbac-cluster.yaml"]
    replaced = kubectl("replace", *chosen([MANIFESTS / name for name in names]))
    assert all(line.endswith(" replaced") for line in replaced.splitlines())
    # Endpoints go with their Service, before they are asked for.
    deleted = kubectl("delete", "--wait=false", "--ignore-not-found", *BUT_NAMESPACES)
    assert deleted.count(" deleted") == len(documents()) - 4
    there = kubectl.everything()
    left = {key for key in map(name_of, documents()) if key in there}
    # Namespaces were not asked for; volumes wait for their protection's controller, and the pod
    # with a node for its kubelet.
    assert {kind for kind, _, _ in left} <= {
        "v1/Namespace",
        "v1/PersistentVolume",
        "v1/PersistentVolumeClaim",
        "v1/Pod",
        "networking.k8s.io/v1/ServiceCIDR",  # for the ten seconds that other servers may need
    }
    assert ("v1/Pod", "shop", "native-sidecar") not in left


def test_a_list_is_applied(kubectl: Kubectl) -> None:
    """A manifest of kind List: kubectl takes it apart."""
    kubectl("create", "namespace", "shop")
    done = kubectl.using("--namespace=shop")("apply", "-f", str(MANIFESTS / LIST))
    assert done == "configmap/listed-one created\nservice/listed-two created\n"


def test_an_unknown_kind_is_told(kubectl: Kubectl) -> None:
    """As for a custom resource whose definition is not installed."""
    said = kubectl.try_(
        "create", "-f", "-", stdin="apiVersion: v1\nkind: Nothing\nmetadata: {name: x}\n"
    )
    assert 'no matches for kind "Nothing" in version "v1"' in said.err


def test_a_privileged_agent_is_applied(kubectl: Kubectl) -> None:
    """As on every cluster that runs a network plugin."""
    kubectl("create", "namespace", "agents")
    done = kubectl.using("--namespace=agents")("apply", "-f", str(MANIFESTS / PRIVILEGED))
    assert done == "daemonset.apps/agent created\n"


# ---------------------------------------------------------------- one command after the other


def test_generators(kubectl: Kubectl) -> None:
    """Everything `kubectl create`, `run`, `expose` and `autoscale` make."""
    image = "--image=example.test/x:1"
    script = [
        f"create deployment gen {image} --replicas=2 --port=80",
        f"create job once {image} -- sh -c true",
        f"create cronjob tick {image} --schedule=*/5_*_*_*_* -- date",
        "create job from-tick --from=cronjob/tick",
        "create configmap gen --from-literal=a=1",
        "create secret generic gen --from-literal=p=q",
        "create secret docker-registry reg --docker-username=u --docker-password=p",
        "create service clusterip c1 --tcp=80:8080",
        "create service clusterip c2 --clusterip=None",
        "create service nodeport n1 --tcp=80",
        "create service loadbalancer l1 --tcp=80",
        "create service externalname e1 --external-name=x.example.test",
        "create ingress i1 --rule=h.example.test/p*=c1:80,tls=t",
        "create role r1 --verb=get,list --resource=pods,deployments.apps",
        "create rolebinding rb1 --role=r1 --user=jane --serviceaccount=ops:default",
        "create clusterrole cr1 --verb=get --resource=nodes --non-resource-url=/x",
        "create clusterrolebinding crb1 --clusterrole=cr1 --group=g",
        "create serviceaccount robot",
        "create quota q1 --hard=secrets=30,services.nodeports=2",
        "create poddisruptionbudget p1 --selector=app=gen --min-available=1",
        "create priorityclass pc1 --value=10 --description=d",
        "create namespace made",
        f"run box {image} --labels=a=b --env=X=y --port=80 --restart=Never -- sleep 1",
        "expose deployment gen --port=80 --target-port=8080 --name=gen",
        "expose pod box --port=90",
        "autoscale deployment gen --min=1 --max=5 --cpu-percent=70",
    ]
    for line in script:
        words = [word.replace("_", " ") for word in line.split()]
        assert kubectl(*words).rstrip().endswith(("created", "exposed", "autoscaled")), line
    assert kubectl.json("get", "cronjob", "tick")["spec"]["schedule"] == "*/5 * * * *"
    job = kubectl.json("get", "job", "from-tick")
    assert job["metadata"]["ownerReferences"][0]["kind"] == "CronJob"
    service = kubectl.json("get", "service", "gen")
    assert service["spec"]["selector"] == {"app": "gen"}
    assert kubectl.json("get", "service", "c2")["spec"]["clusterIP"] == "None"
    assert kubectl.json("get", "service", "n1")["spec"]["ports"][0]["nodePort"] >= 30000
    assert kubectl.json("get", "pod", "box")["spec"]["containers"][0]["args"] == ["sleep", "1"]
    assert kubectl("create", "token", "robot").count(".") == 2


@pytest.fixture(scope="module")
def web(kubectl: Kubectl) -> Kubectl:
    """With a Deployment to change."""
    kubectl("create", "deployment", "web", "--image=example.test/web:1", "--replicas=2")
    return kubectl


def deployment(kubectl: Kubectl) -> Any:
    return kubectl.json("get", "deployment", "web")


def test_set_and_scale(web: Kubectl) -> None:
    """Each `kubectl set` changes its part; generations count changes of the spec."""
    first = deployment(web)["metadata"]["generation"]
    web("set", "image", "deployment/web", "web=example.test/web:2")
    web("set", "env", "deployment/web", "A=1", "B=2")
    web("set", "env", "deployment/web", "A-")
    web("set", "resources", "deployment", "web", "--limits=cpu=200m", "--requests=cpu=0.1")
    web("set", "serviceaccount", "deployment", "web", "robot")
    web("scale", "deployment/web", "--replicas=4")
    wrong = web.try_("scale", "deployment/web", "--current-replicas=9", "--replicas=5")
    assert (wrong.code, "Expected replicas to be 9, was 4" in wrong.err) == (1, True), wrong
    web("scale", "deployment/web", "--current-replicas=4", "--replicas=3")
    got = deployment(web)
    spec = got["spec"]["template"]["spec"]
    container = spec["containers"][0]
    assert container["image"] == "example.test/web:2"
    assert container["env"] == [{"name": "B", "value": "2"}]
    assert container["resources"] == {"limits": {"cpu": "200m"}, "requests": {"cpu": "100m"}}
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "robot"
    assert got["spec"]["replicas"] == 3
    assert got["metadata"]["generation"] == first + 7
    table = web("get", "deployment", "web", "--subresource=scale").splitlines()
    assert [line.split()[:3] for line in table] == [
        ["NAME", "DESIRED", "AVAILABLE"],
        ["web", "3", "0"],
    ]


def test_label_and_annotate(web: Kubectl) -> None:
    """Set, refuse, overwrite, remove; a label that is there writes nothing."""
    assert web("label", "deployment", "web", "tier=front").endswith(" labeled\n")
    version = deployment(web)["metadata"]["resourceVersion"]
    assert web("label", "deployment", "web", "tier=front").endswith(" not labeled\n")
    assert deployment(web)["metadata"]["resourceVersion"] == version
    refused = web.try_("label", "deployment", "web", "tier=back")
    assert "already has a value (front), and --overwrite is false" in refused.err
    web("label", "deployment", "web", "tier=back", "--overwrite")
    web("annotate", "deployment", "web", "one=1", "two=2")
    web("annotate", "deployment", "web", "two-")
    web("label", "deployment", "--all", "tier-")
    meta = deployment(web)["metadata"]
    assert meta["labels"] == {"app": "web"}
    assert meta["annotations"] == {"one": "1"}
    bad = web.try_("label", "deployment", "web", "tier=not/good")
    assert bad.code == 1


def test_patches_of_every_type(web: Kubectl) -> None:
    """Strategic merge keeps other containers; merge and JSON patch; a failed test; a no-op."""
    patch = ["patch", "deployment", "web"]
    side = {"name": "side", "image": "example.test/side:1"}
    strategic = {"spec": {"template": {"spec": {"containers": [side]}}}}
    web(*patch, "--type=strategic", "-p", json.dumps(strategic))
    containers = deployment(web)["spec"]["template"]["spec"]["containers"]
    assert {container["name"] for container in containers} == {"web", "side"}
    again = web(*patch, "--type=strategic", "-p", json.dumps(strategic))
    assert again == "deployment.apps/web patched (no change)\n"
    gone = {"name": "side", "$patch": "delete"}
    web(*patch, "-p", json.dumps({"spec": {"template": {"spec": {"containers": [gone]}}}}))
    assert len(deployment(web)["spec"]["template"]["spec"]["containers"]) == 1
    web(*patch, "--type=merge", "-p", '{"spec":{"minReadySeconds":7}}')
    operations: list[dict[str, Any]] = [
        {"op": "test", "path": "/spec/minReadySeconds", "value": 7},
        {"op": "replace", "path": "/spec/replicas", "value": 1},
        {"op": "add", "path": "/metadata/annotations/a~1b", "value": "c"},
    ]
    web(*patch, "--type=json", "-p", json.dumps(operations))
    got = deployment(web)
    assert (got["spec"]["minReadySeconds"], got["spec"]["replicas"]) == (7, 1)
    assert got["metadata"]["annotations"]["a/b"] == "c"
    operations[0]["value"] = 8
    failed = web.try_(*patch, "--type=json", "-p", json.dumps(operations))
    assert failed.code == 1
    assert failed.err.startswith("The request is invalid"), failed
    web(*patch, "--subresource=status", "--type=merge", "-p", '{"status":{"replicas":1}}')
    web(*patch, "--subresource=scale", "--type=merge", "-p", '{"spec":{"replicas":2}}')
    got = deployment(web)
    assert (got["status"]["replicas"], got["spec"]["replicas"]) == (1, 2)
    for body, told in (
        ('{"spec":{"replicas":-1}}', "must be greater than or equal to 0"),
        ('{"spec":{"selector":{"matchLabels":{"app":"x"}}}}', "field is immutable"),
        ('{"spec":{"repliacs":1}}', 'unknown field "spec.repliacs"'),
    ):
        said = web.try_(*patch, "--type=merge", "-p", body)
        assert (said.code, told in said.err) == (0 if "unknown" in told else 1, True), said


def test_rollouts(web: Kubectl) -> None:
    """As far as the API alone goes: restart, pause, resume, status, no history."""
    web("rollout", "restart", "deployment/web")
    template = deployment(web)["spec"]["template"]["metadata"]["annotations"]
    assert "kubectl.kubernetes.io/restartedAt" in template
    web("rollout", "pause", "deployment/web")
    assert deployment(web)["spec"]["paused"] is True
    assert "is already paused" in web.try_("rollout", "pause", "deployment/web").err
    web("rollout", "resume", "deployment/web")
    assert "No rollout history found" in web("rollout", "history", "deployment/web")
    status = web("rollout", "status", "deployment/web", "--watch=false")
    assert status == "Waiting for deployment spec update to be observed...\n"


def test_edit(kubectl: Kubectl, tmp_path: Path) -> None:
    """An editor that changes something, and one that does not."""
    kubectl("create", "configmap", "edited", "--from-literal=a=1")

    def edit(expression: str) -> Said:
        editor = tmp_path / "editor"
        editor.write_text(f"#!/bin/sh\nexec sed -i '{expression}' \"$1\"\n")
        editor.chmod(0o755)
        env = {"KUBE_EDITOR": str(editor)}
        return kubectl.try_("edit", "configmap", "edited", env=env)

    assert edit('s/a: "1"/a: "2"/') == Said(0, "configmap/edited edited\n", "")
    assert kubectl.json("get", "configmap", "edited")["data"] == {"a": "2"}
    assert edit("s/nothing/else/") == Said(0, "", "Edit cancelled, no changes made.\n")


def test_replace(kubectl: Kubectl) -> None:
    """By resourceVersion, without one, and by force; a stale one is refused."""
    kubectl("create", "configmap", "replaced", "--from-literal=a=1")
    old = kubectl.json("get", "configmap", "replaced")
    new = {**old, "data": {"a": "2"}}
    replace = ["replace", "-f", "-"]
    assert kubectl(*replace, stdin=json.dumps(new)) == "configmap/replaced replaced\n"
    stale = kubectl.try_(*replace, stdin=json.dumps(new))
    assert stale.code == 1
    assert "the object has been modified; please apply your changes to the latest" in stale.err
    del new["metadata"]["resourceVersion"]
    kubectl(*replace, stdin=json.dumps(new))
    forced = kubectl(*replace, "--force", stdin=json.dumps(new))
    assert forced.endswith("configmap/replaced replaced\n")
    assert kubectl.json("get", "configmap", "replaced")["metadata"]["uid"] != old["metadata"]["uid"]


def test_create_says_what_is_wrong(kubectl: Kubectl) -> None:
    """A duplicate, an unknown field, a missing field, a missing namespace."""
    kubectl("create", "configmap", "twice")
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: wrong"
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: wrong}\n"
    for arguments, stdin, told in (
        (
            ["create", "configmap", "twice"],
            "",
            'error: failed to create configmap: configmaps "twice" already exists\n',
        ),
        (
            ["create", "-f", "-"],
            head + "}\ndatum: {}\n",
            'cannot be handled as a ConfigMap: strict decoding error: unknown field "datum"',
        ),
        (
            ["create", "-f", "-"],
            pod + "spec: {containers: [{image: x}]}\n",
            'The Pod "wrong" is invalid: spec.containers[0].name: Required value\n',
        ),
        (
            ["create", "-f", "-"],
            head + ", namespace: nowhere}\n",
            'namespaces "nowhere" not found',
        ),
    ):
        run = kubectl if "nowhere" not in stdin else Kubectl(kubectl.server, kubectl.home)
        said = run.try_(*arguments, stdin=stdin)
        assert said.code == 1
        assert told in said.err


def test_deletions(kubectl: Kubectl) -> None:
    """By name, by label, with a grace period, of what is not there."""
    for number in range(3):
        kubectl("create", "configmap", f"doomed-{number}")
    kubectl("label", "configmap", "doomed-0", "doomed-1", "doomed=yes")
    assert (
        kubectl("delete", "configmap", "-l", "doomed=yes", "--dry-run=server").count("dry run") == 2
    )
    assert kubectl("delete", "configmap", "-l", "doomed=yes").count(" deleted") == 2
    names = kubectl("get", "configmaps", "-o", "name")
    assert "doomed-2" in names
    assert "doomed-1" not in names
    missing = kubectl.try_("delete", "configmap", "doomed-0", "doomed-2")
    assert (missing.code, missing.out) == (1, 'configmap "doomed-2" deleted\n')
    assert 'Error from server (NotFound): configmaps "doomed-0" not found' in missing.err
    assert kubectl("delete", "configmap", "doomed-0", "--ignore-not-found") == ""
    kubectl("run", "soon", "--image=example.test/x")
    assert kubectl("delete", "pod", "soon", "--now") == 'pod "soon" deleted\n'


def test_nodes_are_marked(kubectl: Kubectl) -> None:
    """Taint, cordon, drain."""
    kubectl("create", "-f", "-", stdin="apiVersion: v1\nkind: Node\nmetadata: {name: marked}\n")
    kubectl("taint", "node", "marked", "a=b:NoSchedule")
    kubectl("cordon", "marked")
    spec = kubectl.json("get", "node", "marked")["spec"]
    taints = {(taint["key"], taint["effect"]) for taint in spec["taints"]}
    assert ("a", "NoSchedule") in taints
    assert spec["unschedulable"] is True
    kubectl("taint", "node", "marked", "a-")
    kubectl("uncordon", "marked")
    assert kubectl("drain", "marked").endswith("node/marked drained\n")


def test_permissions_are_told(kubectl: Kubectl) -> None:
    """`kubectl auth`."""
    assert kubectl("auth", "can-i", "get", "pods") == "yes\n"
    assert kubectl.try_("auth", "can-i", "get", "pods", "--as=nobody").out == "no\n"
    assert "kubernetes-admin" in kubectl("auth", "whoami")
    assert "*.*" in kubectl("auth", "can-i", "--list")


def test_waits_end(kubectl: Kubectl) -> None:
    """`kubectl wait` for a value, a creation, a deletion and a condition."""
    kubectl("create", "deployment", "waited", "--image=example.test/x", "--replicas=2")
    limit = "--timeout=10s"
    kubectl("wait", "--for=jsonpath={.spec.replicas}=2", "deployment/waited", limit)
    kubectl("wait", "--for=create", "deployment/waited", limit)
    condition = {"type": "Available", "status": "True"}
    patch = json.dumps({"status": {"conditions": [condition]}})
    kubectl("patch", "deployment", "waited", "--subresource=status", "--type=merge", "-p", patch)
    kubectl("wait", "--for=condition=Available", "deployment/waited", limit)
    kubectl("delete", "deployment", "waited", "--wait=false")
    kubectl("wait", "--for=delete", "deployment/waited", limit)
