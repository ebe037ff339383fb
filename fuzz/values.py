"""Readers of values against other readers of them, and against what was written.

Targets of ``python -m fuzz``: JSON, YAML, CBOR, protobuf, quantities, times, selectors, field paths
and patches.  Texts are drawn from a grammar, and then changed at random.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from random import Random  # noqa: TID251  (a type; the generator is seeded)
from typing import Any

import yaml

from fuzz.corpus import corpus, root
from fuzz.likeness import _codec, encoded
from fuzz.mutations import dumps
from fuzz.rounds import Round, Target
from kubetrio.env import seeded
from kubetrio.machinery import fieldpath, fields, labels, quantity, timestamps
from kubetrio.machinery.jsonpatch import apply_json_patch, apply_merge_patch
from kubetrio.machinery.status import ApiError
from kubetrio.wire import cborwire, gojson, yamlwire
from kubetrio.wire.goscan import GoJsonError
from kubetrio.wire.protowire import unwrap

INPUTS = 200  # of one round
NAMES = ("a", "b", "c", "A", "\u00e9", "", "a/b", "a~b", "null")
WORDS = (
    "",
    "a",
    "b-c",
    "x.y",
    "1",
    "01",
    "true",
    "null",
    "~",
    "2020-01-01",
    "\u2028",
    "\U0001f600",
)
NUMBERS = (0, 1, -1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 10**20, 0.5, -1.25, 1e300)


def drawn(rng: Random, depth: int = 0) -> Any:
    """A JSON value."""
    kind = rng.randrange(8 if depth < 4 else 5)
    if kind == 0:
        return rng.choice((None, True, False))
    if kind in (1, 2):
        return rng.choice(NUMBERS)
    if kind in (3, 4):
        return rng.choice(WORDS)
    if kind == 5:
        return [drawn(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(NAMES): drawn(rng, depth + 1) for _ in range(rng.randrange(4))}


def damaged(rng: Random, data: bytes) -> bytes:
    """Bytes that went wrong in a place or two."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randint(0, len(out))
        match rng.randrange(4):
            case 0:
                del out[at : at + rng.randint(1, 4)]
            case 1:
                out[at:at] = rng.choice((b",", b"}", b'"a":1,', b"\\", b"\xff", b"\0", b"[", b" "))
            case 2:
                out[at:at] = out[at : at + rng.randint(1, 9)]
            case _ if out:
                out[at % len(out)] = rng.randrange(256)
    return bytes(out)


def outcome(
    read: Callable[[], Any], refusals: type[Exception] | tuple[type[Exception], ...]
) -> str:
    """What reading comes to, as text in which types show."""
    try:
        return f"= {read()!r}"
    except refusals as error:
        return f"refused: {error}"


# -------------------------------------------------------------------- formats


def read_json(rng: Random, told: Round) -> None:
    """The fast half and the exact half of the reader of JSON agree."""
    text = json.dumps(drawn(rng), ensure_ascii=rng.random() < 0.5).encode()
    if rng.random() < 0.7:
        text = damaged(rng, text)

    def shown(parsed: gojson.Parsed) -> tuple[Any, Any]:
        return parsed.value, list(parsed.duplicates)

    fast = outcome(lambda: shown(gojson.parse(text)), GoJsonError)
    exact = outcome(lambda: shown(gojson._exact(text)), GoJsonError)  # noqa: SLF001  (compared)
    told.require(fast == exact, f"{text!r}: {fast}, exactly {exact}")


def read_yaml(rng: Random, told: Round) -> None:
    """YAML that was printed reads as the value; whatever else is read or refused."""
    value = drawn(rng)
    text = yaml.safe_dump(value, default_flow_style=rng.random() < 0.3).encode()
    if rng.random() < 0.6:
        outcome(lambda: yamlwire.decode(damaged(rng, text)), yamlwire.YamlError)
        return
    found = yamlwire.decode(text).value
    told.require(_plain(found) == _plain(value), f"{text!r}: {found!r}, not {value!r}")


def _plain(value: Any) -> Any:
    # Numbers beyond 64 bits and floats that are whole are floats to the server.
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return float(value) if isinstance(value, int | float) and type(value) is not bool else value


def read_cbor(rng: Random, told: Round) -> None:
    """CBOR that was printed reads as the value; whatever else is read or refused."""
    value = {"a": drawn(rng)}
    try:
        data = cborwire.encode(value)
    except ValueError:
        return
    if rng.random() < 0.6:
        outcome(lambda: cborwire.decode(damaged(rng, data)), ValueError)
        return
    found = cborwire.decode(data)
    told.require(_plain(found) == _plain(value), f"{value!r}: {found!r}")


def read_protobuf(rng: Random, told: Round) -> None:
    """An object that was printed in protobuf reads as it was; whatever else is read or refused."""
    known = corpus()
    kinds = list(known.bases)
    kind = rng.choice(kinds)
    obj = rng.choice(known.bases[kind])
    name = root(kind)["$ref"]
    data = encoded(dumps(obj), name)
    if data is None:
        return
    codec = _codec()
    raw = unwrap(data).raw
    if rng.random() < 0.6:
        outcome(lambda: codec.decode(damaged(rng, raw), name), ValueError)
        return
    again = codec.encode(codec.decode(raw, name), name)
    told.require(codec.decode(again, name) == codec.decode(raw, name), f"{name}: {obj!r}")


# --------------------------------------------------------------------- values

SUFFIXES = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30),
}  # fmt: skip


def read_quantity(rng: Random, told: Round) -> None:
    """A quantity is the number that its text says, prints as that number, and is in its order."""
    pair = []
    for _ in range(2):
        digits = str(rng.choice((0, 1, 5, 12, 999, 1000, 1024, rng.randrange(10**6))))
        decimals = rng.choice(("", "", ".5", ".25", ".001"))
        suffix = rng.choice(list(SUFFIXES))
        text = rng.choice(("", "-", "+")) + digits + decimals + suffix
        number = Fraction(text[: len(text) - len(suffix)]) * SUFFIXES[suffix]
        parsed = quantity.parse(text)
        nano = Fraction(math.ceil(abs(number) * 10**9), 10**9) * (-1 if number < 0 else 1)
        exact = nano == number
        told.require(not exact or parsed.value() == _away(number), f"{text}: {parsed.value()}")
        again = quantity.parse(str(parsed))
        told.require(again == parsed, f"{text} prints as {parsed}")
        pair.append((text, nano, parsed))
    (one, low, first), (two, high, second) = pair
    told.require((first < second) == (low < high), f"{one} < {two}: {first < second}")
    mad = "".join(rng.choice("0123456789.+-eEkKmMiGnu ") for _ in range(rng.randrange(9)))
    outcome(lambda: quantity.parse(mad), ValueError)


def _away(number: Fraction) -> int:
    return math.ceil(number) if number > 0 else math.floor(number)


def read_time(rng: Random, told: Round) -> None:
    """A time is the instant that the standard library reads, and prints as itself."""
    moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(
        seconds=rng.randint(-(10**9), 10**10)
    )
    zone = dt.timezone(dt.timedelta(minutes=rng.randint(-14 * 60, 14 * 60)))
    text = moment.astimezone(rng.choice((zone, dt.UTC))).isoformat()
    if rng.random() < 0.3:
        text = text.replace("+00:00", "Z")
    told.require(
        timestamps.parse_time(text) == moment.timestamp(), f"{text}: {timestamps.parse_time(text)}"
    )
    printed = timestamps.normalise_time(text)
    wanted = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    told.require(printed == wanted, f"{text} prints as {printed}")
    bad = damaged(rng, text.encode()).decode(errors="replace")
    outcome(lambda: timestamps.normalise_time(bad), ValueError)


def read_selector(rng: Random, told: Round) -> None:
    """A selector chooses what its requirements say, and prints as one that is equal."""
    keys, values = ("a", "b", "x.y/z"), ("", "v", "w", "7", "10")
    parts: list[str] = []
    tests: list[Callable[[dict[str, str]], bool]] = []
    for _ in range(rng.randint(1, 3)):
        key, some = rng.choice(keys), rng.sample(values[1:], rng.randint(1, 3))
        match rng.randrange(6):
            case 0:
                parts.append(f"{key}={some[0]}")
                tests.append(partial(_is, key, {some[0]}))
            case 1:
                parts.append(f"{key}!={some[0]}")
                tests.append(partial(_is_not, key, {some[0]}))
            case 2:
                parts.append(f"{key} in ({','.join(some)})")
                tests.append(partial(_is, key, set(some)))
            case 3:
                parts.append(f"{key} notin ({','.join(some)})")
                tests.append(partial(_is_not, key, set(some)))
            case 4:
                parts.append(key)
                tests.append(partial(_has, key))
            case _:
                parts.append(f"!{key}")
                tests.append(partial(_lacks, key))
    text = ",".join(parts)
    selector = labels.parse(text)
    again = labels.parse(str(selector))
    for _ in range(4):
        chosen = {key: rng.choice(values) for key in keys if rng.random() < 0.6}
        wanted = all(test(chosen) for test in tests)
        told.require(selector.matches(chosen) == wanted, f"{text} of {chosen}: not {wanted}")
        told.require(again.matches(chosen) == wanted, f"{text} prints as {selector}")
    bad = damaged(rng, text.encode()).decode(errors="replace")
    outcome(lambda: labels.parse(bad), ValueError)
    value = "".join(rng.choice("a,=\\!b") for _ in range(rng.randrange(6)))
    told.require(
        fields.parse(f"metadata.name={fields.escape(value)}").matches({"metadata.name": value}),
        f"field selector of {value!r}",
    )
    outcome(lambda: fields.parse(bad), ValueError)


def _is(key: str, some: set[str], chosen: dict[str, str]) -> bool:
    return chosen.get(key) in some


def _is_not(key: str, some: set[str], chosen: dict[str, str]) -> bool:
    return chosen.get(key) not in some


def _has(key: str, chosen: dict[str, str]) -> bool:
    return key in chosen


def _lacks(key: str, chosen: dict[str, str]) -> bool:
    return key not in chosen


def read_field_path(rng: Random, told: Round) -> None:
    """A step of a field path reads as itself, whatever else is read or refused."""
    scalars = [*WORDS, 1, -2, True, None]
    pairs = [(name, rng.choice(scalars)) for name in rng.sample(("a", "b", "c"), 2)]
    steps = (
        fieldpath.field(rng.choice(NAMES)),
        fieldpath.key(pairs),
        fieldpath.value(rng.choice(scalars)),
        fieldpath.index(rng.randrange(99)),
    )
    for step in steps:
        told.require(fieldpath.parse(step) == step, f"{step!r}: {fieldpath.parse(step)!r}")
        bad = damaged(rng, step.encode()).decode(errors="replace")
        outcome(partial(fieldpath.parse, bad), (ValueError, fieldpath.UnknownStep))


def merge_by_rfc(doc: Any, patch: Any) -> Any:
    """A merge patch as RFC 7386 has it, but that nulls go from objects in lists too.

    They stay in a list that replaces an object.  Source: github.com/evanphx/json-patch, merge.go
    (merge, pruneNils), which kube-apiserver patches with.
    """
    if isinstance(patch, list):
        return patch if isinstance(doc, dict) else [merge_by_rfc(None, item) for item in patch]
    if not isinstance(patch, dict):
        return patch
    out = dict(doc) if isinstance(doc, dict) else {}
    for name, value in patch.items():
        if value is None:
            out.pop(name, None)
        else:
            out[name] = merge_by_rfc(out.get(name), value)
    return out


def apply_patch(rng: Random, told: Round) -> None:
    """A merge patch does what its RFC says; a JSON patch is made, or refused without a trace."""
    doc = {rng.choice("abc"): drawn(rng, 1) for _ in range(3)}
    patch = {rng.choice("abcd"): drawn(rng, 1) for _ in range(2)}
    before = json.dumps(doc)
    found, wanted = apply_merge_patch(doc, patch), merge_by_rfc(doc, patch)
    told.require(_plain(found) == _plain(wanted), f"{doc} with {patch}: {found}, not {wanted}")
    told.require(json.dumps(doc) == before, f"{patch} changes the document")
    name, value = rng.choice("abcd"), drawn(rng, 2)
    done = apply_json_patch(doc, [{"op": "add", "path": f"/{name}", "value": value}])
    told.require(_plain(done) == _plain({**doc, name: value}), f"add {name}: {done}")
    ops = [
        {
            "op": rng.choice(("add", "remove", "replace", "move", "copy", "test")),
            "path": "/" + "/".join(rng.choice("abc0-") for _ in range(rng.randint(1, 3))),
            "from": "/" + rng.choice("abc"),
            "value": drawn(rng, 3),
        }
        for _ in range(rng.randint(1, 3))
    ]
    outcome(lambda: apply_json_patch(doc, ops), ApiError)
    told.require(json.dumps(doc) == before, f"{ops} change the document")


def _round(one: Callable[[Random, Round], None], seed: int) -> Round:
    told, rng = Round(), seeded(seed).rng
    for _ in range(INPUTS):
        told.executions += 1
        try:
            one(rng, told)
        except Exception as error:  # noqa: BLE001  (one that no reader should raise)
            told.problems.append(f"input {told.executions}: {error!r}")
    return told


def _target(name: str, one: Callable[[Random, Round], None]) -> Target:
    return Target(name, (one.__doc__ or "").strip(), partial(_round, one))


TARGETS = (
    _target("json", read_json),
    _target("yaml", read_yaml),
    _target("cbor", read_cbor),
    _target("protobuf", read_protobuf),
    _target("quantities", read_quantity),
    _target("times", read_time),
    _target("selectors", read_selector),
    _target("field paths", read_field_path),
    _target("patches", apply_patch),
)
