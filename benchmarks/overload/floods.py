"""Attacks of those who ask much, in quick succession."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from benchmarks import requests
from benchmarks.overload import bombs
from benchmarks.overload.aim import ATTACKED, Aim, Asker, Steps
from benchmarks.overload.slow import REVIEWS

LONG = 100_000  # below the bound of a head
FITS = 200  # what a cache may take
BODY_LIMIT = 3 * 1024 * 1024
REVIEW_LIMIT = 64 * 1024
DUMPS = tuple(
    f"/debug/api_priority_and_fairness/dump_{what}"
    for what in ("priority_levels", "queues", "requests")
)


def _rounds(aim: Aim, connections: int, asked: Iterator[bytes]) -> Steps:
    """On so many connections a request each, then all their answers, and again."""
    askers = [Asker(aim) for _ in range(connections)]
    try:
        while True:
            for asker in askers:
                asker.send(next(asked))
            for asker in askers:
                asker.wait()
            yield True
    finally:
        for asker in askers:
            asker.close()


def _posts(aim: Aim, path: str, token: str, made: Iterator[tuple[str, bytes]]) -> Iterator[bytes]:
    posts = [
        aim.head("POST", path, token, f"Content-Type: {media}", f"Content-Length: {len(body)}")
        + body
        for media, body in made
    ]
    return itertools.cycle(posts)


def reviews(aim: Aim) -> Steps:
    """Decode bombs for a review that every user may ask for, of a user without rights."""
    sizes = (REVIEW_LIMIT, BODY_LIMIT)
    made = bombs.bodies("authorization.k8s.io/v1", "SelfSubjectAccessReview", sizes)
    yield from _rounds(aim, 1, _posts(aim, REVIEWS, aim.stranger, made))


def config_maps(aim: Aim) -> Steps:
    """Decode bombs for ConfigMaps, of a user who may create them."""
    made = bombs.bodies("v1", "ConfigMap", (BODY_LIMIT,))
    path = f"{requests.collection(ATTACKED)}?dryRun=All"
    yield from _rounds(aim, 1, _posts(aim, path, aim.holder, made))


def caches(aim: Aim) -> Steps:
    """Paths and credentials that are never the same, just short enough or as long as can be."""

    def asked() -> Iterator[bytes]:
        for number in itertools.count():
            for size in (FITS, LONG):
                mark = f"{number:012d}"
                mark += "a" * (size - len(mark))
                yield aim.head("GET", f"/apis/{mark}", aim.stranger)
                yield aim.head("GET", f"/api/v1/namespaces?labelSelector={mark}", aim.stranger)
                yield aim.head("GET", "/version", mark)
                yield aim.head("GET", "/version", aim.stranger + " " * size)
                yield aim.head("GET", "/version", aim.stranger, f"Accept: a/{mark}")
                yield aim.head("GET", "/version", aim.stranger, f"User-Agent: {mark}")

    yield from _rounds(aim, 8, asked())


def headers(aim: Aim) -> Steps:
    """Time-outs, selectors and accepted types that are long, of a user without rights."""
    path = "/api/v1/namespaces"
    accepted = "application/json;q=0.5,"
    asked = (
        aim.head("GET", f"{path}?timeout={'1h' * (LONG // 2)}", aim.stranger),
        aim.head("GET", f"{path}?timeout={'1' * LONG}s", aim.stranger),
        aim.head("GET", f"{path}?{'a=1&' * (LONG // 4)}", aim.stranger),
        aim.head("GET", f"{path}?labelSelector={'a,' * (LONG // 2)}", aim.stranger),
        aim.head("GET", path, aim.stranger, f"Accept: {accepted * (LONG // len(accepted))}*/*"),
        aim.head("GET", path, aim.stranger, f"Accept: {';a=b' * (LONG // 4)}"),
        aim.head("GET", "/version", aim.stranger, f"Accept-Encoding: {'gzip,' * (LONG // 5)}"),
    )
    yield from _rounds(aim, 8, itertools.cycle(asked))


def strangers(aim: Aim) -> Steps:
    """The costliest requests of a search (fuzz/costliest_requests.py), on 250 connections.

    No client shows credentials.
    """
    path = "/api/v1/namespaces/default/configmaps"
    asked = (
        aim.head("GET", f"{path}?timeout={'>' * LONG}"),
        aim.head("GET", f"{path}/{'>' * LONG}"),
        aim.head("GET", f"{path}?labelSelector={'%41' * (LONG // 3)}"),
        aim.head("GET", f"{path}?labelSelector={'!a,' * (LONG // 3)}"),
        aim.head("GET", f"{path}?watch={'%41' * (LONG // 3)}"),
        aim.head("GET", f"{path}?{'&%77atch=;' * (LONG // 10)}"),
        aim.head("GET", "/version", "", f"Impersonate-Group: {'&' * LONG}"),
        aim.head("GET", path, "", *(f"X-Header-{number}: a" for number in range(900))),
    )
    yield from _rounds(aim, aim.scaled(250), itertools.cycle(asked))


def watch_selectors(aim: Aim) -> Steps:
    """Watches whose selectors of 12 KB are all different: most are refused, few may stay."""
    path = "/api/v1/configmaps?watch=1&labelSelector="

    def asked() -> Iterator[bytes]:
        for number in itertools.count():
            negative = ",".join(f"!k{number}-{place}" for place in range(1_000))
            yield aim.head("GET", f"{path}{negative}", aim.holder)

    yield from _rounds(aim, aim.scaled(500), asked())


def watch_refused(aim: Aim) -> Steps:
    """Watches that are refused, by 403, 400 and 410, on 500 connections."""
    path = "/api/v1/namespaces/default/secrets?watch=1"
    asked = (
        aim.head("GET", path, aim.stranger),
        aim.head("GET", f"{path}&labelSelector=!!", aim.holder),
        aim.head("GET", f"{path}&fieldSelector=nothing=1", aim.holder),
        aim.head("GET", f"{path}&resourceVersion=x", aim.holder),
    )
    yield from _rounds(aim, aim.scaled(500), itertools.cycle(asked))


def forbidden(aim: Aim) -> Steps:
    """What authorization refuses, on 64 connections."""
    path = "/api/v1/namespaces/kube-system/secrets"
    yield from _rounds(aim, 64, itertools.repeat(aim.head("GET", path, aim.stranger)))


def dumps(aim: Aim) -> Steps:
    """What flow control tells of itself, asked by one who may and by one who may not."""
    asked = [aim.head("GET", path, user) for path in DUMPS for user in (aim.holder, aim.stranger)]
    yield from _rounds(aim, 8, itertools.cycle(asked))
