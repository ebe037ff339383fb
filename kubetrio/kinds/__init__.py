"""Kinds: one folder for each API group, with all that is said of its kinds; ``builtin`` makes them.

``kinds.py`` of a folder has a value for each kind (`common.builtinkind.BuiltinKind`), which names
what is in the modules beside it: ``validation``, ``defaults``, ``preparation``, ``printers``,
``selectors`` and ``conversion``, where there is something to say.  ``common`` is what kinds of
several groups are made of.
"""
