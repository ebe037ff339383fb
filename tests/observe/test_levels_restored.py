"""Loggers are for the next test what they were for this one, as `tests/conftest.py` has it."""

import io
import logging

from kubetrio.observe.logs import LOGGER, Format, TextFormatter, setup

BEFORE = logging.getLogger(LOGGER).level, logging.root.level, logging.root.handlers[:]


def test_a_test_changes_levels() -> None:
    """As a command does that runs in the process of the tests."""
    setup(Format.TEXT, 3, io.StringIO())
    logging.getLogger(f"{LOGGER}.made.here").setLevel(1)
    assert logging.getLogger(LOGGER).level == logging.INFO - 3


def test_the_next_test_does_not_see_it() -> None:
    """Nor its handler."""
    ours = [one for one in logging.root.handlers if isinstance(one.formatter, TextFormatter)]
    assert (logging.getLogger(LOGGER).level, logging.root.level, ours) == (*BEFORE[:2], [])
    assert logging.getLogger(f"{LOGGER}.made.here").level == logging.NOTSET
