"""Custom resources that come in another version than the stored one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kubetrio.crd.customtype import Settling, Shared, Version
from kubetrio.crd.strangers import Strangers
from kubetrio.informers.dispatch import Dispatcher
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError
from kubetrio.schema.kind import Kind
from kubetrio.store.model import Event, EventType
from kubetrio.testing.store_model import MemoryStore

KEY = "/registry/example.org/widgets/default/w"
OWN = b'{"kind":"Widget","apiVersion":"example.org/v1","metadata":{}}'
OTHER = OWN.replace(b"/v1", b"/v9")


class Widgets:
    """The stored version of a kind."""

    kind = "Widget"
    group = "example.org"
    version = "v1"
    api_version = "example.org/v1"
    storage_prefix = "/registry/example.org/widgets/"


class Commits(Dispatcher):
    """A dispatcher that is told of commits by hand."""

    def __init__(self) -> None:
        super().__init__(MemoryStore())

    def commit(self, key: str, value: bytes, kind: EventType = EventType.UPDATED) -> None:
        self._committed([Event(1, key, kind, value, None)])


@pytest.fixture
def shared() -> Shared:
    """What the versions of the kind have in common."""
    made = Shared(resource=GroupResource("example.org", "widgets"), settled=True)
    made.versions["v1"] = Version({"type": "object"}, made)
    return made


def follow(strangers: Strangers, shared: Shared) -> None:
    strangers.follow("widgets.example.org", Widgets(), shared)  # type: ignore[arg-type]


def test_another_version_is_heard_of(shared: Shared) -> None:
    """Objects are looked at again; those of the stored version and deletions say nothing."""
    commits, again = Commits(), list[str]()
    strangers = Strangers(commits, again.append)
    follow(strangers, shared)
    commits.commit(KEY, OWN)
    commits.commit(KEY, OTHER, EventType.DELETED)
    commits.commit("/registry/example.org/gadgets/default/g", OTHER)
    assert (shared.settled, again, strangers.count("widgets.example.org")) == (True, [], 0)
    commits.commit(KEY, OTHER)
    commits.commit(KEY, OTHER)
    assert (shared.settled, again) == (False, ["widgets.example.org"])
    assert strangers.count("widgets.example.org") == 2


def test_no_more_is_heard_after_the_end(shared: Shared) -> None:
    """Following twice is following once."""
    commits, again = Commits(), list[str]()
    strangers = Strangers(commits, again.append)
    follow(strangers, shared)
    follow(strangers, shared)
    strangers.end("widgets.example.org")
    strangers.end("widgets.example.org")
    commits.commit(KEY, OTHER)
    assert (shared.settled, again, strangers.count("widgets.example.org")) == (True, [], 0)


@pytest.mark.parametrize(
    ("api_version", "text"),
    [
        ("example.org/v9", "request to convert CR from an invalid group/version: example.org/v9"),
        ("elsewhere.org/v1", "elsewhere.org/v1, Kind=Widget is unstructured and is not suitable"),
        ("", "/, Kind=Widget is unstructured and is not suitable for converting to"),
    ],
)
async def test_a_version_that_is_not_known_is_refused(
    shared: Shared, api_version: str, text: str
) -> None:
    """In kube-apiserver's words, without a reason; those of a known version are read."""
    objects: Sequence[dict[str, object]] = [
        {"kind": "Widget", "apiVersion": version, "metadata": {}}
        for version in ("example.org/v1", api_version)
    ]
    kind: Kind = Widgets()  # type: ignore[assignment]
    assert await Settling(shared, None)(objects[:1], kind) == objects[:1]
    with pytest.raises(ApiError) as caught:
        await Settling(shared, None)(objects, kind)
    assert (caught.value.code, caught.value.reason) == (500, "")
    assert caught.value.message.startswith(text)
