"""Flags of encryption at rest."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from kubetrio.config.flag import ConfigError, Rule, Section, error_of, flag, section
from kubetrio.config.kinds import BOOLEAN, FILE


def _reloads_a_file(chosen: Section) -> ConfigError | None:
    if getattr(chosen, "automatic_reload") and getattr(chosen, "provider_config") is None:  # noqa: B009
        why = "must be set with --encryption-provider-config"
        return error_of(type(chosen), ("automatic_reload",), why)
    return None


@section
class Encryption(Section):
    """How what is stored is encrypted; see the reference of flags."""

    TITLE: ClassVar[str] = "encryption"
    RULES: ClassVar[tuple[Rule, ...]] = (_reloads_a_file,)

    provider_config: Path | None = flag(
        "encryption-provider-config", FILE, None,
        "file that says which resources are encrypted where they are stored, and how",
        more="See [encrypt secrets](../how-to/encrypt-secrets.md).",
    )  # fmt: skip
    automatic_reload: bool = flag(
        "encryption-provider-config-automatic-reload", BOOLEAN, False,
        "read that file again when it changes",
    )  # fmt: skip
