"""Strangers' texts in logs, metrics and the audit log: none makes a line, a label or a colour."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from trio.testing import MockClock

from kubetrio.config import Admission, Config, Storage
from kubetrio.config.audit import Audit
from kubetrio.machinery.identity import UserInfo
from kubetrio.observe import logs
from kubetrio.observe.logs import Format
from kubetrio.testing.server import ACCOUNTS, InProcess, open_api

ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""What some reader of lines takes for an end of one."""
FORGED = 'I1126 00:00:00.000000       1 x.go:1] "forged" a="b"'
NASTY = "a" + FORGED.join(ENDS) + '\x00\x1b[2J\x7f"}{,=\\' + "\u202e"
ESCAPED = "".join(f"%{byte:02X}" for byte in NASTY.encode())
LATIN = 'a\x80\x9b[2J\xa0"}\\,'  # what a header may have
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
HEADER = re.compile(r"[IWE]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ \w+\.py:\d+\] ")
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e]")


async def be_a_nuisance(server: InProcess) -> int:
    """Ask for many things in the name of many; how many requests that were."""
    asked = 0
    mallory = UserInfo(NASTY, NASTY, (NASTY, "system:authenticated"), {NASTY: (NASTY,)})
    headers = {"User-Agent": LATIN, "Audit-Id": LATIN, "X-Forwarded-For": LATIN}
    for who in (None, mallory, UserInfo("admin", "", ("system:masters", "system:authenticated"))):
        async with server.connect(certificate=who) as client:
            for number, path in enumerate(
                (
                    f"/{ESCAPED}",
                    f"/api/v1/{ESCAPED}",
                    f"/apis/{ESCAPED}/v1/{ESCAPED}/{ESCAPED}",
                    f"/api/v1/namespaces/{ESCAPED}/pods/{ESCAPED}/{ESCAPED}",
                    f"{CONFIGMAPS}/{ESCAPED}",
                    f"{CONFIGMAPS}?labelSelector={ESCAPED}&{ESCAPED}={ESCAPED}&timeout={ESCAPED}",
                    f"{CONFIGMAPS}?fieldSelector=metadata.name%3D{ESCAPED}&limit={ESCAPED}",
                    f"{CONFIGMAPS}?dryRun={ESCAPED}&fieldManager={ESCAPED}",
                )
            ):
                for method in ("GET", "POST", "PATCH", "DELETE", f"M{number}"):
                    if method in ("GET", "DELETE") or method[0] == "M":
                        answer = await client.request(method, path, headers=headers)
                    else:
                        body = {"metadata": {"name": NASTY, "labels": {"a": "b"}}}
                        answer = await client.request(
                            method, path, headers=headers | {"Content-Type": LATIN}, json=body
                        )
                    assert answer.status != 500 or ESCAPED in path
                    asked += 1
            for name in ("User", "Uid", "Group", f"Extra-{ESCAPED}"):
                more = {"Impersonate-User": LATIN, f"Impersonate-{name}": LATIN}
                await client.request("GET", "/version", headers=headers | more)
                asked += 1
            await client.request("GET", "/version", headers={"Authorization": f"Bearer {LATIN}"})
            asked += 1
    return asked


def settings(directory: Path) -> Config:
    policy = directory / "policy.yaml"
    head = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"
    policy.write_text(f"{head}rules: [{{level: RequestResponse}}]")
    return Config(
        data_dir=directory / "data",
        storage=Storage(durability="normal"),
        admission=Admission(disable_plugins=ACCOUNTS),
        audit=Audit(policy_file=policy, log_path=str(directory / "audit.log")),
    )


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.mark.parametrize("form", list(Format))
async def test_lines_are_the_server_s_own(
    form: Format, tmp_path: Path, stream: io.StringIO, autojump_clock: MockClock
) -> None:
    """None has anything that a terminal obeys, and one request is one line."""
    logs.setup(form, 8, stream)
    async with open_api(config=settings(tmp_path)) as server:
        asked = await be_a_nuisance(server)
    text = stream.getvalue()
    lines = text.split("\n")[:-1]
    if form is Format.JSON:
        records = [json.loads(line) for line in lines]
        requests = [record for record in records if record["msg"] == "HTTP"]
        assert not re.search("[\x00-\x09\x0b-\x1f]", text)
    else:
        requests = [{} for line in lines if HEADER.match(line) and '] "HTTP" ' in line]
        for line in lines:
            assert HEADER.match(line) or line.startswith(("\t", " >"))
            assert not CONTROLS.search(line)
    assert len(requests) == asked

    audited = (tmp_path / "audit.log").read_bytes().split(b"\n")[:-1]
    events = [orjson.loads(line) for line in audited]
    assert {event["kind"] for event in events} == {"Event"}
    answered = [event for event in events if event["stage"] != "RequestReceived"]
    assert len(answered) == asked
    assert not any(re.search(rb"[\x00-\x1f]", line) for line in audited)


async def test_strangers_make_no_series(tmp_path: Path, autojump_clock: MockClock) -> None:
    """However many names they think of: another time, the same labels have other numbers."""
    config = settings(tmp_path)
    async with open_api(config=replace(config, audit=Audit())) as server:
        names = []
        for _ in range(2):
            await be_a_nuisance(server)
            async with server.connect() as client:
                page = (await client.request("GET", "/metrics")).body.decode()
            series = {line.rpartition(" ")[0] for line in page.split("\n") if line[:1] != "#"}
            names.append(series)
            assert "forged" not in page
            assert not CONTROLS.search(page)
        assert names[1] - names[0] == set()
        assert len(names[0]) < 20_000
