"""Tells PyInstaller how the package is bundled; nothing here runs in a server.

Source: PyInstaller manual, "Providing PyInstaller Hooks with your Package".
"""

from __future__ import annotations

from pathlib import Path


def get_hook_dirs() -> list[str]:
    """Folders with hooks, for the entry point ``pyinstaller40``."""
    return [str(Path(__file__).parent)]
