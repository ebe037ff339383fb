"""What labels of a namespace ask of its pods."""

from __future__ import annotations

import pytest

from kubetrio.plugins.podsecurity.policy import UNLABELLED, Standard, policy_of

LEVEL = "must be one of privileged, baseline, restricted"
VERSION = 'must be "latest" or "v1.x"'


def labels(**values: str) -> dict[str, str]:
    return {f"pod-security.kubernetes.io/{k.replace('_', '-')}": v for k, v in values.items()}


@pytest.mark.parametrize(
    ("given", "enforce", "audit", "warn"),
    [
        (labels(), "privileged:latest", "privileged:latest", "privileged:latest"),
        (
            labels(enforce="baseline", audit="restricted", warn_version="v1.0"),
            "baseline:latest",
            "restricted:latest",
            "baseline:v1.0",
        ),
        (
            labels(enforce="baseline", warn="privileged"),
            "baseline:latest",
            "privileged:latest",
            "privileged:latest",
        ),
        (
            labels(enforce="restricted", enforce_version="v1.25", audit_version="latest"),
            "restricted:v1.25",
            "privileged:latest",
            "restricted:v1.25",
        ),
    ],
)
def test_labels_name_standards(given: dict[str, str], enforce: str, audit: str, warn: str) -> None:
    """By level and version, each with a default."""
    policy = policy_of(given)
    assert (str(policy.enforce), str(policy.audit), str(policy.warn)) == (enforce, audit, warn)
    assert policy.causes == ()


def test_other_labels_ask_for_nothing() -> None:
    """And cost nothing."""
    assert policy_of({"kubernetes.io/metadata.name": "ns"}) is UNLABELLED
    assert not UNLABELLED.concerns_pods


@pytest.mark.parametrize(
    ("given", "standard", "why"),
    [
        (labels(enforce="foo"), "restricted:latest", LEVEL),
        (labels(enforce=""), "restricted:latest", LEVEL),
        (labels(audit="Baseline"), "privileged:latest", LEVEL),
        (labels(warn="foo"), "privileged:latest", LEVEL),
        (labels(enforce_version="1.25"), "privileged:latest", VERSION),
        (labels(enforce_version="v1.025"), "privileged:latest", VERSION),
        (labels(audit_version="v2.0"), "privileged:latest", VERSION),
        (labels(warn_version="v1.99999999999999999999"), "privileged:latest", VERSION),
        (labels(warn_version="v1.٣"), "privileged:latest", VERSION),
    ],
)
def test_what_makes_no_sense(given: dict[str, str], standard: str, why: str) -> None:
    """Enforced as strictly as can be, audited and warned of not at all."""
    [(label, value)] = given.items()
    policy = policy_of(given)
    [cause] = policy.causes
    assert cause.field == f"metadata.labels[{label}]"
    assert cause.message == f'Invalid value: "{value}": {why}'
    mode = label.partition("/")[2].removesuffix("-version")
    assert str(getattr(policy, mode)) == standard
    assert policy.concerns_pods


def test_every_mistake_is_told() -> None:
    """In the order of the modes, the level before the version."""
    modes = ("enforce", "audit", "warn")
    given = labels(**dict.fromkeys(modes, "x"), **{f"{mode}_version": "y" for mode in modes})
    told = [cause.field.partition("/")[2] for cause in policy_of(given).causes]
    assert told == [f"{mode}{part}]" for mode in modes for part in ("", "-version")]


@pytest.mark.parametrize(
    ("new", "old", "stricter"),
    [
        (Standard("restricted"), Standard("restricted"), False),
        (Standard("restricted"), Standard("baseline"), True),
        (Standard("baseline"), Standard("privileged"), True),
        (Standard("baseline"), Standard("restricted"), False),
        (Standard("privileged", 20), Standard("baseline"), False),
        (Standard("baseline", 20), Standard("restricted"), True),
        (Standard("baseline", 20), Standard("baseline"), True),
    ],
)
def test_when_pods_have_to_be_looked_at_again(new: Standard, old: Standard, stricter: bool) -> None:
    """When the level rises, or rules of another version hold."""
    assert new.tightens(old) is stricter
