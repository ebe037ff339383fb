"""What clients get where the disk has changed a stored value."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from trio.testing import MockClock

from kubetrio.client.calling import Caller
from kubetrio.datadir.verify import Seen, verify
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.status import ApiError
from kubetrio.store.sqlite.database import FILE_NAME
from kubetrio.testing.server import in_memory, open_api

MAPS = "/api/v1/namespaces/default/configmaps"
ADMIN = UserInfo("admin", groups=("system:masters",))
MARK = b"a-text-that-stands-nowhere-else"


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Caller]:
    async with open_api(seed=1, config=in_memory(folder)) as server:
        yield Caller(server.api.handle, ADMIN, "test", None)


def named(name: str, text: str) -> dict[str, object]:
    return {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": text},
    }  # fmt: skip


async def test_a_damaged_object_is_a_status_that_names_it(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Reads and writes of it and its list get 500; the objects beside it are served."""
    async with opened(tmp_path) as caller:
        for name, text in (("first", "x"), ("second", MARK.decode()), ("third", "y")):
            made = await caller.call("POST", MAPS, {}, named(name, text))
            if name == "second":
                revision = made["metadata"]["resourceVersion"]
    file = tmp_path / FILE_NAME
    data = bytearray(file.read_bytes())
    data[data.index(MARK)] ^= 1
    file.write_bytes(data)
    told = (
        f"Internal error occurred: the stored value of /registry/configmaps/default/second at "
        f"revision {revision} is damaged, its checksum does not match: kubetrio verify lists all "
        "such values; restore a backup"
    )
    async with opened(tmp_path) as caller:
        for method, path, body in (
            ("GET", f"{MAPS}/second", None),
            ("GET", MAPS, None),
            ("PUT", f"{MAPS}/second", named("second", "z")),
            ("DELETE", f"{MAPS}/second", None),
        ):
            with pytest.raises(ApiError) as refused:
                await caller.call(method, path, {}, body)
            assert (refused.value.code, refused.value.reason) == (500, "InternalError")
            assert refused.value.message == told
        with pytest.raises(ApiError) as refused:
            await caller.call("POST", MAPS, {}, named("second", "z"))
        assert (refused.value.code, refused.value.reason) == (409, "AlreadyExists")
        assert (await caller.call("GET", f"{MAPS}/first", {}))["data"] == {"a": "x"}
        await caller.call("PUT", f"{MAPS}/third", {}, named("third", "z"))
        await caller.call("DELETE", f"{MAPS}/first", {})
    (fault,) = verify(file, Seen(), lambda _done, _of: None, lambda: None)
    assert fault.where == f"/registry/configmaps/default/second at revision {revision}"
    assert "checksum" in fault.what
