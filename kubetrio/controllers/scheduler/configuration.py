"""Reads a KubeSchedulerConfiguration, as far as it means something to this scheduler.

What it does not understand it refuses, and says where and why.  Settings of kube-scheduler's own
process (leader election, connection, profiling, parallelism) are read over.

Source: docs "Scheduler Configuration"; k8s.io/kube-scheduler/config/v1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kubetrio.controllers.scheduler.pluginargs import ARGUMENTS, Arguments, without_args
from kubetrio.controllers.scheduler.pluginsets import Enabled, enabled_plugins
from kubetrio.controllers.scheduler.profiles import Configuration, Profile
from kubetrio.controllers.scheduler.reading import ConfigurationError, Members
from kubetrio.controllers.scheduler.shapes import NAMED
from kubetrio.wire.yamlwire import YamlError, decode

Object = dict[str, Any]

API_VERSION, KIND = "kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration"
_READ_OVER = (
    "clientConnection",
    "delayCacheUntilActive",
    "enableContentionProfiling",
    "enableProfiling",
    "leaderElection",
    "parallelism",
)


def load(path: Path) -> Configuration:
    """Read a file.  Blocking.

    Raises:
        ConfigurationError: it cannot be read, or says what is not understood.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"cannot be read: {error}") from error
    return parsed(text)


def parsed(text: bytes) -> Configuration:
    """Read a configuration.

    Args:
        text: YAML or JSON.

    Raises:
        ConfigurationError: it says what is not understood.
    """
    try:
        value = decode(text).value
    except YamlError as error:
        raise ConfigurationError(str(error)) from error
    top = Members(value, "")
    if (top.text("apiVersion"), top.text("kind")) != (API_VERSION, KIND):
        raise ConfigurationError(f"it must be a {KIND} of {API_VERSION}")
    for name in _READ_OVER:
        top.take(name)
    if top.take("extenders"):
        raise ConfigurationError("extenders: no extender is called")
    share = top.number("percentageOfNodesToScore", 0, 0, 100)
    first = top.number("podInitialBackoffSeconds", 1, 1)
    longest = top.number("podMaxBackoffSeconds", 10, first)
    rows = top.each("profiles") or [Members({}, "profiles[0]")]
    top.end()
    profiles: dict[str, Profile] = {}
    for row in rows:
        profile = _profile(row, share, alone=len(rows) == 1)
        if profile.name in profiles:
            raise ConfigurationError(f"{row.path}.schedulerName: {profile.name} is there twice")
        profiles[profile.name] = profile
    return Configuration(profiles, float(first), float(longest))


def _profile(row: Members, share: int, *, alone: bool) -> Profile:
    name = row.text("schedulerName", NAMED if alone else "")
    if not name:
        raise ConfigurationError(f"{row.path}.schedulerName: each of several profiles needs one")
    share = row.number("percentageOfNodesToScore", share, 0, 100)
    enabled = enabled_plugins(row.member("plugins"))
    arguments: dict[str, Arguments] = {}
    for one in row.each("pluginConfig"):
        plugin = one.text("name")
        if plugin in arguments:
            raise ConfigurationError(f"{one.path}.name: {plugin} is there twice")
        read: Callable[[Members], Arguments] | None = ARGUMENTS.get(plugin)
        if read is None:
            raise ConfigurationError(f"{one.path}.name: the plugin {plugin!r} takes no arguments")
        args = one.member("args")
        _check_kind(args, plugin)
        arguments[plugin] = read(args)
        args.end()
        one.end()
    row.end()
    return _made(name, share, enabled, arguments)


def _check_kind(args: Members, plugin: str) -> None:
    kind, version = args.text("kind", f"{plugin}Args"), args.text("apiVersion", API_VERSION)
    if (kind, version) != (f"{plugin}Args", API_VERSION):
        raise ConfigurationError(f"{args.path}: must be {plugin}Args of {API_VERSION}")


def _made(name: str, share: int, enabled: Enabled, arguments: Mapping[str, Arguments]) -> Profile:
    preemption = arguments.get("DefaultPreemption") or without_args()
    filters = [
        one._replace(prepare=given.prepare)
        if (given := arguments.get(one.name)) and given.prepare
        else one
        for one in enabled.filters
    ]
    scores = [
        one._replace(rate=given.rate) if (given := arguments.get(one.name)) and given.rate else one
        for one in enabled.scores
    ]
    return Profile(
        name,
        tuple(filters),
        tuple(scores),
        enabled.preempts,
        share,
        preemption.candidates,
        preemption.candidate_share,
    )
