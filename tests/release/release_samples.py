"""A small bundle with the files that a release reads."""

import json

from release.bundle import INVENTORY, LICENCES, Bundle, Member

PARTS = [
    {"name": "kubetrio", "kind": "pypi", "version": "0.1.0", "licences": ["Apache-2.0"],
     "requires": ["apsw"], "files": []},
    {"name": "apsw", "kind": "pypi", "version": "3.54", "licences": ["any-OSI"],
     "requires": [], "files": []},
    {"name": "zlib1g", "kind": "deb", "version": "1:1.2", "licences": ["Zlib", "other words"],
     "requires": [], "files": ["libz.so.1"]},
]  # fmt: skip


def bundle() -> Bundle:
    """The bundle."""
    texts = {INVENTORY: json.dumps(PARTS), LICENCES: "licences"}
    members = [
        Member(path=path, content=text.encode(), executable=False, link=False)
        for path, text in texts.items()
    ]
    library = Member(path="_internal/a.so", content=b"library", executable=True, link=False)
    program = Member(path="kubetrio", content=b"#!/bin/sh\n", executable=True, link=False)
    link = Member(path="_internal/b.so", content=b"a.so", executable=True, link=True)
    return Bundle((library, link, *members, program))
