"""Classes of characters that have names in Go's patterns, as RE2 knows them.

Names of Unicode classes are compared without case, spaces, hyphens and underscores.  Scripts of two
words, such as ``Old_Italic``, have no name that Go finds.  Characters that were assigned after
Unicode 15.0 are as RE2 knows them.

Source: regexp/syntax (``unicodeTable``, ``posixGroup``) and unicode (``Categories``, ``Scripts``,
``CategoryAliases``) of Go 1.26.
"""

from __future__ import annotations

from functools import cache, lru_cache

from kubetrio.gotext.regexp.bindings import size_of

POSIX = frozenset(
    f"[:{sign}{name}:]"
    for sign in ("", "^")
    for name in (
        "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
        "space", "upper", "word", "xdigit",
    )
)  # fmt: skip
"""Classes within brackets."""

_CATEGORIES = (
    "C Cc Cf Cn Co Cs L LC Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps "
    "S Sc Sk Sm So Z Zl Zp Zs"
)
_SCRIPTS = """
    Adlam Ahom Arabic Armenian Avestan Balinese Bamum Batak Bengali Bhaiksuki Bopomofo Brahmi
    Braille Buginese Buhid Carian Chakma Cham Cherokee Chorasmian Common Coptic Cuneiform Cypriot
    Cyrillic Deseret Devanagari Dogra Duployan Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic
    Grantha Greek Gujarati Gurmukhi Han Hangul Hanunoo Hatran Hebrew Hiragana Inherited Javanese
    Kaithi Kannada Katakana Kawi Kharoshthi Khmer Khojki Khudawadi Lao Latin Lepcha Limbu Lisu
    Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen Medefaidrin Miao Modi
    Mongolian Mro Multani Myanmar Nabataean Nandinagari Newa Nko Nushu Ogham Oriya Osage Osmanya
    Palmyrene Phoenician Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham Sinhala Sogdian
    Soyombo Sundanese Syriac Tagalog Tagbanwa Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan
    Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Yezidi Yi
"""
_ALIASES = """
    Casedletter=LC Closepunctuation=Pe Combiningmark=M Connectorpunctuation=Pc Control=Cc Cntrl=Cc
    Currencysymbol=Sc Dashpunctuation=Pd Decimalnumber=Nd Digit=Nd Enclosingmark=Me
    Finalpunctuation=Pf Format=Cf Initialpunctuation=Pi Letter=L Letternumber=Nl Lineseparator=Zl
    Lowercaseletter=Ll Mark=M Mathsymbol=Sm Modifierletter=Lm Modifiersymbol=Sk Nonspacingmark=Mn
    Number=N Openpunctuation=Ps Other=C Otherletter=Lo Othernumber=No Otherpunctuation=Po
    Othersymbol=So Paragraphseparator=Zp Privateuse=Co Punct=P Punctuation=P Separator=Z
    Spaceseparator=Zs Spacingmark=Mc Surrogate=Cs Symbol=S Titlecaseletter=Lt Unassigned=Cn
    Uppercaseletter=Lu
"""
_LETTERLIKE = r"\p{L}\p{M}\p{N}\p{P}\p{S}\p{Z}"  # all but controls and what is like them
_ASSIGNED = _LETTERLIKE + r"\p{C}"  # RE2's C has no unassigned characters, Go's has
_UNASSIGNED = "{unassigned}"
_ASCII = r"\x00-\x7F"
_BEYOND = r"\x{80}-\x{10FFFF}"
_BEYOND_FOLDED = r"\x{80}-\x{17E}\x{180}-\x{2129}\x{212B}-\x{10FFFF}"  # two fold to k and s
_OWN: dict[str, tuple[str, str]] = {
    "C": (r"\p{C}" + _UNASSIGNED, _LETTERLIKE),
    "Cn": (_UNASSIGNED, _ASSIGNED),
    "Assigned": (_ASSIGNED, _UNASSIGNED),
    "LC": (r"\p{Lu}\p{Ll}\p{Lt}", r"\p{Lm}\p{Lo}\p{M}\p{N}\p{P}\p{S}\p{Z}\p{C}" + _UNASSIGNED),
    "ASCII": (_ASCII, _BEYOND),
}
"""What RE2 does not know, or as something else: the class, and all other characters."""


def _canonical(name: str) -> str:
    return "".join(char for char in name if char not in "_- ").capitalize()


@cache
def _names() -> dict[str, str]:
    """Names as Go compares them, and RE2's."""
    aliases = dict(pair.split("=") for pair in _ALIASES.split())
    # Go finds categories by their names as they are, which is in two cases for LC alone.
    plain = {name: name for name in (*_CATEGORIES.split(), *_SCRIPTS.split(), "Any", "Assigned")}
    del plain["LC"]
    return {**aliases, **plain, "Lc": "LC", "Ascii": "ASCII"}


@cache
def _unassigned() -> str:
    """Characters without a meaning, as RE2 reads them within brackets."""
    from kubetrio.gotext.regexp.unassigned import UNASSIGNED

    ranges = (ends.split("-") for ends in UNASSIGNED.split())
    return "".join("-".join(f"\\x{{{end}}}" for end in ends) for ends in ranges)


def unicode_class(name: str, *, negative: bool, folds: bool) -> str | None:
    """A class of Unicode as RE2 reads it within brackets, None where Go knows none.

    Args:
        name: its name.
        negative: whether all other characters are meant.
        folds: whether cases are the same.
    """
    # capitalize() changes letters beyond ASCII too, of which no name has any
    found = _names().get(_canonical(name)) if name.isascii() else None
    if found is None:
        return None
    if found == "ASCII" and negative and folds:
        return _BEYOND_FOLDED
    if found not in _OWN:
        return f"\\{'P' if negative else 'p'}{{{found}}}"
    text = _OWN[found][negative]
    return text.replace(_UNASSIGNED, _unassigned()) if _UNASSIGNED in text else text


@lru_cache(maxsize=256)
def instructions_of(text: str) -> int:
    """How many instructions RE2 makes of a class of Unicode.

    Args:
        text: the class, as RE2 reads it; it has names of classes in it, and no other characters.
    """
    return size_of(text)
