"""What write rows send is what they say: forty fields, one JSON object for each number."""

import json
from collections.abc import Callable

import pytest

from benchmarks import manifests, requests
from benchmarks.endpoint import Endpoint
from benchmarks.load import source
from benchmarks.manifests import Object

MAKERS = (manifests.deployment, manifests.pod, manifests.config_map, manifests.lease)
ENDPOINT = Endpoint(host="test", port=443, token="t%", verify=False)
PATH = "/api/v1/namespaces/bench/things"


@pytest.mark.parametrize("make", MAKERS[:2])
def test_forty_fields(make: Callable[[], Object]):
    assert manifests.leaves(make()) == 40


@pytest.mark.parametrize("make", MAKERS)
def test_a_template_has_a_hole_for_the_number_and_one_for_the_serial(make: Callable[[], Object]):
    """Filled, it is the object again, with a name of its own and another serial each time."""
    first, second = (json.loads(manifests.template(make()) % (n, n)) for n in (1, 2))
    assert first["metadata"]["name"] == requests.NAME % 1
    assert {**first, "metadata": 0} != {**second, "metadata": 0}
    text = json.dumps(first).replace(requests.SERIAL % 1, manifests.SERIAL_HOLE)
    assert json.loads(text.replace(requests.NAME % 1, manifests.NAME_HOLE)) == make()


def test_the_config_map_is_that_of_the_other_rows():
    assert json.loads(manifests.template(manifests.config_map()) % (7, 8)) == json.loads(
        requests.body() % (7, 8)
    )


@pytest.mark.parametrize("make", MAKERS)
def test_requests_say_the_length_of_their_body(make: Callable[[], Object]):
    """In every request that is made of the template: lengths do not depend on what fills it."""
    content = manifests.template(make())
    for op in (
        requests.create(ENDPOINT, PATH, content, 5),
        requests.apply(ENDPOINT, PATH, content, 10),
    ):
        render = source(op, 123)
        for _ in range(3):
            head, _, body = render().decode().partition("\r\n\r\n")
            assert f"Content-Length: {len(body)}" in head.split("\r\n")
            assert "Authorization: Bearer t%" in head.split("\r\n")
            assert json.loads(body)["kind"] == make()["kind"]


def test_apply_names_the_same_object_in_path_and_body():
    op = requests.apply(ENDPOINT, PATH, manifests.template(manifests.pod()), 10)
    head, _, body = source(op, 1)().decode().partition("\r\n\r\n")
    assert f"PATCH {PATH}/{json.loads(body)['metadata']['name']}?" in head
    assert f"Content-Type: {requests.APPLY}" in head.split("\r\n")


def test_accept_is_what_is_asked_for():
    head = source(requests.fixed(ENDPOINT, PATH, accept=requests.TABLE), 1)().decode()
    assert [line for line in head.split("\r\n") if line.startswith("Accept")] == [
        f"Accept: {requests.TABLE}"
    ]


def test_a_change_sends_a_serial_alone_or_the_whole_object():
    """Its length is right, and the path names the object."""
    for made in (manifests.ready_status(), manifests.renewal(), manifests.lease()):
        content = manifests.template(made)
        op = requests.change(
            ENDPOINT, "PATCH", f"{PATH}/{requests.NAME}", content, 3, content_type=requests.MERGE
        )
        head, _, body = source(op, 123)().decode().partition("\r\n\r\n")
        assert f"Content-Length: {len(body)}" in head.split("\r\n")
        assert json.loads(body).get("metadata", {"name": "cm-0"})["name"][:3] == "cm-"
        assert head.startswith(f"PATCH {PATH}/cm-0000")
