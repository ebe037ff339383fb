"""A server keeps to its own OpenAPI documents: schemathesis makes requests of them and judges.

python fuzz/openapi_requests.py --seconds 60 --seed 1

A round is a fresh server with the definitions of two custom kinds, and one document of
``/openapi/v3``: requests that its schemas allow for each of its operations, about a few names so
that objects meet each other.  A finding is an answer 5xx, an answer that breaks the schema that the
document gives it, or one in a form that the document does not name.  Needs schemathesis, of the
extra ``fuzz``.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import hypothesis
import requests
import schemathesis
import yaml
from hypothesis import strategies as st
from schemathesis import checks
from schemathesis.core.failures import Failure, FailureGroup

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fuzz.corpus import corpus
from kubetrio.env import monotonic, seeded
from kubetrio.schema import builtin
from kubetrio.testing import process
from kubetrio.wire.descriptors import MICRO_TIME, RAW_EXTENSION, TIME, Descriptors, message_name

CUSTOM: Final = Path(__file__).with_name("custom.yaml")
NAMES: Final = ("one", "two", "three")
BASES: Final = 4
"""Objects of each resource that there are at the beginning."""
EXAMPLES: Final = 12
"""Requests of one operation in a round."""
TIMEOUT_S: Final = 20.0
PATCHES: Final = {
    "application/apply-patch+yaml": True,
    "application/merge-patch+json": False,
    "application/strategic-merge-patch+json": False,
}
"""Forms of patches that look like the object, and whether they name its type."""
ENDLESS: Final = frozenset({"connect", "watch", "watchlist"})
"""What operations do whose answers are streams, or those of another server."""
STREAMING: Final = frozenset({"follow", "watch"})
UPSTREAM: Final = tuple(
    re.compile(pattern)
    for pattern in (
        "^resourceVersion: Invalid value: ",  # of a GET
        "^failed to create typed patch object ",
        "the spec replicas field .* does not exist$",  # of a custom resource's scale
        "^strconv.ParseUint: parsing ",  # of the resourceVersion in a patch
        r"\btarget\.(kind|name): ",  # of a Binding
    )
)
"""What kube-apiserver answers with 500 too."""
NO_TEXT: Final = ("/.well-known/", "/openid/")
"""Paths that answer with JSON objects, and upstream's documents say a text."""
NULL: Final = {"type": "object", "nullable": True, "enum": [None]}
NULL_TYPES: Final = frozenset({TIME, MICRO_TIME, RAW_EXTENSION})
"""Types whose zero is null in JSON."""
OBJECT_OR_STATUS: Final = frozenset({"delete", "deletecollection"})
"""What upstream's documents say answers with a Status, or with an object, while it is either."""
Json = dict[str, Any]


@dataclass
class Findings:
    """What was found, by where it comes from.

    Args:
        quiet: whether to print nothing.
        seen: how often.
        told: the text of each, by the same key.
        answers: how many there were of each status.
    """

    quiet: bool = False
    seen: Counter[str] = field(default_factory=Counter)
    told: dict[str, str] = field(default_factory=dict)
    answers: Counter[int] = field(default_factory=Counter)

    def add(self, key: str, text: str) -> None:
        """Count a finding, and tell it when it is new."""
        self.seen[key] += 1
        if key not in self.told:
            self.told[key] = text
            if not self.quiet:
                print(f"\n### {key}\n{text}", flush=True)


class Served:
    """A server to ask.

    Args:
        url: where it listens.
        session: asks as an administrator.
    """

    def __init__(self, url: str, session: requests.Session) -> None:
        self.url = url
        self.session = session

    def get(self, path: str) -> Any:
        """A document."""
        answer = self.session.get(f"{self.url}{path}", timeout=TIMEOUT_S)
        answer.raise_for_status()
        return answer.json()

    def prepare(self) -> None:
        """Serve the custom kinds."""
        for made in yaml.safe_load_all(CUSTOM.read_text()):
            path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            answer = self.session.post(f"{self.url}{path}", json=made, timeout=TIMEOUT_S)
            if answer.status_code != requests.codes.conflict:
                answer.raise_for_status()
            # A watch waits for the server, where asking again and again would need a pause.
            where = (
                f"{self.url}{path}?watch=1&fieldSelector=metadata.name={made['metadata']['name']}"
            )
            with self.session.get(where, stream=True, timeout=TIMEOUT_S) as events:
                for line in events.iter_lines():
                    conditions = json.loads(line)["object"]["status"].get("conditions") or ()
                    if any(
                        c["type"] == "Established" and c["status"] == "True" for c in conditions
                    ):
                        break

    def documents(self) -> list[str]:
        """Paths of the OpenAPI v3 documents of groups and versions."""
        return [path for path in self.get("/openapi/v3")["paths"] if path.count("/")]


def served_by(running: process.ServerProcess) -> Served:
    """How to ask a server of our own."""
    session, made = requests.Session(), running.data_dir / "pki"
    session.trust_env = False
    session.verify = str(made / "ca.crt")
    session.cert = (str(made / "admin.crt"), str(made / "admin.key"))
    return Served(f"https://127.0.0.1:{running.port}", session)


def with_type(body: Any, kind: Mapping[str, str], name: str, *, plain: bool) -> Any:
    """An object that was made at random, with the type and a name that a server looks for.

    Args:
        body: what was made.
        kind: group, version and kind.
        name: of the object.
        plain: whether its metadata hold no more.
    """
    if not isinstance(body, dict):
        return body
    group, version = kind["group"], kind["version"]
    meta = body.get("metadata")
    meta = {} if plain or not isinstance(meta, dict) else dict(meta)
    # A uid or revision drawn at random is a conflict, and little else is tried then.
    for member in ("namespace", "resourceVersion", "uid", "generateName", "managedFields"):
        meta.pop(member, None)
    return {
        **body,
        "apiVersion": f"{group}/{version}" if group else version,
        "kind": kind["kind"],
        "metadata": {**meta, "name": name},
    }


def nullable(document: Json) -> Json:
    """A document that tells which members are null when nothing is in them.

    Those are Go's pointers, slices, maps and times whose tags do not leave them out.  Upstream's
    documents do not say so, and its answers hold null there.
    """
    known = Descriptors(builtin.message)
    schemas: Json = document.get("components", {}).get("schemas", {})
    for name, schema in schemas.items():
        if message_name(name) in NULL_TYPES:
            schema["nullable"] = True
        try:
            fields = {one.json: one for one in known.fields(message_name(name))}
        except KeyError:
            continue
        members = schema.get("properties", {})
        for member in members.keys() & fields.keys():
            one = fields[member]
            if not one.omitempty and (one.repeated or one.map or not one.value):
                # Beside a reference the keyword has no effect.
                members[member] = {"anyOf": [members[member], NULL]}
    return document


class Operation:
    """Requests of one operation.

    Args:
        operation: of schemathesis.
        item: what the document says of it.
        objects: draws bodies of objects, for patches; None where there are none.
        names: of objects that may be there.
    """

    def __init__(self, operation: Any, item: Json, objects: Any, names: Sequence[str]) -> None:
        self._operation = operation
        self._names = names
        self._action = item.get("x-kubernetes-action", "")
        self._kind = item.get("x-kubernetes-group-version-kind")
        self._objects = objects
        content = item["responses"].get("200", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema", {})
        self._answers = schema.get("$ref", "").rpartition(".")[2]
        self.path = operation.path
        self.label = operation.label

    def cases(self) -> st.SearchStrategy[Any]:
        """Requests as the document allows them, more of them about something that may be there."""

        @st.composite
        def made(draw: st.DrawFn) -> Any:
            case = draw(self._operation.as_strategy())
            name = draw(st.sampled_from(self._names))
            for member, value in (("namespace", "default"), ("name", name)):
                if member in case.path_parameters and draw(st.integers(0, 9)):
                    case.path_parameters[member] = value
            for member in STREAMING & set(case.query or ()):
                del case.query[member]
            if self._action in ("post", "put"):
                case.media_type = "application/json"  # all that there are are said to do
            if case.media_type in PATCHES and self._objects is not None:
                case.body = draw(self._objects).body
            if self._kind and draw(st.integers(0, 9)):
                whole = PATCHES.get(case.media_type, self._action in ("post", "put"))
                if whole:
                    plain = draw(st.integers(0, 4)) > 0
                    case.body = with_type(case.body, self._kind, name, plain=plain)
            return case

        return made()

    def judged(self, answer: requests.Response) -> list[Any]:
        """What is looked at in an answer."""
        judges = [checks.not_a_server_error, checks.CHECKS.get_one("content_type_conformance")]
        if self.path.startswith(NO_TEXT):
            return judges
        if self._action in OBJECT_OR_STATUS and self._kind_of(answer) != self._answers:
            return judges
        return [*judges, checks.CHECKS.get_one("response_schema_conformance")]

    @staticmethod
    def _kind_of(answer: requests.Response) -> str:
        try:
            return str(answer.json()["kind"])
        except (ValueError, KeyError, TypeError):
            return ""


def filled(path: str, served: Served) -> dict[str, list[str]]:
    """Put the objects that other fuzzers begin with below a document's path.

    Returns:
        Their names, by the name of their resource.
    """
    names: dict[str, list[str]] = {}
    for resource, objects in corpus().bases.items():
        below = f"apis/{resource.api_version}" if resource.group else f"api/{resource.version}"
        if below != path:
            continue
        place = "namespaces/default/" if resource.namespaced else ""
        for made in objects[:BASES]:
            name = made.get("metadata", {}).get("name", NAMES[0])
            names.setdefault(resource.resource, list(NAMES)).append(name)
            body = {**made, "metadata": {**made.get("metadata", {}), "name": name}}
            body["metadata"].pop("namespace", None)
            url = f"{served.url}/{path}/{place}{resource.resource}"
            served.session.post(url, json=body, timeout=TIMEOUT_S)
    return names


def operations(document: Json, url: str, names: Mapping[str, list[str]]) -> list[Operation]:
    """The operations of a document that answer at once.

    Args:
        document: OpenAPI v3.
        url: of the server.
        names: of objects that may be there, by the name of their resource.
    """
    loaded = schemathesis.openapi.from_dict(document)
    loaded.config.update(base_url=url)
    found = [result.ok() for result in loaded.get_all_operations()]
    bodies = {one.path: one.as_strategy() for one in found if one.method == "put"}
    made = []
    for one in found:
        item = document["paths"][one.path][one.method]
        if item.get("x-kubernetes-action") not in ENDLESS:
            there = next((names[part] for part in one.path.split("/") if part in names), NAMES)
            made.append(Operation(one, item, bodies.get(one.path), there))
    return made


def ask(operation: Operation, served: Served, examples: int, seed: int, findings: Findings) -> int:
    """Send requests of an operation; returns how many."""
    sent = 0

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(operation.cases())
    def one(case: Any) -> None:
        nonlocal sent
        sent += 1
        try:
            answer = case.call(
                session=served.session, timeout=TIMEOUT_S, verify=served.session.verify
            )
        except requests.RequestException as error:
            findings.add(f"no answer: {operation.label}", f"{error!r}\n{case.as_curl_command()}")
            return
        findings.answers[answer.status_code] += 1
        try:
            case.validate_response(answer, checks=operation.judged(answer))
        except FailureGroup as failures:
            for failure in failures.exceptions:
                tell(operation, case, answer, failure, findings)

    one()
    return sent


def tell(operation: Operation, case: Any, answer: Any, failure: Any, findings: Findings) -> None:
    """Add what a check found."""
    about = failure.title if isinstance(failure, Failure) else repr(failure)
    first = failure.message.partition("\n")[0] if isinstance(failure, Failure) else ""
    body = answer.content.decode(errors="backslashreplace")
    key = f"{answer.status_code} {operation.label}: {about} {first}"
    if answer.status_code >= requests.codes.server_error:
        said = message(body)
        if any(pattern.search(said) for pattern in UPSTREAM):
            return
        key = f"{answer.status_code}: {said}"
    findings.add(
        key, f"{operation.label}\n{failure}\n{case.as_curl_command()[:6000]}\n{body[:3000]}"
    )


def message(body: str) -> str:
    """What a Status says, or the text."""
    try:
        return str(json.loads(body)["message"])[:200]
    except (ValueError, KeyError, TypeError):
        return body[:200]


def play(
    path: str,
    seed: int,
    examples: int,
    findings: Findings,
    go_on: Callable[[int], bool],
    flags: Iterable[str] = (),
) -> int:
    """One round with one document; returns how many requests were sent.

    Args:
        path: of the document.
        seed: of what is drawn.
        examples: requests of an operation.
        findings: what is found goes there.
        go_on: whether another operation is asked, after a number of requests.
        flags: of the server.
    """
    rng, sent = seeded(seed).rng, 0
    with tempfile.TemporaryDirectory() as folder:
        running = process.start(Path(folder) / "data", Path(folder) / "log", *flags)
        try:
            served = served_by(running)
            served.prepare()
            document = nullable(served.get(f"/openapi/v3/{path}"))
            made = operations(document, served.url, filled(path, served))
            rng.shuffle(made)
            for operation in made:
                if not go_on(sent):
                    break
                sent += ask(operation, served, examples, seed, findings)
        finally:
            running.kill()
    return sent


def chosen(only: Sequence[str]) -> list[str]:
    """The documents to take turns at: those whose path has one of the texts, or all."""
    with tempfile.TemporaryDirectory() as folder:
        running = process.start(Path(folder) / "data", Path(folder) / "log")
        try:
            served = served_by(running)
            served.prepare()
            known = served.documents()
        finally:
            running.kill()
    return [path for path in known if not only or any(text in path for text in only)]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--examples", type=int, default=EXAMPLES, help="of an operation, a round")
    parser.add_argument("--only", action="append", default=[], help="part of a document's path")
    options = parser.parse_args(arguments)
    findings = Findings()
    end, seed, sent = monotonic() + options.seconds, options.seed, 0
    paths = chosen(options.only)
    while monotonic() < end:
        rng = seeded(seed).rng
        for path in rng.sample(paths, len(paths)):
            if monotonic() < end:
                sent += play(path, seed, options.examples, findings, lambda _: monotonic() < end)
        seed += 1
    statuses = ", ".join(f"{code}: {count}" for code, count in sorted(findings.answers.items()))
    print(f"\nseeds {options.seed} to {seed - 1}, {sent} requests ({statuses})")
    for key, count in findings.seen.most_common():
        print(f"{count:6d}  {key}")
    if findings.seen:
        sys.exit(1)


if __name__ == "__main__":
    main()
