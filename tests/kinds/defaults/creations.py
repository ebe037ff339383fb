"""Objects as a kube-apiserver stored them, and how they are compared with the defaults."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

from kubetrio.allocation.families import complete_families
from kubetrio.kinds.builtin import registry
from kubetrio.kinds.common.defaulters import ordered
from kubetrio.machinery.identity import UserInfo
from kubetrio.schema.kind import Kind
from kubetrio.schema.rules import Context
from kubetrio.schema.structural import Report, compile_type

Json = dict[str, Any]

SAMPLES: dict[str, Json] = json.loads(Path(__file__).with_name("samples.json").read_text())
CONTEXT = Context(
    now="<now>",
    uid="<uid>",
    user=UserInfo("admin", "admin-uid", ("system:masters", "system:authenticated")),
)


def labels(group: str, *plurals: str) -> list[str]:
    """Recorded creations of a group's kinds; of some kinds, or of all."""
    return [
        label
        for label, sample in SAMPLES.items()
        if resource_of(sample).group == group
        and (not plurals or resource_of(sample).resource in plurals)
    ]


def resource_of(sample: Json) -> Kind:
    parts = sample["path"].strip("/").split("/")
    group, version = ("", parts[1]) if parts[0] == "api" else (parts[1], parts[2])
    found = registry().get(group, version, parts[-1])
    assert found is not None
    return found


def decoded(resource: Kind, raw: Json) -> Json:
    raw = deepcopy(raw)
    if resource.kind == "CertificateSigningRequest":
        raw["spec"]["request"] = "UEtDUzEw"
    report = Report()
    obj = compile_type(resource.schema_name).decode(raw, report)
    assert not report
    meta = obj["metadata"]
    if "generateName" in meta:
        obj["metadata"] = {"name": meta["generateName"] + "<5 random>", **meta}
    return obj


def created(resource: Kind, raw: Json) -> Json:
    obj = decoded(resource, raw)
    resource.rules.default(obj)
    resource.rules.prepare_create(obj, CONTEXT)
    if resource.kind == "Service":
        assert not complete_families(obj["spec"], None, ("IPv4",))
        obj["spec"] = ordered("io.k8s.api.core.v1.ServiceSpec", obj["spec"])
    resource.rules.default(obj)
    return obj


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """JSON pointers of scalars and of empty containers."""
    if isinstance(value, dict) and value:
        items = [(key.replace("~", "~0").replace("/", "~1"), item) for key, item in value.items()]
    elif isinstance(value, list) and value:
        items = [(str(index), item) for index, item in enumerate(value)]
    else:
        return {path: value}
    return {p: leaf for key, item in items for p, leaf in leaves(item, f"{path}/{key}").items()}


def expected_leaves(sample: Json) -> dict[str, Any]:
    wanted = leaves(sample["input"])
    for pointer in sample["removed"]:
        wanted = {p: v for p, v in wanted.items() if not f"{p}/".startswith(f"{pointer}/")}
    for pointer, value in {**sample["changed"], **sample["added"]}.items():
        wanted.update(leaves(value, pointer))
    parents = {p.rpartition("/")[0] for p in wanted}
    parents |= {above for p in wanted for above in _prefixes(p)}
    return {p: v for p, v in wanted.items() if p not in parents}


def _prefixes(pointer: str) -> list[str]:
    parts = pointer.split("/")
    return ["/".join(parts[:length]) for length in range(1, len(parts))]


def assert_created(label: str) -> None:
    """Decoded, defaulted, prepared and defaulted as it is read: exactly the recorded fields."""
    sample = SAMPLES[label]
    members = leaves(created(resource_of(sample), sample["input"]))
    wanted = expected_leaves(sample)
    if resource_of(sample).kind == "CertificateSigningRequest":
        wanted["/spec/request"] = "UEtDUzEw"
    if resource_of(sample).group in ("authorization.k8s.io", "authentication.k8s.io"):
        outer = ("/status", "/metadata")
        members = {p: v for p, v in members.items() if not p.startswith(outer)}
    assert members == wanted


def assert_stable(label: str) -> None:
    """Defaults are a fixed point, after decoding and when stored, in the order of Go's struct."""
    sample = SAMPLES[label]
    resource = resource_of(sample)
    once = decoded(resource, sample["input"])
    resource.rules.default(once)
    stored = created(resource, sample["input"])
    for obj in (once, stored):
        again = deepcopy(obj)
        resource.rules.default(again)
        assert json.dumps(again) == json.dumps(obj)
    again = compile_type(resource.schema_name).decode(once, Report())
    assert json.dumps(again) == json.dumps(once)
