"""Health endpoints: named checks, one path each, and the verbose form."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kubetrio.api.request import Request
from kubetrio.api.response import Response, page_not_found, text_response
from kubetrio.machinery.fielderrors import quote
from kubetrio.observe.logs import Log

log = Log("kubetrio.health")
NOSNIFF = ((b"X-Content-Type-Options", b"nosniff"),)
Result = str | None
"""None when all is well, else why not: for the log and who asks for one check, not for all."""
Check = Callable[[], Result | Awaitable[Result]]
"""Returns its result, or an awaitable of it where it has to ask."""
HOOK = "poststarthook/"
POST_START_HOOKS = (
    "start-apiserver-admission-initializer",
    "generic-apiserver-start-informers",
    "priority-and-fairness-config-consumer",
    "priority-and-fairness-filter",
    "storage-object-count-tracker-hook",
    "start-apiextensions-informers",
    "start-apiextensions-controllers",
    "crd-informer-synced",
    "start-system-namespaces-controller",
    "peer-endpoint-reconciler-controller",
    "start-cluster-authentication-info-controller",
    "start-kube-apiserver-identity-lease-controller",
    "start-kube-apiserver-identity-lease-garbage-collector",
    "storage-readiness",
    "start-legacy-token-tracking-controller",
    "start-service-ip-repair-controllers",
    "rbac/bootstrap-roles",
    "scheduling/bootstrap-system-priority-classes",
    "priority-and-fairness-config-producer",
    "bootstrap-controller",
    "start-kubernetes-service-cidr-controller",
    "start-kube-aggregator-informers",
    "apiservice-status-local-available-controller",
    "apiservice-status-remote-available-controller",
    "apiservice-registration-controller",
    "apiservice-wait-for-first-sync",
    "apiservice-discovery-controller",
    "kube-apiserver-autoregistration",
    "apiservice-openapi-controller",
    "apiservice-openapiv3-controller",
)
"""What kube-apiserver does once it has started, in the order of its checks; clients and dashboards
know them by name."""
AUTOREGISTER = "autoregister-completion"
"""A check of kube-apiserver that stands among its hooks."""
AUTOREGISTER_AFTER = "kube-apiserver-autoregistration"


async def result_of(check: Check) -> Result:
    """What a check finds."""
    result = check()
    return result if result is None or isinstance(result, str) else await result


@dataclass(slots=True)
class Health:
    """The checks of one server, by endpoint.

    Args:
        checks: ``healthz``, ``livez`` and ``readyz`` to their named checks in order.
    """

    checks: Mapping[str, dict[str, Check]] = field(
        default_factory=lambda: {"healthz": {}, "livez": {}, "readyz": {}}
    )

    def add(self, name: str, check: Check, endpoints: Sequence[str] = ()) -> None:
        """Add a check to some endpoints, or to all of them."""
        for endpoint in endpoints or self.checks:
            self.checks[endpoint][name] = check

    def add_hooks(self, started: Check, others: Mapping[str, Check] | None = None) -> None:
        """Add a check for each of what kube-apiserver does once it has started.

        Args:
            started: says whether this server has done all that it does at its start.
            others: checks of hooks that can be looked at by themselves, by name.
        """
        for hook in POST_START_HOOKS:
            self.add(f"{HOOK}{hook}", (others or {}).get(hook, started))
            if hook == AUTOREGISTER_AFTER:
                self.add(AUTOREGISTER, started)

    def paths(self) -> list[str]:
        """Paths of all checks and of all of them together, for ``GET /``."""
        paths = [f"/{endpoint}" for endpoint in self.checks]
        paths += [f"/{end}/{name}" for end, checks in self.checks.items() for name in checks]
        return sorted(paths)

    async def answer(self, request: Request) -> Response:
        """Answer ``/healthz`` and its like, with or without a check's name."""
        endpoint, _, name = request.info.path.strip("/").partition("/")
        checks = self.checks[endpoint]
        if request.info.path.endswith("/"):
            return page_not_found()
        if name:
            if name not in checks:
                return page_not_found()
            reason = await result_of(checks[name])
            if reason is None:
                return text_response("ok")
            return text_response(f"internal server error: {reason}\n", 500, NOSNIFF)
        excluded = set(request.query_list("exclude"))
        lines: list[str] = []
        failed: dict[str, str] = {}
        for check_name, check in checks.items():
            if check_name in excluded:
                lines.append(f"[+]{check_name} excluded: ok\n")
                continue
            reason = await result_of(check)
            if reason is None:
                lines.append(f"[+]{check_name} ok\n")
            else:
                failed[check_name] = reason
                lines.append(f"[-]{check_name} failed: reason withheld\n")
        unknown = sorted(excluded - set(checks))
        if unknown:
            names = ",".join(map(quote, unknown))
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}\n")
        if failed:
            log.verbose(2, "health checks failed", endpoint=endpoint, **failed)
            return text_response("".join(lines) + f"{endpoint} check failed\n", 500, NOSNIFF)
        if "verbose" in request.query:
            text = "".join(lines) + f"{endpoint} check passed\n"
            return text_response(text, headers=NOSNIFF)
        return text_response("ok", headers=NOSNIFF)
