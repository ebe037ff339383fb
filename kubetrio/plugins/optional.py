"""Admission plugins that are off by default; their modules are loaded when one is on."""

from __future__ import annotations

from kubetrio.admission.chain import Plugin
from kubetrio.plugins.context import PluginContext


def always_admit(_: PluginContext) -> Plugin:
    """AlwaysAdmit."""
    from kubetrio.plugins.always import AlwaysAdmit

    return AlwaysAdmit()


def always_deny(_: PluginContext) -> Plugin:
    """AlwaysDeny."""
    from kubetrio.plugins.always import AlwaysDeny

    return AlwaysDeny()


def auto_provision(context: PluginContext) -> Plugin:
    """NamespaceAutoProvision."""
    from kubetrio.plugins.existence import NamespaceAutoProvision

    return NamespaceAutoProvision(context.namespaces.phase, context.server.provide)


def namespace_exists(context: PluginContext) -> Plugin:
    """NamespaceExists."""
    from kubetrio.plugins.existence import NamespaceExists

    return NamespaceExists(context.namespaces.phase)


def anti_affinity(_: PluginContext) -> Plugin:
    """LimitPodHardAntiAffinityTopology."""
    from kubetrio.plugins.spreading import LimitPodHardAntiAffinityTopology

    return LimitPodHardAntiAffinityTopology()


def extended_resources(_: PluginContext) -> Plugin:
    """ExtendedResourceToleration."""
    from kubetrio.plugins.spreading import ExtendedResourceToleration

    return ExtendedResourceToleration()


def node_restriction(context: PluginContext) -> Plugin:
    """NodeRestriction."""
    from kubetrio.plugins.noderestriction import NodeRestriction

    return NodeRestriction(context.lookup, context.server.authorize)


def always_pull(_: PluginContext) -> Plugin:
    """AlwaysPullImages."""
    from kubetrio.plugins.pulling import AlwaysPullImages

    return AlwaysPullImages()


def image_policy(context: PluginContext) -> Plugin:
    """ImagePolicyWebhook."""
    from kubetrio.plugins import imagepolicy

    configuration = imagepolicy.configured(context.configurations.of("ImagePolicyWebhook"))
    server = context.server
    return imagepolicy.ImagePolicyWebhook(server.outgoing, configuration, server.env)


def node_selector(context: PluginContext) -> Plugin:
    """PodNodeSelector."""
    from kubetrio.plugins import nodeselectors

    selectors = nodeselectors.configured(context.configurations.of("PodNodeSelector"))
    return nodeselectors.PodNodeSelector(context.namespaces.get, selectors)


def toleration_lists(context: PluginContext) -> Plugin:
    """PodTolerationRestriction."""
    from kubetrio.plugins import tolerationlists

    lists = tolerationlists.configured(context.configurations.of("PodTolerationRestriction"))
    return tolerationlists.PodTolerationRestriction(context.namespaces.get, lists)


def event_limits(context: PluginContext) -> Plugin:
    """EventRateLimit."""
    from kubetrio.plugins import eventlimits

    limits = eventlimits.configured(context.configurations.of("EventRateLimit"))
    return eventlimits.EventRateLimit(limits, context.server.env.now)


def owners(context: PluginContext) -> Plugin:
    """OwnerReferencesPermissionEnforcement."""
    from kubetrio.plugins.owners import OwnerReferencesPermissionEnforcement

    return OwnerReferencesPermissionEnforcement(context.server.authorize, context.server.registry)


def external_ips(_: PluginContext) -> Plugin:
    """DenyServiceExternalIPs."""
    from kubetrio.plugins.externalips import DenyServiceExternalIPs

    return DenyServiceExternalIPs()
