"""Which admission plugins are on."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from kubetrio.admission.configuration import ConfigurationError
from kubetrio.admission.plugin import Base
from kubetrio.config import Admission, Config, Serving
from kubetrio.plugins.table import PLUGINS, enabled
from kubetrio.server.files import StartError
from kubetrio.server.parts import Parts
from kubetrio.testing.server import open_api

DEFAULT = [row.name for row in PLUGINS if row.on]
OFF = [row.name for row in PLUGINS if not row.on]


def test_the_table_has_kube_apiservers_plugins_in_its_order() -> None:
    """As a kube-apiserver 1.36 says at its start with all of them on."""
    said = (
        "AlwaysAdmit,NamespaceAutoProvision,NamespaceLifecycle,NamespaceExists,"
        "LimitPodHardAntiAffinityTopology,LimitRanger,ServiceAccount,NodeRestriction,"
        "TaintNodesByCondition,AlwaysPullImages,ImagePolicyWebhook,PodSecurity,PodNodeSelector,"
        "Priority,DefaultTolerationSeconds,PodTolerationRestriction,EventRateLimit,"
        "ExtendedResourceToleration,DefaultStorageClass,StorageObjectInUseProtection,"
        "PodGroupProtection,OwnerReferencesPermissionEnforcement,PersistentVolumeClaimResize,"
        "RuntimeClass,CertificateApproval,CertificateSigning,ClusterTrustBundleAttest,"
        "CertificateSubjectRestriction,DefaultIngressClass,DenyServiceExternalIPs,"
        "PodTopologyLabels,PodGroupWorkloadExists,NodeDeclaredFeatureValidator,JobValidation,"
        "PodResizeValidator,MutatingAdmissionPolicy,MutatingAdmissionWebhook,"
        "ValidatingAdmissionPolicy,ValidatingAdmissionWebhook,ResourceQuota,AlwaysDeny"
    )
    assert [row.name for row in PLUGINS] == said.split(",")


def test_what_is_off_by_default() -> None:
    """As in kube-apiserver."""
    assert OFF == [
        "AlwaysAdmit",
        "NamespaceAutoProvision",
        "NamespaceExists",
        "LimitPodHardAntiAffinityTopology",
        "NodeRestriction",
        "AlwaysPullImages",
        "ImagePolicyWebhook",
        "PodNodeSelector",
        "PodTolerationRestriction",
        "EventRateLimit",
        "ExtendedResourceToleration",
        "OwnerReferencesPermissionEnforcement",
        "DenyServiceExternalIPs",
        "AlwaysDeny",
    ]


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (
            {"enable_plugins": ("Foo,PodSecurity,Bar",), "disable_plugins": ("Baz",)},
            (
                '[enable-admission-plugins plugin "Foo" is unknown, '
                'enable-admission-plugins plugin "Bar" is unknown, '
                'disable-admission-plugins plugin "Baz" is unknown]'
            ),
        ),
        (
            {
                "enable_plugins": ("PodSecurity,ServiceAccount",),
                "disable_plugins": ("ServiceAccount,PodSecurity",),
            },
            (
                "[PodSecurity ServiceAccount] in enable-admission-plugins and "
                "disable-admission-plugins overlapped"
            ),
        ),
        (
            {"only_plugins": ("Foo",), "enable_plugins": ("PodSecurity",)},
            (
                "[admission-control and enable-admission-plugins/disable-admission-plugins flags "
                'are mutually exclusive, admission-control plugin "Foo" is unknown]'
            ),
        ),
        ({"enable_plugins": (",",)}, 'enable-admission-plugins plugin "" is unknown'),
        (
            {"enable_plugins": ('"PodSecurity","Foo"',)},
            'enable-admission-plugins plugin "Foo" is unknown',
        ),
        (
            {"enable_plugins": ("PodSecurity, Foo",)},
            'enable-admission-plugins plugin " Foo" is unknown',
        ),
    ],
)
def test_names_that_make_no_sense(flags: dict[str, Any], why: str) -> None:
    """In kube-apiserver's words."""
    with pytest.raises(ConfigurationError) as caught:
        enabled(Admission(**flags))
    assert str(caught.value) == why


@pytest.mark.parametrize(
    ("flags", "on"),
    [
        ({}, DEFAULT),
        ({"enable_plugins": ("",)}, DEFAULT),
        ({"disable_plugins": ("PodSecurity",)}, [n for n in DEFAULT if n != "PodSecurity"]),
        ({"disable_plugins": ("AlwaysDeny",)}, DEFAULT),
        ({"enable_plugins": ("AlwaysAdmit",)}, ["AlwaysAdmit", *DEFAULT]),
        (
            {"enable_plugins": ("AlwaysDeny", "AlwaysAdmit")},
            ["AlwaysAdmit", *DEFAULT, "AlwaysDeny"],
        ),
        (
            {"only_plugins": ("PodSecurity,NamespaceLifecycle",)},
            ["NamespaceLifecycle", "PodSecurity"],
        ),
        ({"only_plugins": ("",)}, []),
    ],
)
def test_flags_choose(flags: dict[str, Any], on: list[str]) -> None:
    """The order of names in flags means nothing; the old flag says all that are on."""
    assert list(enabled(Admission(**flags))) == on


class Own(Base):
    """A plugin of an embedder."""

    name = "Own"


def test_plugins_of_embedders_are_on_and_can_be_switched_off() -> None:
    """They are asked before quotas are charged."""
    assert enabled(Admission(), [Own()])[-2:] == ("Own", "ResourceQuota")
    assert "Own" not in enabled(Admission(disable_plugins=("Own",)), [Own()])


async def test_a_server_with_wrong_names_does_not_start(tmp_path: Path) -> None:
    """Nothing is written then."""
    config = Config(
        data_dir=tmp_path / "data",
        serving=Serving(secure_port=6443),
        admission=Admission(enable_plugins=("Nope",)),
    )
    with pytest.raises(StartError, match='enable-admission-plugins plugin "Nope" is unknown'):
        async with open_api(config=config, parts=Parts()):
            pass
    assert not (tmp_path / "data").exists()


async def test_the_log_says_which_plugins_there_are(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In kube-apiserver's words, also those of features that are off."""
    caplog.set_level(logging.INFO - 1, "kubetrio.admission")
    config = Config(
        data_dir=tmp_path,
        serving=Serving(secure_port=6443),
        admission=Admission(only_plugins=("JobValidation,PodSecurity,LimitRanger",)),
    )
    async with open_api(config=config):
        pass
    order = "admission controller(s) successfully in the following order:"
    assert [record.getMessage() for record in caplog.records] == [
        (
            "Flag --admission-control has been deprecated, Use --enable-admission-plugins or "
            "--disable-admission-plugins instead. Will be removed in a future version."
        ),
        f"Loaded 1 mutating {order} LimitRanger.",
        f"Loaded 3 validating {order} LimitRanger,PodSecurity,JobValidation.",
    ]
