"""The documentation says what the code has: names are there, lists agree, links lead somewhere."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

from kubetrio.api.stages import STAGES
from kubetrio.schema import builtin
from kubetrio.testing.server import open_api

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
BESIDE = ("README.md", "CHANGELOG.md", "SECURITY.md", "benchmarks/README.md", "schemas/README.md")
LINKED = [*PAGES, *(ROOT / name for name in BESIDE)]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
CODE_ANY = re.compile(r"`([\w*]+)`")


def page(name: str) -> str:
    return (DOCS / name).read_text()


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def table_rows(text: str) -> Iterator[list[str]]:
    """Cells of the rows of all tables of a page, without heads and rulers."""
    previous = ""
    for line in text.splitlines():
        if line.startswith("|") and previous.startswith("|") and not line.startswith("| ---"):
            yield [cell.strip() for cell in line.strip("|").split("|")]
        previous = line


def status_reasons(source: str) -> set[tuple[int, str]]:
    """Codes and reasons of the `ApiError(code, reason, ...)` calls of a module."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        match node.func.id, node.args:
            case "ApiError", [ast.Constant(value=int(code)), ast.Constant(value=str(reason)), *_]:
                found.add((code, reason))
    return found


# ---------------------------------------------------------------- reference


async def test_every_metric_is_described_and_none_is_invented() -> None:
    """The pages' first columns against what a server exports."""
    exported = set()
    async with open_api(kept=True) as server, server.connect() as client:
        for path in ("/metrics", "/metrics/slis"):
            answer = await client.request("GET", path)
            exported |= set(re.findall(r"^# TYPE (\w+) ", answer.body.decode(), re.MULTILINE))
    text = page("reference/metrics.md")
    assert exported <= set(CODE.findall(text))
    rows = {name for cells in table_rows(text) for name in CODE.findall(cells[0])}
    assert rows <= exported


SHOWN_TYPES = {"timingratiohistogram": "histogram", "custom": "gauge"}
"""What Kubernetes' own types of metrics are in the text format."""


async def test_what_kube_apiserver_exports_is_exported_or_said_why_not() -> None:
    """Each family of a server that was used, with its type; patterns name the others."""
    exported: dict[str, str] = {}
    async with open_api(kept=True) as server, server.connect() as client:
        for path in ("/metrics", "/metrics/slis"):
            text = (await client.request("GET", path)).body.decode()
            exported |= dict(re.findall(r"^# TYPE (\w+) (\w+)", text, re.MULTILINE))
    besides = page("reference/metrics.md").partition("## What kube-apiserver has besides")[2]
    named = [name for line in besides.splitlines() for name in CODE_ANY.findall(line)]
    for name, fact in builtin.load("metrics").items():
        if name in exported:
            assert exported[name] == SHOWN_TYPES.get(fact["type"], fact["type"]), name
        elif fact["observed"]:
            assert any(fnmatch(name, pattern) for pattern in named), name


def test_every_reason_of_a_status_is_explained() -> None:
    """Each has a row with its code; none is explained that the code does not give."""
    cells_of = table_rows(page("reference/errors.md"))
    rows = {(int(cells[1]), cells[0].strip("`")) for cells in cells_of}
    modules = (ROOT / "kubetrio").rglob("*.py")
    raised = {pair for module in modules for pair in status_reasons(module.read_text())}
    assert rows == {(code, reason) for code, reason in raised if reason}


# ---------------------------------------------------------------- design


def test_the_stages_written_are_the_stages_walked() -> None:
    """The numbered list of the design page is the pipeline's tuple, in its order."""
    section = page("design/index.md").partition("## The pipeline")[2].partition("\n## ")[0]
    written = re.findall(r"^\d+\. `(\w+)`", section, re.MULTILINE)
    assert written == [row.name for row in STAGES]


def test_the_rooms_drawn_are_the_layers_checked() -> None:
    """In the order of import-linter's contract, from the top down."""
    section = page("design/index.md").partition("## The rooms")[2].partition("\n## ")[0]
    drawn = [
        re.split(r" {2,}", line)[0] for line in FENCE.findall(section)[0][1].strip().splitlines()
    ]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    assert drawn == next(one["layers"] for one in contracts if one["type"] == "layers")


@pytest.mark.parametrize("path", PAGES, ids=shown)
def test_modules_named_exist(path: Path) -> None:
    """`room/file.py` in a page is a file of the package, or of the repository."""
    bases = (ROOT, ROOT / "kubetrio", ROOT / "kubetrio" / "resources", ROOT / "tests")
    for name in CODE.findall(FENCE.sub("", path.read_text())):
        if re.fullmatch(r"[a-z_0-9]+(/[a-z_0-9]+)+\.py", name):
            assert any((base / name).is_file() for base in bases), name


# ---------------------------------------------------------------- pages


def anchors(text: str) -> set[str]:
    """What headings can be linked by, as the common renderers make it."""
    found = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        plain = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
        found.add(plain.replace(" ", "-"))
    return found


@pytest.mark.parametrize("path", LINKED, ids=shown)
def test_links_lead_somewhere(path: Path) -> None:
    """Files exist, and headings where one is named."""
    for target in LINK.findall(FENCE.sub("", path.read_text())):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        found = (path.parent / file).resolve() if file else path
        assert found.exists(), target
        assert not anchor or anchor in anchors(found.read_text()), target


def test_every_page_can_be_reached() -> None:
    """From the map, by links."""
    seen: set[Path] = set()
    waiting = [DOCS / "index.md"]
    while waiting:
        path = waiting.pop()
        if path in seen or path.suffix != ".md":
            continue
        seen.add(path)
        for target in LINK.findall(FENCE.sub("", path.read_text())):
            file = target.partition("#")[0]
            if file and "://" not in target:
                waiting.append((path.parent / file).resolve())
    fragments = DOCS / "newsfragments"
    assert {p for p in PAGES if p.parent != fragments} <= seen


@pytest.mark.parametrize("path", LINKED, ids=shown)
def test_python_examples_compile(path: Path) -> None:
    """Fenced `python` blocks are programs."""
    for language, source in FENCE.findall(path.read_text()):
        if language == "python":
            compile(source, shown(path), "exec")
