"""Flags of the command line alone: where its kubeconfig goes and what it prints."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from kubetrio.config.flag import Section, flag, section
from kubetrio.config.kinds import BOOLEAN, FILE, LEVEL, SOME_TIME, one_of
from kubetrio.config.profiles import PROFILES


@section
class Terminal(Section):
    """What a person who starts a server gets beside it; see the reference of flags."""

    TITLE: ClassVar[str] = "logs"

    config: Path | None = flag(
        "config", FILE, None,
        "YAML file of flags, their names without dashes; the command line wins over it",
        more="See [the configuration file](#the-configuration-file).", group="command line",
    )  # fmt: skip
    profile: str = flag(
        "profile", one_of(*PROFILES), "default",
        "defaults for a kind of machine; edge: little memory, few bytes on flash, bounded history",
        more="Other flags win over it. See [on a device](../how-to/run-on-a-device.md).",
        group="command line",
    )  # fmt: skip
    print_config: bool = flag(
        "print-config", BOOLEAN, False,
        "print the flags that hold, as a file for --config, and end",
        group="command line",
    )  # fmt: skip
    detach: bool = flag(
        "detach", BOOLEAN, False,
        "run in the background: return when the server is ready, or say why it is not",
        more="The log goes to `DATA_DIR/kubetrio.log`. `kubetrio status` and `kubetrio stop` take "
        "it from there.",
        group="command line",
    )  # fmt: skip
    wait_s: float = flag(
        "wait", SOME_TIME, 60.0, "with --detach: how long to wait until the server is ready",
        group="command line",
    )  # fmt: skip
    write_kubeconfig: Path | None = flag(
        "write-kubeconfig", FILE, None,
        "where the admin kubeconfig goes, mode 0600, in a directory that exists",
        unset="DATA_DIR/kubeconfig", group="kubeconfig",
    )  # fmt: skip
    merge_kubeconfig: bool = flag(
        "merge-kubeconfig", BOOLEAN, False,
        "also add the context to $KUBECONFIG or ~/.kube/config and make it the current one",
        more="An entry of another server under the same name is not replaced: the command ends "
        "and says how to go on.",
        group="kubeconfig",
    )  # fmt: skip
    verbosity: int = flag(
        "v", LEVEL, 0, "how much is logged, 0 for little",
        more="From 3 on there is a line for each request, see [logs](#logs).", short="v",
    )  # fmt: skip
    logging_format: str = flag(
        "logging-format", one_of("text", "json"), "text",
        "text is klog's, to standard error as is json",
    )  # fmt: skip
