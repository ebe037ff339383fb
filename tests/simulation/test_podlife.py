"""The life of a pod, one look after the other."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from kubetrio.machinery.timestamps import format_time
from kubetrio.simulation.hostports import PORTS_TAKEN
from kubetrio.simulation.podlife import Held, Place, Said, Step, settle

Object = dict[str, Any]
NOW = 1_700_000_000.0
PLACE = Place("198.18.0.1", "100.64.0.7")


def pod_of(*containers: str, init: tuple[Object, ...] = (), **more: Any) -> Object:
    """A pod that was bound just now.

    Args:
        containers: names of regular ones.
        init: init containers.
        more: members of the spec; `annotations` and `owner` are the pod's own.
    """
    annotations = {
        f"simulation.kubetrio.io/{name}": value
        for name, value in more.pop("annotations", {}).items()
    }
    owner = more.pop("owner", "")
    meta: Object = {"name": "p", "namespace": "default", "uid": "u1", "annotations": annotations}
    if owner:
        meta["ownerReferences"] = [{"kind": owner, "name": "o", "uid": "o"}]
    spec = {
        "nodeName": "node-0",
        "restartPolicy": "Always",
        "containers": [{"name": name, "image": f"{name}:1"} for name in containers or ("c",)],
        **({"initContainers": list(init)} if init else {}),
        **more,
    }
    return {"metadata": meta, "spec": spec, "status": {"phase": "Pending"}}


class Watched:
    """A pod that is looked at whenever it asks for that.

    Args:
        pod: it.
    """

    def __init__(self, pod: Object) -> None:
        self.pod = pod
        self.place = PLACE
        self.held = Held()
        self.now = NOW
        self.events: list[Said] = []
        self.writes = 0
        self.gone = False
        self.log: list[tuple[float, str]] = []  # seconds, and how the pod is

    def look(self) -> Step:
        """Look once."""
        step = settle(self.pod, self.place, self.held, self.now)
        self.writes += step.pod is not self.pod
        self.pod, self.held = step.pod, step.held
        self.events += step.events
        self.gone = self.gone or step.gone
        if not self.log or self.log[-1][1] != self.shown:
            self.log.append((self.now - NOW, self.shown))
        return step

    @property
    def over(self) -> bool:
        """Whether it is deleted."""
        return self.gone

    def run(self, seconds: float = 0.0) -> Watched:
        """Let time pass, looking when that is due."""
        end = self.now + seconds
        while not self.gone:
            before = self.writes
            step = self.look()
            if self.writes > before:
                continue  # its own write has it looked at again
            if step.again_in_s is None or self.now + step.again_in_s > end:
                break
            self.now += step.again_in_s
        self.now = end
        return self

    def ask_to_go(self, grace: int = 30) -> None:
        """Delete the pod, as the server does."""
        self.pod["metadata"] |= {
            "deletionTimestamp": format_time(self.now + grace),
            "deletionGracePeriodSeconds": grace,
        }

    @property
    def status(self) -> Object:
        """Its status."""
        status: Object = self.pod["status"]
        return status

    def states(self, which: str = "containerStatuses") -> dict[str, str]:
        """How each container is, in a word."""
        return {one["name"]: _word(one) for one in self.status.get(which) or ()}

    def conditions(self) -> dict[str, str]:
        """Status of each condition."""
        return {one["type"]: one["status"] for one in self.status["conditions"]}

    @property
    def shown(self) -> str:
        """Its phase and its containers."""
        words = (*self.states("initContainerStatuses").values(), *self.states().values())
        return " ".join((self.status["phase"], *words))


def _word(status: Object) -> str:
    ((state, said),) = status["state"].items()
    if state == "waiting":
        return str(said["reason"])
    if state == "terminated":
        return f"{said['reason']}({said['exitCode']})"
    return "ready" if status["ready"] else "running"


def test_a_pod_that_waits_is_made_first() -> None:
    """Its status says what it waits for."""
    seen = Watched(pod_of(annotations={"start-seconds": "3"}))
    seen.look()
    assert seen.shown == "Pending ContainerCreating"
    assert seen.status["startTime"] == format_time(NOW)
    assert "podIP" not in seen.status
    ready = next(one for one in seen.status["conditions"] if one["type"] == "Ready")
    assert (ready["reason"], ready["message"]) == (
        "ContainersNotReady", "containers with unready status: [c]",
    )  # fmt: skip
    seen.run(3)
    assert seen.shown == "Running ready"
    assert seen.writes == 2


def test_a_pod_that_need_not_wait_runs() -> None:
    """One write, with the words, addresses and conditions of a kubelet."""
    seen = Watched(pod_of()).run()
    assert seen.shown == "Running ready"
    assert seen.status["startTime"] == format_time(NOW)
    assert seen.writes == 1
    assert seen.status["podIP"] == "100.64.0.7"
    assert seen.status["hostIPs"] == [{"ip": "198.18.0.1"}]
    assert set(seen.conditions().values()) == {"True"}
    assert [(said.reason, said.path) for said in seen.events] == [
        ("Pulled", "spec.containers{c}"),
        ("Created", "spec.containers{c}"),
        ("Started", "spec.containers{c}"),
    ]


def test_a_pod_that_runs_is_left_alone() -> None:
    """Nothing is due for it, and a later look writes nothing."""
    seen = Watched(pod_of()).run()
    before = seen.pod
    assert seen.look().again_in_s is None
    seen.run(1e6)
    assert seen.pod is before


def test_times_of_a_start_are_said_by_annotations() -> None:
    """It is made for a while, and then not ready for a while."""
    seen = Watched(pod_of(annotations={"start-seconds": "3", "ready-seconds": "4"})).run(60)
    assert seen.log == [
        (0, "Pending ContainerCreating"), (3, "Running running"), (7, "Running ready"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("state", "shown"),
    [("creating", "Pending ContainerCreating"), ("not-ready", "Running running")],
)
def test_a_pod_may_stay_where_it_is(state: str, shown: str) -> None:
    """For ever, and until the annotation goes."""
    seen = Watched(pod_of(annotations={"state": state})).run(3600)
    assert seen.shown == shown
    seen.pod["metadata"]["annotations"].clear()
    assert seen.run().shown == "Running ready"


def test_readiness_gates_count() -> None:
    """A pod is ready when the conditions that it names are true, whoever writes them."""
    seen = Watched(pod_of(readinessGates=[{"conditionType": "example.com/lb"}])).run()
    assert seen.conditions()["ContainersReady"] == "True"
    ready = next(one for one in seen.status["conditions"] if one["type"] == "Ready")
    assert ready["message"] == (
        'corresponding condition of pod readiness gate "example.com/lb" does not exist.'
    )
    seen.status["conditions"].append({"type": "example.com/lb", "status": "False"})
    seen.run()
    ready = next(one for one in seen.status["conditions"] if one["type"] == "Ready")
    assert ready["message"] == (
        'the status of pod readiness gate "example.com/lb" is not "True", but False'
    )
    for one in seen.status["conditions"]:
        if one["type"] == "example.com/lb":
            one["status"] = "True"
    seen.run()
    assert seen.conditions()["Ready"] == seen.conditions()["example.com/lb"] == "True"


def test_init_containers_end_one_after_the_other() -> None:
    """And a sidecar among them goes on beside the rest."""
    init = (
        {"name": "a", "image": "a"},
        {"name": "side", "image": "s", "restartPolicy": "Always"},
        {"name": "b", "image": "b"},
    )
    notes = {"run-seconds.a": "2", "run-seconds.b": "3"}
    seen = Watched(pod_of(init=init, annotations=notes)).run(60)
    assert seen.log == [
        (0, "Pending running PodInitializing PodInitializing PodInitializing"),
        (2, "Pending Completed(0) ready running PodInitializing"),
        (5, "Running Completed(0) ready Completed(0) ready"),
    ]
    assert seen.conditions()["Initialized"] == "True"


def test_an_init_container_that_fails_holds_the_others() -> None:
    """It is tried again with the policy of most pods, and the pod stays pending."""
    init = ({"name": "a", "image": "a"},)
    seen = Watched(pod_of(init=init, annotations={"exit-code.a": "3"})).run(5)
    assert seen.shown == "Pending CrashLoopBackOff PodInitializing"
    seen.pod["metadata"]["annotations"].clear()
    assert seen.run(60).shown == "Running Completed(0) ready"
    once = Watched(pod_of(init=init, annotations={"exit-code.a": "3"}, restartPolicy="Never")).run(
        5
    )
    assert once.shown == "Failed Error(3) PodInitializing"


def test_a_pod_of_a_job_completes() -> None:
    """After a second, and its sidecars with it."""
    side = ({"name": "side", "image": "s", "restartPolicy": "Always"},)
    seen = Watched(pod_of(owner="Job", init=side, restartPolicy="Never")).run(60)
    assert seen.log[-1:] == [(1, "Succeeded Completed(0) Completed(0)")]
    assert seen.conditions()["Ready"] == "False"
    assert {one["type"]: one.get("reason") for one in seen.status["conditions"]}["Ready"] == (
        "PodCompleted"
    )


@pytest.mark.parametrize(
    ("policy", "code", "shown"),
    [("Never", "0", "Succeeded Completed(0)"), ("Never", "7", "Failed Error(7)"),
     ("OnFailure", "0", "Succeeded Completed(0)"), ("OnFailure", "7", "Running CrashLoopBackOff"),
     ("Always", "0", "Running CrashLoopBackOff")],
)  # fmt: skip
def test_restart_policies_decide(policy: str, code: str, shown: str) -> None:
    """What becomes of a pod whose container exits."""
    notes = {"run-seconds": "2", "exit-code": code}
    assert Watched(pod_of(restartPolicy=policy, annotations=notes)).run(5).shown == shown


def test_rules_of_a_container_come_first() -> None:
    """A code that the rules name starts it again, whatever the pod's policy."""
    rules = [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}]
    container = {"name": "c", "image": "c", "restartPolicy": "Never", "restartPolicyRules": rules}
    for code, shown in (("42", "Running CrashLoopBackOff"), ("1", "Failed Error(1)")):
        pod = pod_of(restartPolicy="Never", annotations={"run-seconds": "1", "exit-code": code})
        pod["spec"]["containers"] = [container]
        assert Watched(pod).run(5).shown == shown


def test_crash_loops_wait_longer_and_longer() -> None:
    """Ten seconds, twice as long each time, and five minutes at most."""
    seen = Watched(pod_of(annotations={"state": "crash-loop"})).run(3600)
    started = [at for at, shown in seen.log if shown == "Running ready"]
    between = [round(b - a - 1) for a, b in pairwise(started)]
    # The first restart is at once, and so within the first of these times.
    assert between[:8] == [11, 20, 40, 80, 160, 300, 300, 300]
    assert seen.status["containerStatuses"][0]["restartCount"] == len(started)
    waiting = seen.status["containerStatuses"][0]["state"]["waiting"]
    assert waiting["message"] == ("back-off 5m0s restarting failed container=c pod=p_default(u1)")
    assert {said.reason for said in seen.events} == {"Pulled", "Created", "Started", "BackOff"}


def test_a_long_run_forgets_the_back_off() -> None:
    """A container that ran for more than ten minutes starts again at once."""
    seen = Watched(pod_of(annotations={"run-seconds": "700", "exit-code": "1"})).run(7200)
    assert "Running CrashLoopBackOff" not in [shown for _, shown in seen.log]
    assert seen.status["containerStatuses"][0]["restartCount"] == 10


def test_images_that_cannot_be_pulled() -> None:
    """Both reasons take turns, and tries become rarer; the pod runs when the image is there."""
    seen = Watched(pod_of(annotations={"state": "image-pull-back-off"})).run(100)
    assert seen.log == [
        (0, "Pending ErrImagePull"), (2, "Pending ImagePullBackOff"),
        (10, "Pending ErrImagePull"), (12, "Pending ImagePullBackOff"),
        (30, "Pending ErrImagePull"), (32, "Pending ImagePullBackOff"),
        (70, "Pending ErrImagePull"), (72, "Pending ImagePullBackOff"),
    ]  # fmt: skip
    assert seen.events[-2].message == 'Back-off pulling image "c:1"'
    seen.pod["metadata"]["annotations"].clear()
    assert seen.run().shown == "Running ready"


MISSING = 'secret "s" not found'


def lacking(pod: Object, *names: str) -> Watched:
    """A pod with containers whose environment variables lack a Secret."""
    seen = Watched(pod)
    seen.place = PLACE._replace(unset=dict.fromkeys(names, MISSING))
    return seen


def failures(seen: Watched) -> list[Said]:
    """The events of containers that could not be created."""
    return [one for one in seen.events if one.reason == "Failed"]


def test_containers_that_cannot_be_created() -> None:
    """The kubelet tries every ten seconds, says so each time, and leaves the status as it is."""
    seen = lacking(pod_of("a", "b"), "a").run(25)
    assert seen.log == [(0, "Pending CreateContainerConfigError ready")]
    assert seen.writes == 1
    waiting = seen.status["containerStatuses"][0]["state"]["waiting"]
    assert waiting == {"reason": "CreateContainerConfigError", "message": MISSING}
    assert seen.status["podIP"] == "100.64.0.7"
    assert seen.conditions()["PodReadyToStartContainers"] == "True"
    said = Said("Warning", "Failed", f"Error: {MISSING}", "spec.containers{a}")
    assert failures(seen) == [said] * 3
    pulled = [one for one in seen.events if one.path == said.path and one.reason == "Pulled"]
    assert len(pulled) == 3
    seen.place = PLACE
    seen.run()
    assert seen.shown == "Running ready ready"
    assert [one.reason for one in seen.events[-3:]] == ["Pulled", "Created", "Started"]
    assert seen.status["containerStatuses"][0]["restartCount"] == 0
    assert not seen.held.backoffs


def test_what_a_container_lacks_may_change() -> None:
    """The next try tells what is missing then."""
    seen = lacking(pod_of(), "c").run(5)
    key = "couldn't find key k in Secret default/s"
    seen.place = PLACE._replace(unset={"c": key})
    seen.run(4)
    assert seen.status["containerStatuses"][0]["state"]["waiting"]["message"] == MISSING
    seen.run(1)
    assert seen.status["containerStatuses"][0]["state"]["waiting"]["message"] == key
    assert [one.message for one in failures(seen)] == [f"Error: {MISSING}", f"Error: {key}"]


def test_a_kubelet_that_restarts_tries_again() -> None:
    """It does not know when it tried; the status says the same."""
    seen = lacking(pod_of(), "c").run(5)
    seen.held = Held()
    seen.run(5)
    assert (seen.writes, len(failures(seen))) == (1, 2)


def test_init_containers_that_cannot_be_created_hold_the_others() -> None:
    """Sidecars do too; each starts in its order when it has what it needs."""
    init = (
        {"name": "a", "image": "a"},
        {"name": "side", "image": "s", "restartPolicy": "Always"},
    )
    seen = lacking(pod_of(init=init), "a", "side", "c").run(5)
    assert seen.shown == "Pending CreateContainerConfigError PodInitializing PodInitializing"
    assert [one.path for one in failures(seen)] == ["spec.initContainers{a}"]
    seen.place = PLACE._replace(unset={"side": MISSING, "c": MISSING})
    seen.run(5)
    assert seen.shown == "Pending Completed(0) CreateContainerConfigError PodInitializing"
    seen.place = PLACE._replace(unset={"c": MISSING})
    seen.run(5)
    assert seen.shown == "Pending Completed(0) ready CreateContainerConfigError"
    assert failures(seen)[-1].path == "spec.containers{c}"
    seen.place = PLACE
    seen.run()
    assert seen.shown == "Running Completed(0) ready ready"


def test_a_container_that_cannot_be_created_again() -> None:
    """Tries lengthen the back-off of its restarts, which it is in between them."""
    seen = lacking(pod_of(annotations={"exit-code": "3", "run-seconds": "5"})).run(4)
    seen.place = PLACE._replace(unset={"c": MISSING})
    seen.run(60)
    assert seen.log == [
        (0, "Running ready"),
        (5, "Running CreateContainerConfigError"),
        (35, "Running CrashLoopBackOff"),
        (45, "Running CreateContainerConfigError"),
        (55, "Running CrashLoopBackOff"),
    ]
    (status,) = seen.status["containerStatuses"]
    assert status["lastState"]["terminated"]["exitCode"] == 3
    seen.place = PLACE
    seen.run(22)
    assert seen.shown == "Running ready"
    assert seen.status["containerStatuses"][0]["restartCount"] == 1


def test_an_image_is_pulled_before_variables_are_read() -> None:
    """A container that lacks both waits for its image."""
    seen = lacking(pod_of(annotations={"state": "image-pull-back-off"}), "c").run()
    assert seen.shown == "Pending ErrImagePull"


def test_a_pod_that_cannot_be_created_goes() -> None:
    """It has nothing to stop."""
    seen = lacking(pod_of(), "c").run(5)
    seen.ask_to_go()
    seen.run(1)
    assert seen.over
    assert len(failures(seen)) == 1


def test_a_pod_stops_and_goes() -> None:
    """Its containers end, its phase says that it is over, and then it is deleted."""
    seen = Watched(pod_of("a", "b")).run()
    seen.events.clear()
    seen.ask_to_go()
    seen.run()
    assert seen.over
    assert seen.shown == "Succeeded Completed(0) Completed(0)"
    assert [said.message for said in seen.events] == [
        "Stopping container a", "Stopping container b",
    ]  # fmt: skip


@pytest.mark.parametrize(("stop_s", "after", "code"), [("5", 5, 0), ("60", 30, 137)])
def test_a_container_may_take_its_time(stop_s: str, after: float, code: int) -> None:
    """But not more than the grace period: then it is killed."""
    seen = Watched(pod_of(annotations={"stop-seconds": stop_s})).run()
    seen.ask_to_go(30)
    seen.run(after - 1)
    assert (seen.gone, seen.shown) == (False, "Running ready")
    seen.run(2)
    assert seen.over
    ended = seen.status["containerStatuses"][0]["state"]["terminated"]
    assert ended["exitCode"] == code
    assert [said.reason for said in seen.events].count("Killing") == 1


def test_a_container_may_fail_when_it_stops() -> None:
    """With the code that is said of it; the others end well."""
    seen = Watched(pod_of("a", "b", annotations={"stop-code.b": "1"})).run()
    seen.ask_to_go()
    seen.run()
    assert seen.over
    assert seen.shown == "Failed Completed(0) Error(1)"


def test_a_pod_that_is_refused_has_failed() -> None:
    """After a second, without containers; conditions of others stay."""
    pod = pod_of()
    pod["metadata"]["creationTimestamp"] = format_time(NOW)
    own = {"type": "PodScheduled", "status": "True"}
    other = {"type": "Mine", "status": "True"}
    pod["status"] = {"phase": "Pending", "qosClass": "BestEffort", "conditions": [own, other]}
    place = PLACE._replace(refusal=PORTS_TAKEN)
    step = settle(pod, place, Held(), NOW + 0.25)
    assert (step.pod, step.events, step.again_in_s) == (pod, (), 0.75)
    step = settle(pod, place, step.held, NOW + 1)
    message = (
        "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
    )
    assert step.pod["status"] == {
        "phase": "Failed", "reason": "NodePorts", "message": f"Pod was rejected: {message}",
        "qosClass": "BestEffort", "startTime": format_time(NOW + 1), "conditions": [other],
    }  # fmt: skip
    assert step.events == (Said("Warning", "NodePorts", message, ""),)
    assert settle(step.pod, place, step.held, NOW + 2).pod is step.pod


def test_a_pod_that_runs_is_not_refused() -> None:
    """Ports are looked at when a pod comes."""
    seen = Watched(pod_of()).run()
    step = settle(seen.pod, PLACE._replace(refusal=PORTS_TAKEN), seen.held, seen.now)
    assert step.pod is seen.pod


def test_a_pod_that_never_started_goes_at_once() -> None:
    """Nothing of it is to be stopped."""
    seen = Watched(pod_of())
    seen.ask_to_go()
    assert seen.run().gone
    assert seen.writes == 0


def test_finalizers_hold_a_pod() -> None:
    """It is asked to go once."""
    seen = Watched(pod_of()).run()
    seen.ask_to_go(0)
    seen.run()
    assert not seen.gone
    assert seen.status["phase"] == "Succeeded"


def test_a_pod_has_a_deadline() -> None:
    """What is over it fails, with what still ran."""
    seen = Watched(pod_of(activeDeadlineSeconds=20)).run(60)
    assert seen.log[-1:] == [(20, "Failed Error(137)")]
    assert seen.status["reason"] == "DeadlineExceeded"


def test_a_pod_on_the_hosts_network_has_its_address() -> None:
    """From the beginning."""
    seen = Watched(pod_of(hostNetwork=True))
    seen.look()
    assert seen.status["podIP"] == "198.18.0.1"


def test_ephemeral_containers_run_beside() -> None:
    """They start when they are added, and change nothing of the pod."""
    seen = Watched(pod_of()).run()
    seen.pod["spec"]["ephemeralContainers"] = [{"name": "debug", "image": "d"}]
    seen.run()
    assert seen.states("ephemeralContainerStatuses") == {"debug": "ready"}
    assert seen.shown == "Running ready"


def test_a_resize_is_done() -> None:
    """What a container has is what its spec gives it."""
    seen = Watched(pod_of()).run()
    seen.pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}}
    seen.run()
    status = seen.status["containerStatuses"][0]
    assert status["resources"] == {"requests": {"cpu": "2"}}
    assert status["allocatedResources"] == {"cpu": "2"}


def test_another_pod_of_the_name_begins_anew() -> None:
    """What was kept of the one before is not its own."""
    seen = Watched(pod_of(annotations={"state": "crash-loop"})).run(600)
    assert seen.held.backoffs
    again = settle({**pod_of(), "metadata": {**pod_of()["metadata"], "uid": "u2"}}, PLACE,
                   seen.held, NOW)  # fmt: skip
    assert again.held == Held("u2")
