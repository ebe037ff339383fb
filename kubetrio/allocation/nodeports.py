"""Node ports of services: those asked for, and those that the server chooses.

Source: docs "Service" (node ports, health check node ports), KEP-3668.
"""

from __future__ import annotations

from typing import Any

from kubetrio.allocation.allocators import Claim, Full, OutOfRange, Ports, Taken
from kubetrio.env import Env
from kubetrio.kinds.common.defaulters import ordered
from kubetrio.kinds.core.preparation.services import (
    has_health_port,
    has_node_ports,
    is_given_node_ports,
)
from kubetrio.machinery.fielderrors import invalid as invalid_value
from kubetrio.machinery.names import GroupKind
from kubetrio.machinery.status import ApiError, internal_error, invalid

Object = dict[str, Any]

SERVICE = GroupKind("", "Service")
DRY_RUN_PORT = 32769
_PORT = "io.k8s.api.core.v1.ServicePort"


class NodePorts:
    """Gives node ports to services.

    Args:
        ports: who holds which.
        env: randomness.
    """

    def __init__(self, ports: Ports, env: Env) -> None:
        self._ports = ports
        self._env = env

    def claim_new(self, new: Object, claim: Claim) -> None:
        """Give ports to a new service.

        Raises:
            ApiError: 422, 500.
        """
        spec = new["spec"]
        chosen: dict[int, int] = {}
        for index, port in enumerate(spec.get("ports") or ()) if has_node_ports(spec) else ():
            asked = port.get("nodePort") or 0
            if not is_given_node_ports(spec) and not asked:
                continue
            known = chosen.get(port["port"], 0)
            if known and asked in (0, known):
                # One number serves both transports of a port.
                _set_node_port(spec, index, known)
                continue
            if not known:
                asked = asked or _asked_elsewhere(spec, port["port"])
            number = self._claim_port(new, index, asked, claim)
            if not known:
                chosen[port["port"]] = number
            _set_node_port(spec, index, number)
        if has_health_port(spec):
            self._claim_health_port(spec, claim)

    def claim_changed(self, new: Object, was: Object, claim: Claim) -> None:
        """Give a service the ports it lacks now.

        Args:
            new: the service; changed.
            was: its stored spec.
            claim: receives what is taken.

        Raises:
            ApiError: 422, 500.
        """
        spec = new["spec"]
        had = {port["nodePort"] for port in was.get("ports") or () if port.get("nodePort")}
        seen: set[tuple[str, int]] = set()
        mine: set[int] = set()
        for index, port in enumerate(spec.get("ports") or ()) if has_node_ports(spec) else ():
            asked = number = port.get("nodePort") or 0
            if not asked and not is_given_node_ports(spec):
                continue
            if not asked or (asked not in had and asked not in mine):
                number = self._claim_port(new, index, asked, claim)
                mine.add(number)
                _set_node_port(spec, index, number)
            transport = port.get("protocol") or ""
            if (transport, number) in seen:
                raise ApiError(500, "", f"duplicate nodePort: {{{transport} {number}}}")
            seen.add((transport, number))
        if has_health_port(spec) and not has_health_port(was):
            self._claim_health_port(spec, claim)

    def _claim_port(self, new: Object, index: int, asked: int, claim: Claim) -> int:
        """One node port, the one asked for or any; 422 or 500."""
        try:
            return self._take_port(asked, claim)
        except Full as error:
            raise internal_error(f"failed to allocate a nodePort: {error}") from None
        except (OutOfRange, Taken) as error:
            cause = invalid_value(f"spec.ports[{index}].nodePort", asked, str(error))
            raise invalid(SERVICE, new["metadata"].get("name") or "", [cause]) from None

    def _claim_health_port(self, spec: Object, claim: Claim) -> None:
        asked = spec.get("healthCheckNodePort") or 0
        try:
            spec["healthCheckNodePort"] = self._take_port(asked, claim)
        except Full as error:
            why = f"failed to allocate a HealthCheck NodePort {asked}: {error}"
            raise internal_error(why) from None
        except (OutOfRange, Taken) as error:
            why = f"failed to allocate requested HealthCheck NodePort {asked}: {error}"
            raise internal_error(why) from None

    def _take_port(self, asked: int, claim: Claim) -> int:
        ports = self._ports
        if claim.dry_run:
            if asked and (asked in ports.holders or asked in claim.ports):
                raise Taken("provided port is already allocated")
            number = asked or max(claim.ports, default=DRY_RUN_PORT - 1) + 1
        elif asked:
            ports.take(asked, claim)
            number = asked
        else:
            number = ports.take_any(claim, self._env.rng)
        claim.ports.append(number)
        return number


def _asked_elsewhere(spec: Object, port: int) -> int:
    """The node port asked for another transport of a port, or 0."""
    for other in spec.get("ports") or ():
        if other["port"] == port and other.get("nodePort"):
            return int(other["nodePort"])
    return 0


def _set_node_port(spec: Object, index: int, number: int) -> None:
    ports = list(spec["ports"])
    ports[index] = ordered(_PORT, {**ports[index], "nodePort": number})
    spec["ports"] = ports
