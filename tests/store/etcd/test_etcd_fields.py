"""Facts of etcd's messages, as the client needs them."""

from kubetrio.store.etcd.fields import ENUMS, MESSAGES, METHODS


def test_methods_name_messages() -> None:
    """Each has a request and a response."""
    assert len(METHODS) == 10
    for path, request, response in METHODS.values():
        assert path.startswith("/etcdserverpb.")
        assert {request, response} <= set(MESSAGES)


def test_messages_are_complete() -> None:
    """Whatever a field is of is a scalar or described; numbers and names are used once."""
    scalars = {"bytes", "string", "bool", "int32", "int64", "uint64"}
    for rows in MESSAGES.values():
        assert {kind for _, _, kind, _ in rows} <= scalars | set(MESSAGES)
        assert len({number for number, *_ in rows}) == len({name for _, name, *_ in rows})
        assert len({number for number, *_ in rows}) == len(rows)


def test_enums_that_are_used() -> None:
    """By their names."""
    assert ENUMS["mvccpb.Event.EventType"] == {"PUT": 0, "DELETE": 1}
    assert set(ENUMS["etcdserverpb.AlarmType"]) == {"NONE", "NOSPACE", "CORRUPT"}
