"""NamespaceLifecycle: content lives in namespaces that exist and are not going away."""

from __future__ import annotations

import pytest

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.kinds.builtin import registry
from kubetrio.machinery.identity import UserInfo
from kubetrio.machinery.status import ApiError
from kubetrio.plugins.lifecycle import NamespaceLifecycle

PHASES = {"ns": "Active", "going": "Terminating"}


async def phase(name: str) -> str | None:
    return PHASES.get(name)


async def ask(
    namespace: str,
    key: tuple[str, str, str] = ("", "v1", "pods"),
    *,
    operation: Operation = Operation.CREATE,
    name: str = "n",
    subresource: str = "",
) -> None:
    attributes = Attributes(
        operation=operation,
        resource=registry().resources[key],
        subresource=subresource,
        namespace=namespace,
        name=name,
        user=UserInfo("u"),
        obj={"metadata": {"name": name}},
        old=None,
        dry_run=False,
    )
    plugin = NamespaceLifecycle(phase)
    await plugin.mutate(attributes)
    await plugin.validate(attributes)


async def test_content_of_a_namespace_that_is_there() -> None:
    """Nothing to say."""
    await ask("ns")


async def test_content_of_no_namespace() -> None:
    """404 about the namespace, not the object."""
    with pytest.raises(ApiError) as caught:
        await ask("void")
    assert (caught.value.code, caught.value.message) == (404, 'namespaces "void" not found')


async def test_new_content_of_a_namespace_that_goes() -> None:
    """403 with a cause that controllers look for."""
    with pytest.raises(ApiError) as caught:
        await ask("going")
    error = caught.value
    assert (error.code, error.message) == (
        403,
        (
            'pods "n" is forbidden: unable to create new content in namespace going because it is '
            "being terminated"
        ),
    )
    assert error.status()["details"]["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": "namespace going is being terminated",
            "field": "metadata.namespace",
        }
    ]


async def test_what_is_not_content_of_a_namespace() -> None:
    """Cluster-scoped objects, evictions in a namespace that goes, reviews about any namespace."""
    await ask("", ("", "v1", "nodes"))
    await ask("going", subresource="eviction")
    await ask("void", ("authorization.k8s.io", "v1", "localsubjectaccessreviews"))


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_some_namespaces_stay(name: str) -> None:
    """403 for their deletion, before anything is marked."""
    with pytest.raises(ApiError) as caught:
        await ask(name, ("", "v1", "namespaces"), operation=Operation.DELETE, name=name)
    assert caught.value.code == 403
    expected = f'namespaces "{name}" is forbidden: this namespace may not be deleted'
    assert caught.value.message == expected


async def test_other_namespaces_go() -> None:
    """As may whatever is called like an immortal namespace."""
    key = ("", "v1", "namespaces")
    await ask("kube-node-lease", key, operation=Operation.DELETE, name="kube-node-lease")
    await ask("void", operation=Operation.DELETE, name="default")
