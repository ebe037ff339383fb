"""In which version and encoding kinds are stored."""

from kubetrio.kinds.builtin import registry
from kubetrio.storagevalues.table import folders

FOLDERS = folders(registry().resources.values())


def test_versions_are_those_of_kube_apiserver() -> None:
    """Some kinds are stored in an older version, some as JSON whatever the flags say."""
    other = {
        prefix: (folder.api_version, folder.json)
        for prefix, folder in FOLDERS.items()
        if folder.json or folder.api_version != folder.kind.api_version
    }
    policies = "admissionregistration.k8s.io/v1beta1"
    assert other == {
        "/registry/apiregistration.k8s.io/apiservices/": ("apiregistration.k8s.io/v1", True),
        "/registry/apiextensions.k8s.io/customresourcedefinitions/": (
            "apiextensions.k8s.io/v1beta1",
            True,
        ),
        "/registry/mutatingadmissionpolicies/": (policies, False),
        "/registry/mutatingadmissionpolicybindings/": (policies, False),
    }


def test_kinds_that_are_not_stored_have_no_folder() -> None:
    """Nor have versions beside the stored one folders of their own."""
    assert "/registry/tokenreviews/" not in FOLDERS
    kinds = [(folder.kind.group, folder.kind.resource) for folder in FOLDERS.values()]
    assert len(set(kinds)) == len(kinds)
    assert ("events.k8s.io", "events") not in kinds
    assert all(folder.kind.stored is folder.kind for folder in FOLDERS.values())
