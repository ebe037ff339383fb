"""Faults on demand: what goes wrong, for which requests, and how often."""

from kubetrio.faults.injector import Injector
from kubetrio.faults.rule import Rule, RuleError, Subject

__all__ = ["Injector", "Rule", "RuleError", "Subject"]
