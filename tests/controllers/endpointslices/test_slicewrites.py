"""Which slices are whose, whatever becomes of their labels."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kubetrio.controllers.endpointslices.slicewrites import SLICES, OwnSlices
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.store.model import Event, EventType
from kubetrio.testing.store_model import MemoryStore

MANAGER = "controller.k8s.io"
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["x", "y", "z"]),
        st.sampled_from(["s", "t", "", None]),  # whose it is; None for a deletion
        st.sampled_from([MANAGER, "another"]),
    ),
    max_size=20,
)


@given(STEPS)
def test_names_are_those_rebuilt_from_nothing(steps: list[tuple[str, str | None, str]]) -> None:
    informers, stored = SharedInformerFactory(MemoryStore()), dict[str, tuple[str, str]]()
    slices = OwnSlices(MANAGER, informers, lambda _: None)
    for name, service, manager in steps:
        if service is None:
            if stored.pop(name, None) is None:
                continue
        else:
            stored[name] = (service, manager)
        labels = f'"kubernetes.io/service-name":"{service}",'
        labels += f'"endpointslice.kubernetes.io/managed-by":"{manager}"'
        value = f'{{"metadata":{{"labels":{{{labels}}}}}}}'.encode()
        kind = EventType.DELETED if service is None else EventType.UPDATED
        slices.digests._changed(Event(1, f"{SLICES}default/{name}", kind, value, None))
        wanted = dict[str, set[str]]()
        for other, (owner, maker) in stored.items():
            if owner and maker == MANAGER:
                wanted.setdefault(f"default/{owner}", set()).add(other)
        assert slices._names == wanted
