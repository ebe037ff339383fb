"""Two servers in one process, one with a kind and an authorizer more, and kubectl at both."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import trio
from kubectl_runner import KUBECTL, Said, needs_kubectl

from kubetrio.config import Authentication, Config, Serving, Storage
from kubetrio.machinery.identity import Attributes, Decision, Verdict
from kubetrio.server import Server, open_server
from kubetrio.testing.widgets import widget, widgets

pytestmark = [pytest.mark.e2e, needs_kubectl]

TOKENS = "alices-token,alice,1\n"


class Alice:
    """An authorizer: alice may read and write widgets."""

    def authorize(self, attributes: Attributes) -> Verdict:
        mine = attributes.user.name == "alice" and attributes.resource == "widgets"
        return Verdict(Decision.ALLOW if mine else Decision.NO_OPINION, "")


@dataclass(frozen=True, slots=True)
class Asker:
    """Runs kubectl beside the servers' loop.

    Args:
        server: whom it talks to.
        home: directory for its cache.
    """

    server: Server
    home: Path

    async def __call__(self, *arguments: str, token: str = "", stdin: str = "") -> Said:
        pki = self.server.pki
        who = [f"--token={token}"]
        if not token:
            who = [f"--client-certificate={pki.admin.cert}", f"--client-key={pki.admin.key}"]
        where = [f"--server={self.server.url}", f"--certificate-authority={pki.ca.cert}"]
        assert KUBECTL is not None
        with trio.fail_after(60):
            done = await trio.run_process(
                [KUBECTL, *where, *who, *arguments],
                stdin=stdin.encode(),
                check=False,
                capture_stdout=True,
                capture_stderr=True,
                env={
                    "PATH": os.environ["PATH"],
                    "HOME": str(self.home),
                    "KUBECONFIG": "/dev/null",
                    "NO_PROXY": "127.0.0.1",
                },
            )
        return Said(done.returncode, done.stdout.decode(), done.stderr.decode())


def configured(directory: Path) -> Config:
    """A server that knows alice, on any free port."""
    directory.mkdir()
    tokens = directory / "tokens"
    tokens.write_text(TOKENS)
    return Config(
        data_dir=directory / "data",
        serving=Serving(secure_port=0),
        storage=Storage(durability="normal"),
        auth=Authentication(token_auth_file=tokens),
    )


@asynccontextmanager
async def asker(directory: Path) -> AsyncIterator[Asker]:
    """A server of its own, and a kubectl that asks it."""
    async with open_server(configured(directory)) as server:
        yield Asker(server, directory)


async def test_each_serves_its_own(tmp_path: Path) -> None:
    """The one with more applies, gets and explains it, to whom its authorizer lets; not the other.

    Both serve what every server has, at the same time.
    """
    async with asker(tmp_path / "plain") as plain, asker(tmp_path / "more") as more:
        api = more.server.api
        api.storage.registry.add(widgets())
        chain = api.security.authorizer
        chain.authorizers = (Alice(), *chain.authorizers)
        manifest = json.dumps(widget("a", size=3, color="red"))

        applied = await more("apply", "-f", "-", stdin=manifest, token="alices-token")
        assert applied == Said(0, "widget.example.com/a created\n", "")
        again = await more("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=manifest)
        assert again.out == "widget.example.com/a serverside-applied\n", again
        listed = await more("get", "wd", "--no-headers", token="alices-token")
        assert listed.out.split()[:2] == ["a", "3"]
        explained = await more("explain", "widgets.spec.size")
        assert "How large it is." in explained.out
        older = await more("get", "widgets.v1beta1.example.com", "a", "-o", "jsonpath={.spec}")
        assert json.loads(older.out) == {"extent": 3, "color": "red"}
        assert "is deprecated" in older.err
        scaled = await more("scale", "--replicas=4", "widgets", "a")
        assert scaled.out == "widget.example.com/a scaled\n", scaled

        missing = await plain("get", "widgets")
        assert 'the server doesn\'t have a resource type "widgets"' in missing.err
        refused = await plain("apply", "-f", "-", stdin=manifest)
        assert 'no matches for kind "Widget" in version "example.com/v1"' in refused.err
        unknown = await plain("explain", "widgets")
        assert unknown.code != 0
        nothing = await more("get", "configmaps", token="alices-token")
        assert "cannot list resource" in nothing.err
        for each in (plain, more):
            made = await each("create", "configmap", "here", "--from-literal=a=b")
            assert made.out == "configmap/here created\n"
