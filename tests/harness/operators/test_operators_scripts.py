"""What was asked in a run is a script with references in place of identities."""

from __future__ import annotations

from kubetrio.harness.operators.calls import Call, Place
from kubetrio.harness.operators.scripts import script_of
from kubetrio.harness.script import Request
from kubetrio.harness.setup import Setup

A = Place("", "configmaps", "default", "a")
PATH = "/api/v1/namespaces/default/configmaps"
ANSWER = {"kind": "ConfigMap", "metadata": {"name": "a", "uid": "u", "resourceVersion": "7"}}


def test_references() -> None:
    """The second write is about what the first one answered; a failed one is left out."""
    first = Call(
        at=0, user="kubernetes-admin", verb="create", place=A, method="POST", path=PATH,
        sent={"metadata": {"generateName": "a"}}, status=201, answer=ANSWER,
    )  # fmt: skip
    failed = Call(at=1, user="operator", verb="update", place=A, status=409)
    meta = {"name": "a", "resourceVersion": "7", "uid": "u"}
    second = Call(
        at=2, user="operator", verb="update", place=A, method="PUT", path=f"{PATH}/a",
        sent={"metadata": meta}, answer=ANSWER,
    )  # fmt: skip
    before = Request(path="/version")
    script = script_of([first, failed, second], Setup(seed=3), [before])
    _, create, update = script.steps
    assert isinstance(create, Request)
    assert isinstance(update, Request)
    assert create.body == {"metadata": {"generateName": "a", "name": "a"}}
    assert create.user == ""
    assert update.body == {
        "metadata": {
            "name": "a",
            "resourceVersion": "{{2.metadata.resourceVersion}}",
            "uid": "{{2.metadata.uid}}",
        }
    }
    assert update.user == "operator"
