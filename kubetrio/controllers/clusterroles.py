"""Roles that gather the rules of others.

Source: docs "Using RBAC Authorization" (aggregated ClusterRoles);
k8s.io/kubernetes/pkg/controller/clusterroleaggregation.
"""

from __future__ import annotations

from typing import Any

import orjson

from kubetrio.auth.rbac.matching import GROUP, same_rule, same_rules
from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.rivals import Rivals
from kubetrio.machinery.labels import from_label_selector
from kubetrio.resources.operations import Configuration
from kubetrio.resources.writes import Target

Object = dict[str, Any]

MANAGER = "clusterrole-aggregation-controller"


class ClusterRoleAggregation(Controller):
    """Keeps the rules of aggregated ClusterRoles.

    Any change of a role may concern any aggregated one, and there are few of these: all of them
    are looked at then.

    Args:
        context: what it is made of.
    """

    name = "clusterrole-aggregation-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._kind = context.registry.resources[GROUP, "v1", "clusterroles"]
        self._who = as_service_account(MANAGER, MANAGER)
        self._rivals = Rivals(self.name, "clusterroles")
        self._informer = context.informers.informer_for(self._kind)
        self.follow(self._kind, self._changed)

    def _changed(self, *_: object) -> None:
        for item in self._informer.indexer.list():
            if b'"aggregationRule"' in item.value and item.object.get("aggregationRule"):
                self.queue.add(item.object["metadata"]["name"])

    async def sync(self, key: str) -> None:
        """Give a role the rules of those that its selectors mean."""
        role = self._informer.lister.get(key)
        if role is None or not role.get("aggregationRule"):
            return
        rules = self._gathered(role)
        if same_rules(rules, role.get("rules") or ()):
            return
        if wait_s := self._rivals.wait_s(key, orjson.dumps(rules)):
            self.queue.add_after(key, wait_s)
            return
        new = {
            "apiVersion": self._kind.api_version,
            "kind": self._kind.kind,
            # A role that was deleted meanwhile does not come back.
            "metadata": {"name": key, "uid": role["metadata"]["uid"]},
            "rules": rules,
        }
        target = Target(resource=self._kind, namespace="", name=key)
        await self._operations.apply(target, Configuration(lambda: new, force=True), self._who)
        self._rivals.corrected(key)

    def _gathered(self, role: Object) -> list[Object]:
        rules: list[Object] = []
        own = role["metadata"]["name"]
        others = [one for one in self._informer.lister.list() if one["metadata"]["name"] != own]
        for value in role["aggregationRule"].get("clusterRoleSelectors") or ():
            selector = from_label_selector(value)
            for other in others:
                if not selector.matches(other["metadata"].get("labels") or {}):
                    continue
                for rule in other.get("rules") or ():
                    if not any(same_rule(rule, known) for known in rules):
                        rules.append(rule)
        return rules
