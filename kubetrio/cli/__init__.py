"""The command line: arguments to a configuration, a configuration to an exit code."""

from kubetrio.cli.commands import main, parser

__all__ = ["main", "parser"]
