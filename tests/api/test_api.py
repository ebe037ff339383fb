"""Identities of requests, and the question put to authorizers."""

from __future__ import annotations

import re

from kubetrio.api.api import AuditIds, attributes_of
from kubetrio.api.request import Request, parse_query, resolve
from kubetrio.env import seeded
from kubetrio.machinery.identity import WHOLE


def asked(method: str, path: str, query: str = "") -> Request:
    request = Request(method, path, query, {}, [])
    request.query = parse_query(query)
    request.info = resolve(method, path, request.query)
    return request


def test_identities_are_uuids_and_differ() -> None:
    """Also where the counter carries over into the part that is kept."""
    ids = AuditIds(seeded(1))
    made = [ids.next() for _ in range(2 * len(AuditIds.ENDS))]
    assert len(set(made)) == len(made)
    assert all(re.fullmatch(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", one) for one in made)


def test_servers_begin_apart() -> None:
    """Two of them do not give the same identities."""
    assert AuditIds(seeded(1)).next() != AuditIds(seeded(2)).next()


def test_selectors_are_part_of_the_question() -> None:
    """Of verbs that read selectors, and of no others."""
    path = "/api/v1/namespaces/a/pods"
    listed = attributes_of(asked("GET", path, "labelSelector=a%3Db"))
    assert (listed.verb, listed.namespace, listed.resource) == ("list", "a", "pods")
    assert listed.narrowing is not WHOLE
    assert attributes_of(asked("GET", path)).narrowing is WHOLE
    assert attributes_of(asked("POST", path, "labelSelector=a%3Db")).narrowing is WHOLE


def test_paths_that_are_no_resources_are_asked_about_as_paths() -> None:
    """As ``nonResourceURLs``."""
    attributes = attributes_of(asked("GET", "/healthz/ping"))
    assert not attributes.resource_request
    assert attributes.path == "/healthz/ping"
