"""Reads a KubeSchedulerConfiguration, as far as it means something to this scheduler.

What it does not understand it refuses, and says where and why, in kube-scheduler's words where it
would refuse the same.  Settings of kube-scheduler's own process (leader election, connection,
profiling, parallelism) change nothing.

Source: docs "Scheduler Configuration"; k8s.io/kube-scheduler/config/v1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubetrio.controllers.scheduler.framework import Filter, rejecting
from kubetrio.controllers.scheduler.pluginargs import ARGUMENTS, Arguments, without_args
from kubetrio.controllers.scheduler.pluginsets import (
    API_VERSION,
    QUEUE,
    Enabled,
    Sets,
    enabled_plugins,
    plugin_sets,
)
from kubetrio.controllers.scheduler.profiles import Configuration, Profile
from kubetrio.controllers.scheduler.reading import ConfigurationError, Members, Scope, told
from kubetrio.controllers.scheduler.shapes import NAMED
from kubetrio.machinery.fielderrors import duplicate, invalid, required
from kubetrio.machinery.status import Cause
from kubetrio.wire.yamlwire import YamlError, decode

KIND, FIT = "KubeSchedulerConfiguration", "NodeResourcesFit"
NOT_LONGER = "must be greater than or equal to PodInitialBackoffSeconds"
NO_SHARE = "not in valid range [0-100]"
_READ_OVER = (
    "clientConnection",
    "delayCacheUntilActive",
    "enableContentionProfiling",
    "enableProfiling",
    "leaderElection",
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
    top.number("parallelism", 16, 1, text="should be an integer value greater than zero")
    drafts = _drafts(top)
    share = top.number("percentageOfNodesToScore", 0, 0, 100, NO_SHARE)
    first = top.number("podInitialBackoffSeconds", 1, 1, text="must be greater than 0")
    longest = top.number("podMaxBackoffSeconds", 10, first, text=NOT_LONGER)
    top.end()
    if top.scope.causes:
        raise ConfigurationError(told(top.scope.causes))
    profiles = {draft.name: draft.profile(share) for draft in drafts}
    return Configuration(profiles, float(first), float(longest))


@dataclass(frozen=True, slots=True)
class _Draft:
    """A profile that is read.

    Args:
        name: by which pods name it.
        share: as `Profile` has it, -1 where it is that of all profiles.
        sets: what is said of each point.
        arguments: of plugins, by name.
        unfit: what makes no sense in the arguments of the plugin that fits resources.
    """

    name: str
    share: int
    sets: Sets
    arguments: Mapping[str, Arguments]
    unfit: Sequence[Cause]

    def profile(self, share: int) -> Profile:
        """Make the profile.

        Args:
            share: of all profiles.

        Raises:
            ConfigurationError: kube-scheduler would not start with its plugins, or they ask for
                what is not here.
        """
        where = f"initializing profiles: creating profile for scheduler name {self.name}: "
        if self.unfit:
            raise ConfigurationError(f'{where}initializing plugin "{FIT}": {told(self.unfit)}')
        try:
            enabled = enabled_plugins(self.sets, self.name)
        except ConfigurationError as error:
            raise ConfigurationError(f"{where}{error}") from error
        return _made(self.name, share if self.share < 0 else self.share, enabled, self.arguments)


def _drafts(top: Members) -> list[_Draft]:
    rows = top.each("profiles") or [Members({}, "profiles[0]", top.scope)]
    drafts: list[_Draft] = []
    for row in rows:
        draft = _draft(row, alone=len(rows) == 1)
        if any(draft.name == other.name for other in drafts):
            row.say(duplicate(row.at("schedulerName"), {}))
        drafts.append(draft)
    order = drafts[0].sets[QUEUE]
    if len(order.on) > 1:
        path = f"{rows[0].path}.plugins.queueSort.Enabled"
        top.say(invalid(path, len(order.on), "only one queue sort plugin can be enabled"))
    for row, draft in zip(rows[1:], drafts[1:], strict=True):
        other = draft.sets[QUEUE]
        if other != order:
            path = f"{row.path}.plugins.queueSort"
            row.say(invalid(path, other.shown(), "must be the same for all profiles"))
    return drafts


def _draft(row: Members, *, alone: bool) -> _Draft:
    value = row.take("schedulerName")
    if not isinstance(value, str | None):
        raise ConfigurationError(f"{row.at('schedulerName')} must be a text")
    name = NAMED if value is None and alone else value or ""
    if not name:
        row.say(required(row.at("schedulerName")))
    share = row.take("percentageOfNodesToScore")
    if share is not None:
        whole = Members({"percentageOfNodesToScore": share}, row.path, row.scope)
        share = whole.number("percentageOfNodesToScore", 0, 0, 100, NO_SHARE)
    sets = plugin_sets(row.member("plugins"))
    arguments: dict[str, Arguments] = {}
    unfit: list[Cause] = []
    names: set[str] = set()
    for one in row.each("pluginConfig"):
        plugin, args = one.text("name"), one.take("args")
        one.end()
        if plugin in names:
            one.say(duplicate(one.path, plugin))
            continue
        names.add(plugin)
        read: Callable[[Members], Arguments] | None = ARGUMENTS.get(plugin)
        # Arguments of a plugin that takes none are not looked at, there as here.
        if read is not None:
            arguments[plugin] = _read_args(one, plugin, args, read, unfit)
    row.end()
    return _Draft(name, -1 if share is None else share, sets, arguments, unfit)


def _read_args(
    row: Members,
    plugin: str,
    value: Any,
    read: Callable[[Members], Arguments],
    unfit: list[Cause],
) -> Arguments:
    """Read arguments of a plugin.

    Args:
        row: of ``pluginConfig``.
        plugin: its name.
        value: the arguments.
        read: reads them.
        unfit: takes what makes no sense in those of `FIT`, which kube-scheduler looks at later.
    """
    strict, place = "strict decoding error: ", f"decoding .{row.path}: "
    decoding = f"{strict}{place}{strict}decoding args for plugin {plugin}: {strict}"
    path = "" if plugin == FIT else row.at("args")
    causes = unfit if plugin == FIT else row.scope.causes
    args = Members(value, path, Scope(decoding, path, causes))
    group = API_VERSION.partition("/")[0]
    kind, version = args.text("kind", f"{plugin}Args"), args.text("apiVersion", API_VERSION)
    if (kind, version) != (f"{plugin}Args", API_VERSION):
        wrong = f"{kind}.{version.partition('/')[0]}"
        text = f"args for plugin {plugin} were not of type {plugin}Args.{group}, got {wrong}"
        raise ConfigurationError(place + text)
    arguments = read(args)
    args.end()
    return arguments


def _made(name: str, share: int, enabled: Enabled, arguments: Mapping[str, Arguments]) -> Profile:
    preemption = arguments.get("DefaultPreemption") or without_args()

    def configured(one: Filter) -> Filter:
        changes = arguments.get(one.name)
        return one._replace(prepare=changes.prepare) if changes and changes.prepare else one

    filters = [
        *(rejecting(configured(one)) for one in enabled.rejecting),
        *(configured(one) for one in enabled.filters),
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
        frees_devices=enabled.frees_devices,
        names_nodes=enabled.names_nodes,
    )
