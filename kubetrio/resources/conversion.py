"""Conversion that waits: batches of objects between the stored version and the one asked for.

Most kinds are converted by a quick function while they are encoded, or not at all, and never come
here.  Objects of a kind whose conversion waits (`Kind.waiting`: a webhook, say) are brought to the
asked version in one asynchronous step between the store and everything else: selectors, printers
and encoders then see values that look like stored ones, in the version of the request.

Source of rules and words: the conversion webhooks of apiextensions-apiserver 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import trio

from kubetrio.gotext.text import aggregate, go_type
from kubetrio.machinery.names import GroupVersion, GroupVersionKind
from kubetrio.machinery.objectmeta import validate_annotations, validate_labels
from kubetrio.machinery.status import ApiError, Cause
from kubetrio.resources.objects import canonical, read
from kubetrio.schema.kind import Kind, WaitingConvert
from kubetrio.store.model import KeyValue
from kubetrio.wire import gojson
from kubetrio.wire.jsonwire import encode

Object = dict[str, Any]

MOMENT_BYTES = 64 * 1024
CONVERTED_METADATA: Mapping[str, Callable[[Mapping[str, str]], list[Cause]]] = {
    "labels": lambda texts: validate_labels(texts, "metadata.labels"),
    "annotations": lambda texts: validate_annotations(texts, "metadata.annotation"),
}
"""What of metadata a conversion may change, with the check of each."""
_SAME = (("name", "name"), ("namespace", "namespace"), ("uid", "UID"))


async def to_stored(kind: Kind, obj: Object) -> Object:
    """An object of a kind in the version that is stored.

    Args:
        kind: in the version of the object.
        obj: the object, its defaults filled in; it is not changed.

    Raises:
        ApiError: it cannot be converted.
        ValueError: the same, of a conversion that does not wait.
    """
    if kind.stored is kind or kind.converter is None:
        return kind.to_stored(obj)
    return (await converted([obj], kind.stored, kind.converter))[0]


async def from_stored(kind: Kind, objects: Sequence[Object]) -> Sequence[Object]:
    """Stored objects in the version of a kind.

    Args:
        kind: in the version asked for.
        objects: the objects; they are not changed.

    Raises:
        ApiError: one of them cannot be converted.
        ValueError: the same, of a conversion that does not wait.
    """
    if kind.waiting is None:
        return [kind.from_stored(obj) for obj in objects]
    return await converted(objects, kind, kind.waiting, every=kind.migrate_stored is not None)


async def between(obj: Object, kind: Kind, wanted: Kind) -> Object:
    """An object that is being written in another version of its family, for who looks at it there.

    Where versions differ by their schemas, nothing is taken out: it is not stored like that.

    Args:
        obj: the object, its defaults filled in; it is not changed.
        kind: in the version of the object.
        wanted: in the version asked for.

    Raises:
        ApiError: it cannot be converted.
        ValueError: the same, of a conversion that does not wait.
    """
    if kind is wanted:
        return obj
    if kind.renames and wanted.renames:
        return {**obj, "apiVersion": wanted.api_version}
    convert = kind.converter or wanted.converter
    if convert is None:
        return wanted.from_stored(kind.to_stored(obj))
    return (await converted([obj], wanted, convert, coerce=False))[0]


async def shown_values(kind: Kind, values: Sequence[bytes]) -> list[bytes]:
    """Stored bytes of a kind whose conversion waits, as if its version were the stored one.

    Args:
        kind: in the version asked for.
        values: stored objects.

    Raises:
        ApiError: one of them cannot be converted.
    """
    objects: list[Object] = []
    for some in _moments(values):
        objects += [read(kind.stored, value) for value in some]
        await trio.lowlevel.checkpoint()
    shown_objects = iter(await from_stored(kind, objects))
    written: list[bytes] = []
    for some in _moments(values):
        written += [_written(kind, obj) for obj in islice(shown_objects, len(some))]
        await trio.lowlevel.checkpoint()
    return written


async def shown(kind: Kind, items: Sequence[KeyValue]) -> list[KeyValue]:
    """Convert items that were read, keeping their keys and revisions."""
    values = await shown_values(kind, [item.value for item in items])
    return [item._replace(value=value) for item, value in zip(items, values, strict=True)]


def _moments(values: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """Values in pieces that are read or written in a moment; others have their turn between."""
    begin = size = 0
    for number, value in enumerate(values, 1):
        size += len(value)
        if size >= MOMENT_BYTES or number == len(values):
            yield values[begin:number]
            begin, size = number, 0


async def as_far_as_possible(
    kind: Kind, values: Sequence[Sequence[bytes]]
) -> tuple[list[list[bytes]], ApiError | None]:
    """Convert what events show: all of it in one step, if that can be.

    If not, what comes before the first event that cannot be converted is shown nevertheless, so
    that a client that begins again where it was gets as far as it can.

    Args:
        kind: in the version asked for.
        values: stored objects that each event shows, in the order of events.

    Returns:
        The values of the first events, and why there are no more if these are not all.
    """
    try:
        flat = iter(await shown_values(kind, [value for some in values for value in some]))
    except ApiError as error:
        if len(values) == 1:
            return [], _of_stream(error)
    else:
        return [list(islice(flat, len(some))) for some in values], None
    converted_values: list[list[bytes]] = []
    for some in values:
        try:
            converted_values.append(await shown_values(kind, some))
        except ApiError as error:
            return converted_values, _of_stream(error)
    return converted_values, None


def _of_stream(error: ApiError) -> ApiError:
    """What ends a watch always has a reason (kube-apiserver's watcher, unlike its reads)."""
    return ApiError(error.code, error.reason or "InternalError", error.message, error.details)


def _written(kind: Kind, obj: Object) -> bytes:
    return encode(canonical(obj, kind.kind, kind.api_version))


async def converted(
    objects: Sequence[Object],
    to: Kind,
    convert: WaitingConvert,
    *,
    every: bool = False,
    coerce: bool = True,
) -> Sequence[Object]:
    """Objects in a version of their family.

    Args:
        objects: the objects; they are not changed.
        to: the version asked for.
        convert: is called once, or not at all.
        every: whether objects that are in the version already are given to it too.
        coerce: whether what comes from another version is made to fit the schema.

    Raises:
        ApiError: what `convert` raises, and 500 for what cannot be an answer.
    """
    version = to.api_version
    others = [place for place, obj in enumerate(objects) if every or obj["apiVersion"] != version]
    if not others:
        return objects
    asked = [objects[place] for place in others]
    answer = await convert(asked, to)
    if len(answer) != len(asked):
        raise _failed(asked[0], f"returned {len(answer)} objects, expected {len(asked)}")
    results = list(objects)
    for place, original, made in zip(others, asked, answer, strict=True):
        one = _checked(original, made, to)
        results[place] = to.coerce(one) if coerce and original["apiVersion"] != version else one
    return results


def _identity(obj: Object) -> GroupVersionKind:
    try:
        version = GroupVersion.parse(_text(obj.get("apiVersion")))
    except ValueError:
        return GroupVersionKind("", "", "")
    return GroupVersionKind(*version, _text(obj.get("kind")))


def _text(value: Any) -> str:
    return value if type(value) is str else ""


def _failed(original: Object, why: str) -> ApiError:
    group, version, kind = _identity(original)
    what = f"conversion webhook for {group}/{version}, Kind={kind}"
    return ApiError(500, "", f"{what} {why}")


def _checked(original: Object, made: Any, to: Kind) -> Object:
    """A converted object: with the identity asked for, and with the metadata it had.

    Raises:
        ApiError: it is another object, or none.
    """
    group, version, kind = _read_identity(made)
    if (group, version) != to.group_version:
        why = (
            f"invalid groupVersion (expected {to.api_version}, "
            f"received {_text(made.get('apiVersion'))})"
        )
        raise _failed(original, f"returned invalid object at index 0: {why}")
    if kind != original["kind"]:
        why = f"invalid kind (expected {original['kind']}, received {kind})"
        raise _failed(original, f"returned invalid object at index 0: {why}")
    before, after = original.get("metadata") or {}, made.get("metadata")
    members = after if type(after) is dict else {}
    for name, said in _SAME:
        expected, got = before.get(name) or "", _text(members.get(name))
        if expected != got:
            why = f"must have the same {said}: {expected} != {got}"
            raise _failed(original, f"returned invalid object: {why}")
    try:
        return {**made, "metadata": _restored(before, made)}
    except ValueError as error:
        raise _failed(original, f"returned invalid metadata: {error}") from None


def _read_identity(made: Any) -> GroupVersionKind:
    """The identity of what a conversion made.

    Raises:
        ApiError: it is no object, or one without a kind.
    """
    if made is None:
        raise ApiError(500, "", "unexpected end of JSON input")
    if type(made) is not dict:
        word = gojson.type_word(made)
        raise ApiError(
            500,
            "",
            f"json: cannot unmarshal {word} into Go value of type map[string]interface {{}}",
        )
    identity = _identity(made)
    if not identity.kind:
        raise ApiError(500, "", f"Object 'Kind' is missing in '{encode(made).decode()}'")
    return identity


def _restored(before: Object, made: Object) -> Object:
    """Metadata as they were, but for labels and annotations.

    Raises:
        ValueError: these are none.
    """
    if "metadata" not in made:
        raise ValueError("missing metadata in converted object")
    after = made["metadata"]
    if type(after) is not dict:
        raise ValueError(f"invalid metadata of type {go_type(after)} in converted object")
    kept = {name: value for name, value in before.items() if name not in CONVERTED_METADATA}
    for name, check in CONVERTED_METADATA.items():
        texts = after.get(name)
        if texts is None:
            continue
        if type(texts) is not dict:
            raise ValueError(
                f"invalid metadata.{name} of type {go_type(texts)} in converted object"
            )
        for key in sorted(texts):
            if type(texts[key]) is not str:
                raise ValueError(
                    f"metadata.{name}[{key}] must be a string, but is {go_type(texts[key])} in "
                    "converted object"
                )
        if texts != (before.get(name) or {}) and (causes := check(texts)):
            raise ValueError(aggregate(map(str, causes)))
        if texts:
            kept[name] = texts
    return kept
