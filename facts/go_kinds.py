"""What kube-apiserver's Go code says of kinds and a running server does not.

``strategies``: what updates each kind allows; ``registered``: kinds that the server can decode,
also in versions that it does not serve, with the Go type they are converted to.
"""

from __future__ import annotations

import re
from pathlib import Path

REGISTRIES = (
    "pkg/registry",
    "staging/src/k8s.io/apiextensions-apiserver/pkg/registry",
    "staging/src/k8s.io/kube-aggregator/pkg/registry",
)
FACTS = {
    "AllowCreateOnUpdate": "createOnUpdate",
    "AllowUnconditionalUpdate": "unconditionalUpdate",
}
ANSWER = re.compile(
    r"func \((?:\w+ )?\*?(\w+)\) (AllowCreateOnUpdate|AllowUnconditionalUpdate)\(\) bool \{"
    r"[^}]*?return (true|false)"
)
EXACT = re.compile(r"reflect\.DeepEqual\(old\w+\.\w+, new\w+\.\w+\) \{\s+new\w+\.Generation")
"""Counts changes in a way that tells an empty list from none."""
FOLDERS = {"certificates": "certificatesigningrequest", "endpoint": "endpoints"}
"""Folders that do not have the name of their kind."""


def strategies(source: Path) -> dict[str, dict[str, bool]]:
    """What the strategy of each kind says, by the kind's name in lower case.

    Raises:
        ValueError: two strategies of a folder contradict each other.
    """
    found: dict[str, dict[str, bool]] = {}
    for registry in REGISTRIES:
        for path in sorted((source / registry).rglob("strategy.go")):
            folder = path.parent.name
            facts = found.setdefault(FOLDERS.get(folder, folder), {})
            text = path.read_text()
            if EXACT.search(text):
                facts["exactGeneration"] = True
            for name, method, value in ANSWER.findall(text):
                if name.lower().endswith("statusstrategy"):
                    continue  # said of the subresource
                if facts.setdefault(FACTS[method], value == "true") != (value == "true"):
                    raise ValueError(f"{path}: {method} is both true and false")
    return {kind: facts for kind, facts in sorted(found.items()) if facts}


INSTALLED = re.compile(r"\b(\w+)\.AddToScheme\(scheme\)")
IMPORT = re.compile(r'^\s+(?:(\w+) )?"k8s\.io/[\w-]+/(pkg/apis/\w+(?:/\w+)?)"$', re.MULTILINE)
GROUP = re.compile(r'GroupName\s*=\s*"([^"]*)"')
KNOWN = re.compile(r"^\s+&(?:(\w+)\.)?(\w+)\{\},?\)?$", re.MULTILINE)
SERVERS = (
    ("pkg/apis", "staging/src/k8s.io/api"),
    *(
        (f"staging/src/k8s.io/{server}/pkg/apis", f"staging/src/k8s.io/{server}/pkg/apis")
        for server in ("apiextensions-apiserver", "kube-aggregator")
    ),
)
"""Where the internal and the versioned types of each of the three servers are."""
META = frozenset({"metav1", "v1", "meta"})
INTERNAL = "__internal"


def _known(path: Path, own: str) -> tuple[str, dict[str, str]]:
    """Group of a ``register.go``, and its kinds with the Go type of each."""
    text = path.read_text()
    group = GROUP.search(text)
    if group is None:
        raise ValueError(f"{path}: no group name")
    kinds = {
        kind: f"{package or own}.{kind}"
        for package, kind in KNOWN.findall(text)
        if package not in META
    }
    return group[1], kinds


def registered(source: Path) -> dict[str, str]:
    """Internal Go type of every registered kind, by ``group/version/Kind``."""
    found: dict[str, str] = {}
    for internals, apis in SERVERS:
        for install in sorted((source / internals).glob("*/install/install.go")):
            found |= _installed(install, source / apis)
    return dict(sorted(found.items()))


def _installed(install: Path, apis: Path) -> dict[str, str]:
    """What one group registers."""
    text, name = install.read_text(), install.parent.parent.name
    packages = {alias or path.rpartition("/")[2]: path for alias, path in IMPORT.findall(text)}
    group, internal = _known(install.parent.parent / "register.go", name)
    found = {f"{group}/{INTERNAL}/{kind}": go for kind, go in internal.items()}
    for package in INSTALLED.findall(text):
        version = packages[package].rpartition("/")[2]
        if version == name:
            continue  # the internal types themselves
        _, kinds = _known(apis / name / version / "register.go", version)
        found |= {f"{group}/{version}/{kind}": internal[kind] for kind in kinds if kind in internal}
    return found
