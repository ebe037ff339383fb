"""The words of the code: names that are gone, and prose that a reader understands at once.

A name that nothing but this project gives a thing comes back easily, so the names that were
replaced are listed here, each with the better one.  Rooms that still have words of the second kind
have an allowance, which only shrinks.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "kubetrio"

REPLACED = {
    ("api", "Advice"): "Warnings",
    ("api", "Arrivals"): "PendingBodies",
    ("api", "Room"): "BodyReservation",
    ("api", "_suffer"): "_inject",
    ("api", "in_step"): "in_cohort",
    ("api", "read_unseated"): "read_without_seat",
    ("auth", "OwnTokens"): "IssuedTokens",
    ("controllers", "Followed"): "NodeGraphInformer",
    ("controllers", "Misplaced"): "CrossNamespaceOwners",
    ("controllers", "PodCollection"): "PodGC",
    ("controllers", "QuotaKeeper"): "ResourceQuotaController",
    ("controllers", "Remains"): "RemainingContent",
    ("controllers", "RequestCleaning"): "CSRCleaner",
    ("controllers", "RootAuthorities"): "RootCAPublisher",
    ("controllers", "Suspect"): "Candidate",
    ("crd", "Definitions"): "CRDController",
    ("flow", "Asked"): "Request",
    ("flow", "Company"): "FlowContention",
    ("flow", "Passages"): "TicketlessRequests",
    ("flow", "Tally"): "SchemaHistograms",
    ("flow", "_Crossing"): "ExemptInFlight",
    ("http", "Alike"): "HeadTemplate",
    ("http", "Tide"): "FallDetector",
    ("http", "Trust"): "ClientAuthorities",
    ("http", "give_back"): "trim_heap",
    ("kinds", "Look"): "PrinterRow",
    ("kinds", "acting_as"): "as_service_account",
    ("machinery", "Fill"): "CacheSize",
    ("plugins", "Around"): "PluginContext",
    ("plugins", "ClassProtection"): "VolumeAttributesClassProtection",
    ("plugins", "Hooking"): "WebhookDependencies",
    ("plugins", "Outside"): "WebhookEnvironment",
    ("plugins", "Reach"): "WebhookClientConfig",
    ("plugins", "Server"): "PluginDependencies",
    ("plugins", "Surroundings"): "PolicyDependencies",
    ("resources", "at_once"): "run_inline",
    ("resources", "delete_seen"): "delete_if_unchanged",
    ("resources", "isolate"): "keep_immutable_parts",
    ("resources", "revise"): "update_as_server",
    ("resources", "unweighed"): "ignore_size",
    ("runtime", "persevere"): "run_forever_with_backoff",
    ("schema", "Elsewhere"): "AggregatedDocuments",
    ("schema", "Held"): "AnnotatedField",
    ("schema", "Rules"): "WriteStrategy",
    ("schema", "kept"): "cached_on_kind",
    ("schema", "settle"): "migrate_stored",
    ("server", "Resets"): "SnapshotRestorer",
    ("server", "Upkeep"): "BackgroundTasks",
    ("server", "rehearse"): "check_files",
    ("store", "Upkeep"): "Maintenance",
    ("store", "Whole"): "Unstampable",
}
"""Classes and functions of a room that are gone, and what they are called now."""
NOT_YET: frozenset[tuple[str, str]] = frozenset()
"""Those among them that are still there."""
REPLACED_MODULES = {
    "api/advice.py": "api/warningheaders.py",
    "api/arriving.py": "api/pendingbodies.py",
    "api/unseated.py": "api/withoutseat.py",
    "api/hops.py": "api/proxy/headers.py",
    "api/targets.py": "api/proxy/locations.py",
    "api/proxy/hops.py": "api/proxy/headers.py",
    "api/proxy/targets.py": "api/proxy/locations.py",
    "api/faulting.py": "api/faults/faulting.py",
    "api/sub_pods.py": "api/subresources/pods.py",
    "api/sub_scale.py": "api/subresources/scale.py",
    "api/sub_tokens.py": "api/subresources/tokens.py",
    "resources/revising.py": "resources/serverwrites.py",
    "resources/identity.py": "resources/preconditions.py",
    "resources/seen.py": "resources/ifunchanged.py",
}
"""Modules that are gone, below the package, and what has their contents now."""
PEOPLE = re.compile(r"\b(nobody|somebody|anybody|everybody|whoever|whom|whomever)\b", re.IGNORECASE)
"""A docstring or comment names the client, the user or the caller instead."""
OPENINGS = re.compile(r"(The same\b|It is\b|They are\b|There is none\b|There is nothing\b)")
"""A docstring begins with an imperative or with the thing itself."""
DISTRIBUTIVE = re.compile(
    r"\b(?:one|two|once|twice) (?:(?!without|with|of|for|to|in|by|from|on)\w+ )?"
    r"an? (?:verb|watch|watcher|request|kind|user|connection)\b",
    re.IGNORECASE,
)
"""It is "one nursery per watch", and not "one nursery a watch"."""
ONE_WORD = ("Event", "Parts", "Refused", "Row", "Server", "Trust")
"""Class names that said too little, because several things had them."""
PARTICIPLES = frozenset({"found", "made", "said", "wanted"})
"""Variables that hide what they hold."""

# Of each room, how often at most.  A number is lowered or goes; none rises.
ALLOWED_PEOPLE: dict[str, int] = {
    "ui": 3,
}
ALLOWED_PARTICIPLES: dict[str, int] = {
    ".": 5,
    "aggregation": 2,
    "allocation": 1,
    "api": 6,
    "audit": 1,
    "auth": 14,
    "bootstrap": 1,
    "cel": 25,
    "cli": 15,
    "controllers": 7,
    "crd": 1,
    "datadir": 1,
    "embedding": 10,
    "encryption": 1,
    "gotext": 3,
    "informers": 1,
    "kinds": 5,
    "machinery": 2,
    "outgoing": 1,
    "resources": 6,
    "runtime": 1,
    "schema": 3,
    "server": 2,
    "storagevalues": 6,
    "store": 6,
    "structural": 5,
    "testing": 1,
    "threads": 1,
    "tls": 2,
    "ui": 6,
    "watch": 4,
    "wire": 7,
}
# Of each class name, how many modules define one.
ALLOWED_CLASSES: dict[str, int] = {
    "Event": 3,
    "Parts": 1,
    "Row": 1,
    "Server": 1,
}


@cache
def modules() -> Mapping[str, str]:
    """Texts of all modules, by path in the package."""
    return {
        str(path.relative_to(PACKAGE)): path.read_text()
        for path in sorted(PACKAGE.rglob("*.py"))
        if "_schemas" not in path.parts
    }


@dataclass(frozen=True, slots=True)
class Names:
    """What a module defines and says, read in one walk: a walk of all modules takes seconds.

    Args:
        definitions: names of its classes and functions, methods included.
        classes: names of its classes.
        docstrings: texts that document the module, a class, a function or an attribute.
        participles: how many variables are bound that are named by one.
    """

    definitions: tuple[str, ...]
    classes: tuple[str, ...]
    docstrings: tuple[str, ...]
    participles: int


@cache
def names() -> Mapping[str, Names]:
    """Of every module, by path in the package."""
    return {name: names_of(ast.parse(text)) for name, text in modules().items()}


def names_of(tree: ast.Module) -> Names:
    """Read one module."""
    functions: list[str] = []
    classes: list[str] = []
    docstrings: list[str] = []
    participles = 0
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) if name in PARTICIPLES:
                participles += 1
            case ast.ClassDef(name=name):
                classes.append(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                functions.append(name)
            case ast.Expr(value=ast.Constant(value=str(text))):
                docstrings.append(text)
    return Names((*functions, *classes), tuple(classes), tuple(docstrings), participles)


def room_of(name: str) -> str:
    """First folder of a module; a dot for the modules of the root."""
    return name.partition("/")[0] if "/" in name else "."


def comments(text: str) -> Iterator[str]:
    """Comments of a module."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def matches(pattern: re.Pattern[str]) -> Counter[str]:
    """How often the prose of each room has a pattern."""
    counts = Counter[str]()
    for name, text in modules().items():
        if pattern.search(text):
            prose = [*names()[name].docstrings, *comments(text)]
            counts[room_of(name)] += sum(len(pattern.findall(one)) for one in prose)
    return counts


def exceeding(counts: Mapping[str, int], allowed: Mapping[str, int]) -> list[str]:
    """Rooms that have more than they may."""
    return [
        f"{room}: {count}, not {allowed.get(room, 0)}"
        for room, count in sorted(counts.items())
        if count > allowed.get(room, 0)
    ]


def test_replaced_names_stay_gone() -> None:
    """No class or function has one of them again."""
    gone = REPLACED.keys() - NOT_YET
    back = [
        f"{name}: {defined} is {REPLACED[room_of(name), defined]}"
        for name, one in names().items()
        for defined in one.definitions
        if (room_of(name), defined) in gone
    ]
    assert back == []


def test_replaced_modules_stay_gone() -> None:
    """No file has one of their names again."""
    assert [f"{old}: {new}" for old, new in REPLACED_MODULES.items() if old in modules()] == []


def test_what_replaced_them_is_there() -> None:
    """So that both lists say what is true."""
    defined = {name for one in names().values() for name in one.definitions}
    better = {new for row, new in REPLACED.items() if row not in NOT_YET}
    assert sorted(better - defined) == []
    assert [new for new in REPLACED_MODULES.values() if new not in modules()] == []


def test_prose_names_the_client_the_user_or_the_caller() -> None:
    """Not somebody, and not nobody."""
    assert exceeding(matches(PEOPLE), ALLOWED_PEOPLE) == []


def test_docstrings_begin_with_what_holds() -> None:
    """One that says that something is the same needs its neighbour to be understood."""
    counts = Counter[str]()
    for name, one in names().items():
        counts[room_of(name)] += sum(OPENINGS.match(text) is not None for text in one.docstrings)
    assert exceeding(counts, {}) == []


def test_what_there_is_one_of_for_each_is_per_each() -> None:
    """A reader takes "a watch" for the object of the sentence."""
    assert exceeding(matches(DISTRIBUTIVE), {}) == []


def test_a_class_name_says_which_thing_it_is() -> None:
    """Several classes of a name are several things with one word."""
    counts = Counter(name for one in names().values() for name in one.classes if name in ONE_WORD)
    assert exceeding(counts, ALLOWED_CLASSES) == []


def test_variables_name_what_they_hold() -> None:
    """A participle says what happened to it."""
    counts = Counter[str]()
    for name, one in names().items():
        counts[room_of(name)] += one.participles
    assert exceeding(counts, ALLOWED_PARTICIPLES) == []


def test_each_pattern_finds_what_it_is_for() -> None:
    """And lets pass what it is not for."""
    assert PEOPLE.search("Nobody asks.")
    assert OPENINGS.match("The same for lists.")
    assert not OPENINGS.match("Return the same object.")
    assert DISTRIBUTIVE.search("One function a verb")
    assert DISTRIBUTIVE.search("two timers a request")
    assert not DISTRIBUTIVE.search("one of a request")
    assert not DISTRIBUTIVE.search("once per watch")
    assert list(comments("a = 1  # why\n")) == ["# why"]
