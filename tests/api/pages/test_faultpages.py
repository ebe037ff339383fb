"""The page of faults, and rules in a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kubetrio.config import Faults
from kubetrio.machinery.identity import UserInfo
from kubetrio.server.files import StartError
from kubetrio.testing.server import in_memory, open_api

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


async def test_the_page_is_there_when_asked_for(tmp_path: Path) -> None:
    """And only then, and only for who may reach it; 401 does not lock anybody out of it."""
    page = "/debug/faults"
    async with open_api() as usual, usual.connect() as client:
        assert (await client.request("GET", page)).status == 404
    config = replace(in_memory(tmp_path), faults=Faults(enabled=True))
    nobody = UserInfo("nobody", groups=("system:authenticated",))
    async with open_api(config=config) as server, server.connect() as client:
        async with server.connect(certificate=nobody) as other:
            for method in ("GET", "POST", "DELETE"):
                assert (await other.request(method, page)).status == 403
        added = await client.request("POST", page, json=[{"fault": "401"}, {"fault": "500"}])
        assert added.status == 201
        assert [one["id"] for one in added.json()["rules"]] == ["fault-1", "fault-2"]
        assert (await client.request("GET", CONFIGMAPS)).status == 401
        seen = (await client.request("GET", page)).json()["rules"]
        assert seen[0] == {"id": "fault-1", "fault": "401", "seen": 1, "injected": 1}
        assert (await client.request("DELETE", page + "/fault-1")).status == 200
        assert (await client.request("GET", CONFIGMAPS)).status == 500
        assert (await client.request("DELETE", page + "/fault-1")).status == 404
        assert (await client.request("DELETE", page)).json() == {"rules": []}
        assert (await client.request("GET", CONFIGMAPS)).status == 200


async def test_rules_are_added_together_or_not_at_all(tmp_path: Path) -> None:
    """What is wrong is told as a bad request."""
    config = replace(in_memory(tmp_path), faults=Faults(enabled=True))
    async with open_api(config=config) as server, server.connect() as client:
        twice = [{"fault": "500", "id": "a"}, {"fault": "500", "id": "a"}]
        for body, why in (
            (twice, "id: there is a rule 'a' already"),
            ([{"fault": "500"}, {"fault": "x"}], "rules[1].fault: there is no 'x'"),
        ):
            answer = await client.request("POST", "/debug/faults", json=body)
            assert answer.status == 400
            assert answer.json()["message"].startswith(why)
        assert server.api.faults.rules() == []


async def test_rules_of_a_file_are_there_from_the_start(tmp_path: Path) -> None:
    """In YAML; what cannot be meant stops the start."""
    file = tmp_path / "faults.yaml"
    file.write_text("rules:\n- fault: 503\n  resource: configmaps\n  count: 1\n")
    config = replace(in_memory(tmp_path / "data"), faults=Faults(file=file))
    async with open_api(config=config) as server, server.connect() as client:
        assert (await client.request("GET", CONFIGMAPS)).status == 503
        assert (await client.request("GET", CONFIGMAPS)).status == 200
    file.write_text("- fault: never\n")
    with pytest.raises(StartError, match=r"--faults .*: fault: there is no 'never'"):
        async with open_api(config=config):
            pass
