"""Who asked for a range of keys is called for what is in it, and nobody else."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kubetrio.informers.dispatch import Dispatcher, collection_of
from kubetrio.store.model import Event, EventType, Gap
from kubetrio.testing.store_model import MemoryStore

ROOT = Path(__file__).parent.parent.parent / "kubetrio"
PARTS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=3)
KEYS = PARTS.map(lambda parts: "/".join(["", "registry", "x", *parts, "n"]))
PREFIXES = st.one_of(
    st.just("/"), KEYS, PARTS.map(lambda parts: "/".join(["", "registry", "x", *parts, ""]))
)


class Commits(Dispatcher):
    """A dispatcher that is told of commits by hand."""

    def __init__(self) -> None:
        super().__init__(MemoryStore())

    def commit(self, *keys: str) -> None:
        self._committed([Event(1, key, EventType.CREATED, b"", None) for key in keys])

    def gap(self, *keys: str, rewound: bool) -> None:
        """Be told of a gap, after which keys are there at revision 1."""
        changes = [Event(1, key, EventType.CREATED, b"", None) for key in keys]
        self._skipped(Gap(1, changes, rewound=rewound))


def covers(prefix: str, key: str) -> bool:
    """What a subscription means."""
    return key.startswith(prefix) if prefix.endswith("/") else key == prefix


@given(st.lists(PREFIXES, max_size=6), st.lists(KEYS, min_size=1, max_size=6), st.data())
def test_those_concerned_are_called_once_for_each_key(
    asked: list[str], keys: list[str], data: st.DataObject
) -> None:
    """Whatever was subscribed and given up before."""
    commits, seen = Commits(), list[tuple[int, str]]()

    def note(at: int) -> object:
        return commits.subscribe(asked[at], lambda event: seen.append((at, event.key)))

    ends = [note(at) for at in range(len(asked))]
    gone = data.draw(st.sets(st.integers(0, 5)))
    for at, end in enumerate(ends):
        if at in gone:
            end()  # type: ignore[operator]
            end()  # type: ignore[operator]
    commits.commit(*keys)
    wanted = [
        (at, key)
        for key in keys
        for at, prefix in enumerate(asked)
        if at not in gone and covers(prefix, key)
    ]
    assert sorted(seen) == sorted(wanted)


def test_a_subscription_that_ended_leaves_nothing() -> None:
    """Watching one key after the other does not grow anything."""
    commits = Commits()
    for prefix in ("/registry/x/", "/registry/x/a/n", "/"):
        commits.subscribe(prefix, lambda _: None)()
    assert not commits._collections
    assert not commits._everywhere


def test_what_differs_after_a_gap_is_told() -> None:
    """Of another history whatever its revisions are; and so is what comes after it."""
    commits, seen = Commits(), list[str]()
    commits.subscribe("/registry/x/", lambda event: seen.append(event.key), after=5)
    commits.subscribe("/", lambda event: seen.append("any"), after=0)
    commits.gap("/registry/x/a", rewound=False)
    assert seen == ["any"]
    commits.gap("/registry/x/a", rewound=True)
    commits.commit("/registry/x/b")
    assert seen == ["any", "any", "/registry/x/a", "any", "/registry/x/b"]


def test_a_callback_may_end_its_own_subscription() -> None:
    """The others are called all the same."""
    commits, seen = Commits(), list[str]()

    def once(event: Event) -> None:
        seen.append(event.key)
        end()

    end = commits.subscribe("/registry/x/", once)
    commits.subscribe("/registry/x/", lambda event: seen.append(event.key))
    commits.commit("/registry/x/a", "/registry/x/b")
    assert seen == ["/registry/x/a", "/registry/x/a", "/registry/x/b"]


def test_what_is_a_collection() -> None:
    """The first two folders, where there are two."""
    assert collection_of("/registry/pods/default/web") == "/registry/pods/"
    assert collection_of("/registry/pods/") == "/registry/pods/"
    assert collection_of("/registry/x") == collection_of("x") == ""


def test_nobody_else_follows_the_commit_stream() -> None:
    """Beside the engines, which offer it, only those who need it know it."""
    found = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        if "on_commit" in path.read_text() and path.parts[len(ROOT.parts)] != "store"
    }
    assert found == {
        "watch/hub.py",
        "informers/dispatch.py",
        "resources/segments/cache.py",
        "encryption/sealed.py",
        "harness/observing.py",
        "testing/lagging.py",
        "testing/store_model.py",
    }
