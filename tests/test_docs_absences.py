"""What the pages say is not there: each such sentence is played here, or held by the test it names.

A sentence is found by its words (`SAYS`).  One that says nothing of what this server lacks is in
`OTHER`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path

import pytest

from kubetrio.controllers.table import TABLE
from kubetrio.encryption import providers
from kubetrio.encryption.configuration import EncryptionConfigError
from kubetrio.flags.absence import RefusedFlag
from kubetrio.flags.absent import judge, table
from kubetrio.harness import Setup, open_harness
from kubetrio.plugins.table import PLUGINS
from kubetrio.testing.server import open_api

TESTS = Path(__file__).parent
ROOT = TESTS.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "SECURITY.md",
    ROOT / "docs/index.md",
    ROOT / "docs/explanation/compare.md",
    ROOT / "docs/reference/compatibility.md",
    *sorted((ROOT / "docs/tutorial").glob("*.md")),
    *sorted((ROOT / "docs/how-to").glob("*.md")),
]
FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
SAYS = re.compile(
    r"\b(?:is|are|and|were) not there\b|\b(?:is|are) missing\b|\b[Tt]here (?:is|are) no\b|\byet\b"
    r"|cannot be (?:switched|used)|\bNothing (?!but)|\bdo(?:es)? not run\b|\bnot part of"
    r"|tracing and profiling are not|refused without|elect no"
)


def lacks_controllers(*names: str) -> Callable[[], None]:
    """No controller has one of these names."""

    def check() -> None:
        assert not {*names} & {*TABLE}

    return check


def lacks_plugins(*names: str) -> Callable[[], None]:
    """They are in the order of plugins, and there is nothing that they could be."""

    def check() -> None:
        made = {row.name: row.make for row in PLUGINS}
        assert [made[name] for name in names] == [None] * len(names)

    return check


def refuses(flag: str) -> Callable[[], None]:
    """The command ends for this flag."""

    def check() -> None:
        assert isinstance(table()[flag], RefusedFlag)
        assert judge([f"--{flag}=x"]).refused

    return check


def no_flag(flag: str) -> Callable[[], None]:
    """It is a mistake to give it."""

    def check() -> None:
        assert judge([f"--{flag}=1"]).wrong == [f"--{flag}=1"]

    return check


def first_kms(tmp_path: Path) -> None:
    """A configuration with version 1 of the KMS API is refused."""
    path = tmp_path / "encryption.yaml"
    path.write_text(
        "kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\nresources:\n"
        "- resources: [secrets]\n  providers:\n"
        "  - kms: {name: one, endpoint: unix:///one.sock}\n"
    )

    def never(*_: object) -> None:
        raise AssertionError("nothing is made of it")

    with pytest.raises(EncryptionConfigError, match="KMSv1 is deprecated"):
        providers.build(providers.read(path, reload=False), never, never)


async def no_profiles() -> None:
    """Paths of profiles are unknown, and flags that ask for traces are refused."""
    refuses("tracing-config-file")()
    async with open_api() as server, server.connect() as client:
        assert (await client.request("GET", "/debug/pprof/profile")).status == 404


async def no_faults_page() -> None:
    """The path of faults is unknown."""
    async with open_api() as server, server.connect() as client:
        assert (await client.request("GET", "/debug/faults")).status == 404


async def no_leader() -> None:
    """A server with a store of its own makes no Lease of controllers."""
    async with open_harness(Setup(seed=1)) as server:
        client = server.client()
        await server.settled()
        leases = await client.list(client.kind("coordination.k8s.io/v1", "Lease"), "kube-system")
    names = [one["metadata"]["name"] for one in leases.items]
    assert names
    assert "kubetrio-controllers" not in names


async def newest() -> None:
    """A list that may be old has what was written before it."""
    async with open_api() as server:
        client = server.client()
        maps = client.kind("v1", "ConfigMap")
        meta = {"name": "a", "namespace": "default"}
        await client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
        page = await client.list(maps, "default", resource_version="0")
    assert "a" in [one["metadata"]["name"] for one in page.items]


Check = Callable[[], None] | Callable[[], Awaitable[None]] | Callable[[Path], object]
FIRST_CLUSTER = "e2e/test_first_steps.py::test_the_first_cluster"
POLICY = "cel/test_engine.py::test_a_policy_is_refused"
HELD: dict[str, str | Check] = {
    "Containers do not run.": FIRST_CLUSTER,
    "; refused without it |": POLICY,
    "compiled with the extra `cel` and refused without it": POLICY,
    "there are no wheels for musl) the server starts and refuses expressions": POLICY,
    "there is no cache that could be older": newest,
    "(RC4, 3DES) are warned of and not there": (
        "http/test_tls.py::test_a_suite_that_openssl_lacks_is_named"
    ),
    "Version 1 of the KMS API is not there": first_kms,
    "Nothing but the server signs tokens (`--service-account-signing-endpoint` is missing)": (
        refuses("service-account-signing-endpoint")
    ),
    "APIServerTracing: there are no traces": refuses("tracing-config-file"),
    "PodGroupProtection, PodGroupWorkloadExists and JobValidation belong to features that are off "
    "by default in kube-apiserver and cannot be switched on here": lacks_plugins(
        "PodGroupProtection", "PodGroupWorkloadExists", "JobValidation"
    ),
    "[not part of an API server](#controllers)": FIRST_CLUSTER,
    "| `pods` | they are not scheduled and do not run |": FIRST_CLUSTER,
    "There is no warning for these": "kinds/test_inert.py::test_all_of_the_table_are_served_kinds",
    "`podcertificaterequest-cleaner-controller` and "
    "`kube-apiserver-serving-clustertrustbundle-publisher-controller` belong to features that are "
    "off by default in 1.36, and are not there": lacks_controllers(
        "podcertificaterequest-cleaner-controller",
        "kube-apiserver-serving-clustertrustbundle-publisher-controller",
    ),
    "two servers with SQLite are two clusters, and elect no leader": no_leader,
    "lets 12,500 pods stay that are over; there is no flag for it": no_flag(
        "terminated-pod-gc-threshold"
    ),
    "`storageversion-garbage-collector-controller` is not there": lacks_controllers(
        "storageversion-garbage-collector-controller"
    ),
    "tracing and profiling are not": no_profiles,
    "`--audit-webhook-batch-initial-backoff` is not there": no_flag(
        "audit-webhook-batch-initial-backoff"
    ),
    "there is no controller of Deployments, no scheduler and no node": FIRST_CLUSTER,
    "Nothing acts on the Deployment": FIRST_CLUSTER,
    "Without these flags the page is not there": no_faults_page,
    "its flags for periods and windows are not there": no_flag(
        "horizontal-pod-autoscaler-sync-period"
    ),
    "Nothing is converted or checked at run time": "types/test_types.py::test_it_is_a_dictionary",
}
OTHER = frozenset(
    {
        "Nothing behind a port is seen by other pods: there is no network between pods",
        "## What works, what does not yet",
        "with musl there are no wheels",  # of other projects
        "in EndpointSlices where there are no Endpoints",
        "are letters to RE2, and not yet to Go",
        "members that are missing, or 1 MiB of them",
        "does not know version 1.36 yet",  # a client's words
        "Nothing but a look at an empty mapping while there is no policy of a kind",
        "for those that are not there",
        "EndpointSlices count where there are no Endpoints",
        "Nothing may be where the server itself listens",
        "Nothing is collected: whoever reads slowly",
        "tests that do not run kubectl do not need it",
        "Nothing is answered from the old state meanwhile",
        "`error` says why there is no answer",
        "and makes those that are missing",
        "Nothing is dialled: the kubelets are in the server's memory",
        "claims that are missing or being deleted",
        "Nothing is left out that a server uses",
        "or a name is missing, at start and each hour",
        "A file that cannot be used changes nothing",
        "While the server does not run, history",
        "room for when there is no other",
        "says how many revisions are missing",
        "or that of one that does not run",
        "Where there is no StorageClass at start",
        "What is missing is said at once",
    }
)


@cache
def lines() -> tuple[str, ...]:
    """Lines of the pages that have words of `SAYS`."""
    texts = [FENCE.sub("", path.read_text()) for path in PAGES]
    return tuple(line for text in texts for line in text.splitlines() if SAYS.search(line))


def test_each_sentence_is_held_or_about_something_else() -> None:
    """By the fragments of it that the tables name, which have its words; none is left over."""
    known = {*HELD, *OTHER}
    for line in lines():
        rest = line
        for fragment in known:
            rest = rest.replace(fragment, "")
        assert not SAYS.search(rest), rest
    text = "\n".join(lines())
    assert [fragment for fragment in known if fragment not in text] == []


@pytest.mark.parametrize("fragment", HELD)
async def test_what_is_said_to_be_missing_is(fragment: str, tmp_path: Path) -> None:
    """It is played, or there is a test of the name."""
    held = HELD[fragment]
    if isinstance(held, str):
        path, _, name = held.partition("::")
        assert re.search(rf"^(?:async )?def {name}\(", (TESTS / path).read_text(), re.MULTILINE)
        return
    takes = inspect.signature(held).parameters
    answer = held(tmp_path) if takes else held()  # type: ignore[call-arg]
    if inspect.isawaitable(answer):
        await answer
