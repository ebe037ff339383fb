"""Kinds: one folder for each API group, with all that is said of its kinds; ``builtin`` makes them.

A folder has ``rules`` (what writes do: a row for each kind), ``validation``, ``defaults``,
``preparation``, ``printers``, ``selectors`` and ``conversion``, where there is something to say.
``common`` is what kinds of several groups are made of.
"""
