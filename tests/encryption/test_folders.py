"""Keys of the store and the resources that they are of."""

import pytest

from kubetrio.encryption.control import folders
from kubetrio.machinery.names import GroupResource


@pytest.mark.parametrize(
    ("key", "folder", "resource"),
    [
        ("/registry/secrets/default/one", "/registry/secrets/", "secrets"),
        ("/registry/minions/one", "/registry/minions/", "nodes"),
        ("/registry/services/specs/default/one", "/registry/services/specs/", "services"),
        ("/registry/services/endpoints/default/one", "/registry/services/endpoints/", "endpoints"),
        ("/registry/events/default/one", "/registry/events/", "events"),
        ("/registry/deployments/default/one", "/registry/deployments/", "deployments.apps"),
        (
            "/registry/example.com/things/a/one",
            "/registry/example.com/things/",
            "things.example.com",
        ),
        ("/registry/health", "", ""),
        ("/kubetrio/encrypted", "", ""),
    ],
)
def test_the_resource_of_a_key(key: str, folder: str, resource: str) -> None:
    """Built-in ones by their folders, custom ones by group and name; nothing for other keys."""
    known = folders()
    found = known.folder_of(key)
    assert found == folder
    name, _, group = resource.partition(".")
    wanted = GroupResource(group, name) if resource else None
    assert known.resource_of(found) == wanted
