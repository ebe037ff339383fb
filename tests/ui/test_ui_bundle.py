"""Modules become one."""

from __future__ import annotations

import pytest

from kubetrio.ui.bundle import BundleError, bundled

MAIN = """\
import * as api from "./api.js";
import { h, swap } from "./dom.js";

export function start() { h(api.get()); }
"""
DOM = "export function h() {}\nexport async function swap() {}\nconst own = 1;\n"
API = 'import { h } from "./dom.js";\nexport class Refused {}\nexport const KEY = h;\n'


def test_each_comes_once_before_what_needs_it() -> None:
    """As a function that returns what it exports; what is its own stays inside."""
    text = bundled({"main": MAIN, "dom": DOM, "api": API, "unused": "x"}, "main")
    assert text == (
        "const $dom = (() => {\n"
        "function h() {}\nasync function swap() {}\nconst own = 1;\n"
        "return { h, swap };\n})();\n"
        "const $api = (() => {\n"
        "const { h } = $dom;\nclass Refused {}\nconst KEY = h;\n"
        "return { Refused, KEY };\n})();\n"
        "const $main = (() => {\n"
        "const api = $api;\nconst { h, swap } = $dom;\n\nfunction start() { h(api.get()); }\n"
        "return { start };\n})();\n"
        "$main.start();\n"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("export let changing = 1;\n", "main: export let"),
        ("export default 1;\n", "main: export default"),
        ("import main from './dom.js';\n", "main: import main"),
        ('import { h } from "./api.js";\n', "main imports api imports main"),
    ],
)
def test_what_is_written_otherwise_is_told(text: str, said: str) -> None:
    """And no broken script is served."""
    api = 'import { start } from "./main.js";\n'
    with pytest.raises(BundleError, match=said):
        bundled({"main": text, "dom": DOM, "api": api}, "main")
