"""etcd's published ``.proto`` files -> numbers of the fields of the messages that a client sends.

Source: https://github.com/etcd-io/etcd, ``api/etcdserverpb/rpc.proto`` and
``api/mvccpb/kv.proto``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

MODULE = Path(__file__).parents[1] / "kubetrio/store/etcd/fields.py"
FILES = ("api/mvccpb/kv.proto", "api/etcdserverpb/rpc.proto")
METHODS: Mapping[str, Sequence[str]] = {
    "KV": ("Range", "Txn", "Compact"),
    "Watch": ("Watch",),
    "Lease": ("LeaseGrant", "LeaseRevoke", "LeaseKeepAlive", "LeaseTimeToLive"),
    "Maintenance": ("Alarm", "Status"),
}
"""Methods that the server calls, by service."""
SCALARS = frozenset({"string", "bytes", "bool", "int32", "int64", "uint32", "uint64", "double"})

_COMMENT = re.compile(r"//[^\n]*")
_PACKAGE = re.compile(r"^package ([\w.]+);", re.MULTILINE)
_TOKEN = re.compile(r'"[^"]*"|[\w.]+|[{}()\[\];=<>,:]')

Row = tuple[int, str, str, bool]
"""Number, name and type of a field, and whether it is repeated."""


class Method(NamedTuple):
    """A method of a service.

    Args:
        path: of its HTTP/2 request.
        request: name of the message that is sent.
        response: name of the message that is answered.
    """

    path: str
    request: str
    response: str


class Protocol(NamedTuple):
    """What some ``.proto`` files say.

    Args:
        messages: fields by the name of their message.
        enums: numbers by the name of an enum and of a value.
        methods: by name.
    """

    messages: dict[str, list[Row]]
    enums: dict[str, dict[str, int]]
    methods: dict[str, Method]


class _Reader:
    """Reads one file.

    Args:
        text: the file.
    """

    def __init__(self, text: str) -> None:
        text = _COMMENT.sub("", text)
        package = _PACKAGE.search(text)
        if package is None:
            raise ValueError("a file without a package")
        self.package = package[1]
        self._tokens = _TOKEN.findall(text)
        self._at = 0
        self.found = Protocol({}, {}, {})

    def _next(self) -> str:
        self._at += 1
        word: str = self._tokens[self._at - 1]
        return word

    def _skip_statement(self) -> None:
        """Skip to the end of a statement or of its block."""
        depth = 0
        while True:
            word = self._next()
            depth += (word == "{") - (word == "}")
            if depth == 0 and word in ";}":
                break
        if word == "}" and self._tokens[self._at : self._at + 1] == [";"]:
            self._at += 1

    def read(self) -> Protocol:
        """Return what the file says."""
        while self._at < len(self._tokens):
            match self._next():
                case "message":
                    self._message(self.package)
                case "enum":
                    self._enum(self.package)
                case "service":
                    self._service()
                case _:
                    self._skip_statement()
        return self.found

    def _message(self, scope: str) -> None:
        name = f"{scope}.{self._next()}"
        self._next()
        rows = self.found.messages[name] = []
        self._fields(name, rows)

    def _fields(self, name: str, rows: list[Row]) -> None:
        while (word := self._next()) != "}":
            match word:
                case "message":
                    self._message(name)
                case "enum":
                    self._enum(name)
                case "oneof":
                    self._next()
                    self._next()
                    self._fields(name, rows)
                case "option" | "reserved":
                    self._skip_statement()
                case ";":
                    continue
                case _:
                    repeated = word == "repeated"
                    kind = self._next() if repeated else word
                    field = self._next()
                    self._next()
                    rows.append((int(self._next()), field, kind, repeated))
                    self._skip_statement()

    def _enum(self, scope: str) -> None:
        name = f"{scope}.{self._next()}"
        self._next()
        values = self.found.enums[name] = {}
        while (word := self._next()) != "}":
            if word == "option":
                self._skip_statement()
            elif word != ";":
                self._next()
                values[word] = int(self._next())
                self._skip_statement()

    def _service(self) -> None:
        service = self._next()
        self._next()
        while (word := self._next()) != "}":
            if word != "rpc":
                self._skip_statement()
                continue
            name = self._next()
            types = [self._type(), self._type_after_returns()]
            self._skip_statement()
            self.found.methods[f"{service}.{name}"] = Method(
                f"/{self.package}.{service}/{name}",
                *(f"{self.package}.{kind}" for kind in types),
            )

    def _type(self) -> str:
        self._next()
        kind = self._next()
        if kind == "stream":
            kind = self._next()
        self._next()
        return kind

    def _type_after_returns(self) -> str:
        self._next()
        return self._type()


def read(text: str) -> Protocol:
    """Read a ``.proto`` file.

    Raises:
        ValueError: it names no package.
    """
    return _Reader(text).read()


def _resolved(kind: str, scope: str, known: Protocol) -> str:
    """The full name of a type that a message names, or ``int32`` for an enum.

    Raises:
        ValueError: it is not known.
    """
    if kind in SCALARS:
        return kind
    while True:
        full = f"{scope}.{kind}" if scope else kind
        if full in known.messages:
            return full
        if full in known.enums:
            return "int32"
        if not scope:
            raise ValueError(f"unknown type {kind}")
        scope = scope.rpartition(".")[0]


def needed(known: Protocol) -> Protocol:
    """Return the part that `METHODS` need, with full names of types.

    Raises:
        ValueError: a method or type is missing.
    """
    missing = [
        f"{service}.{name}"
        for service, names in METHODS.items()
        for name in names
        if f"{service}.{name}" not in known.methods
    ]
    if missing:
        raise ValueError(f"no methods {', '.join(missing)}")
    methods = {
        name: known.methods[f"{service}.{name}"]
        for service, names in METHODS.items()
        for name in names
    }
    messages: dict[str, list[Row]] = {}
    waiting = [kind for method in methods.values() for kind in method[1:]]
    while waiting:
        name = waiting.pop()
        if name in messages:
            continue
        rows = messages[name] = [
            (number, field, _resolved(kind, name, known), repeated)
            for number, field, kind, repeated in sorted(known.messages[name])
        ]
        waiting.extend(kind for _, _, kind, _ in rows if kind not in SCALARS)
    scopes = {*messages, *(name.rpartition(".")[0] for name in messages)}
    enums = {name: known.enums[name] for name in known.enums if name.rpartition(".")[0] in scopes}
    return Protocol(dict(sorted(messages.items())), dict(sorted(enums.items())), methods)


HEAD = '''"""Fields of etcd's messages and its methods, made by ``python -m facts etcd``.

Source: etcd's api/etcdserverpb/rpc.proto and api/mvccpb/kv.proto.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

'''


def module(known: Protocol) -> Iterator[str]:
    """Lines of the module with the facts, in pieces."""
    yield HEAD
    yield "# Number, name and type of a field, and whether it is repeated.\n"
    yield "MESSAGES: Final[Mapping[str, Sequence[tuple[int, str, str, bool]]]] = {\n"
    for name, rows in known.messages.items():
        yield f'    "{name}": (\n' if rows else f'    "{name}": (),\n'
        for number, field, kind, repeated in rows:
            yield f'        ({number}, "{field}", "{kind}", {repeated}),\n'
        if rows:
            yield "    ),\n"
    yield "}\n\n# Path, request and response.\n"
    yield "METHODS: Final[Mapping[str, tuple[str, str, str]]] = {\n"
    for name, method in known.methods.items():
        yield f'    "{name}": (\n'
        for part in method:
            yield f'        "{part}",\n'
        yield "    ),\n"
    yield "}\n\nENUMS: Final[Mapping[str, Mapping[str, int]]] = {\n"
    for name, values in known.enums.items():
        listed = ", ".join(f'"{value}": {number}' for value, number in values.items())
        line = f'    "{name}": {{{listed}}},\n'
        if len(line) <= 101:
            yield line
            continue
        yield f'    "{name}": {{\n'
        for value, number in values.items():
            yield f'        "{value}": {number},\n'
        yield "    },\n"
    yield "}\n"


def make(tree: Path, output: Path) -> Iterator[str]:
    """Write the module; yields its name.

    Args:
        tree: root of a checkout of etcd.
        output: the module.

    Raises:
        FileNotFoundError: it is not a tree of etcd.
        ValueError: a file lacks what is needed.
    """
    known = Protocol({}, {}, {})
    for name in FILES:
        found = read((tree / name).read_text(encoding="utf-8"))
        known.messages.update(found.messages)
        known.enums.update(found.enums)
        known.methods.update(found.methods)
    output.write_text("".join(module(needed(known))), encoding="utf-8")
    yield output.name
