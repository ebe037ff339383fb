"""Flags of admission."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from kubetrio.config.flag import Section, flag, section
from kubetrio.config.kinds import BOOLEAN, FILE, INT64, PLUGINS


@section
class Admission(Section):
    """What objects may be; see the reference of flags."""

    TITLE: ClassVar[str] = "admission"

    allow_privileged: bool = flag(
        "allow-privileged", BOOLEAN, True, "accept pods with privileged containers",
        more="As clusters of kubeadm and kind do; kube-apiserver's own default is `false`.",
    )  # fmt: skip
    enable_plugins: tuple[str, ...] = flag(
        "enable-admission-plugins", PLUGINS, (),
        "admission plugins that are on beside those that are by default; may be repeated",
        more="See [admission](compatibility.md#admission).",
    )  # fmt: skip
    disable_plugins: tuple[str, ...] = flag(
        "disable-admission-plugins", PLUGINS, (),
        "admission plugins that are off; may be repeated",
    )  # fmt: skip
    only_plugins: tuple[str, ...] = flag(
        "admission-control", PLUGINS, (),
        "deprecated: the admission plugins that are on, in place of the two flags above",
    )  # fmt: skip
    plugin_config_file: Path | None = flag(
        "admission-control-config-file", FILE, None,
        "file of an AdmissionConfiguration (apiserver.config.k8s.io/v1), which configures "
        "admission plugins",
    )  # fmt: skip
    not_ready_toleration_s: int = flag(
        "default-not-ready-toleration-seconds", INT64, 300,
        "how long pods that say nothing of it stay on nodes that are not ready",
    )  # fmt: skip
    unreachable_toleration_s: int = flag(
        "default-unreachable-toleration-seconds", INT64, 300,
        "the same of nodes that cannot be reached",
    )  # fmt: skip
