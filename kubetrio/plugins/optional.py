"""Admission plugins that are off by default; their modules are loaded when one is on."""

from __future__ import annotations

from kubetrio.admission.chain import Plugin
from kubetrio.plugins.parts import Around


def always_admit(_: Around) -> Plugin:
    """AlwaysAdmit."""
    from kubetrio.plugins.always import AlwaysAdmit

    return AlwaysAdmit()


def always_deny(_: Around) -> Plugin:
    """AlwaysDeny."""
    from kubetrio.plugins.always import AlwaysDeny

    return AlwaysDeny()


def auto_provision(around: Around) -> Plugin:
    """NamespaceAutoProvision."""
    from kubetrio.plugins.existence import NamespaceAutoProvision

    return NamespaceAutoProvision(around.namespaces.phase, around.server.provide)


def namespace_exists(around: Around) -> Plugin:
    """NamespaceExists."""
    from kubetrio.plugins.existence import NamespaceExists

    return NamespaceExists(around.namespaces.phase)


def anti_affinity(_: Around) -> Plugin:
    """LimitPodHardAntiAffinityTopology."""
    from kubetrio.plugins.spreading import LimitPodHardAntiAffinityTopology

    return LimitPodHardAntiAffinityTopology()


def extended_resources(_: Around) -> Plugin:
    """ExtendedResourceToleration."""
    from kubetrio.plugins.spreading import ExtendedResourceToleration

    return ExtendedResourceToleration()


def node_restriction(around: Around) -> Plugin:
    """NodeRestriction."""
    from kubetrio.plugins.noderestriction import NodeRestriction

    return NodeRestriction(around.lookup, around.server.authorize)


def always_pull(_: Around) -> Plugin:
    """AlwaysPullImages."""
    from kubetrio.plugins.pulling import AlwaysPullImages

    return AlwaysPullImages()


def image_policy(around: Around) -> Plugin:
    """ImagePolicyWebhook."""
    from kubetrio.plugins import imagepolicy

    configuration = imagepolicy.configured(around.configurations.of("ImagePolicyWebhook"))
    server = around.server
    return imagepolicy.ImagePolicyWebhook(server.outgoing, configuration, server.env)


def node_selector(around: Around) -> Plugin:
    """PodNodeSelector."""
    from kubetrio.plugins import nodeselectors

    selectors = nodeselectors.configured(around.configurations.of("PodNodeSelector"))
    return nodeselectors.PodNodeSelector(around.namespaces.get, selectors)


def toleration_lists(around: Around) -> Plugin:
    """PodTolerationRestriction."""
    from kubetrio.plugins import tolerationlists

    lists = tolerationlists.configured(around.configurations.of("PodTolerationRestriction"))
    return tolerationlists.PodTolerationRestriction(around.namespaces.get, lists)


def event_limits(around: Around) -> Plugin:
    """EventRateLimit."""
    from kubetrio.plugins import eventlimits

    limits = eventlimits.configured(around.configurations.of("EventRateLimit"))
    return eventlimits.EventRateLimit(limits, around.server.env.now)


def owners(around: Around) -> Plugin:
    """OwnerReferencesPermissionEnforcement."""
    from kubetrio.plugins.owners import OwnerReferencesPermissionEnforcement

    return OwnerReferencesPermissionEnforcement(around.server.authorize, around.server.registry)


def external_ips(_: Around) -> Plugin:
    """DenyServiceExternalIPs."""
    from kubetrio.plugins.externalips import DenyServiceExternalIPs

    return DenyServiceExternalIPs()
