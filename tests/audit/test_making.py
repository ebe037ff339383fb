"""What the files of the audit log say, checked before the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubetrio.audit.making import AuditError, load_audit
from kubetrio.config.audit import Audit


def test_a_kubeconfig_that_is_none_stops_the_start(tmp_path: Path) -> None:
    """With one line that says so."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
    config = Audit(policy_file=policy, webhook_config_file=tmp_path / "none")
    with pytest.raises(AuditError, match=r"^initializing audit webhook: "):
        load_audit(config)


def test_a_policy_that_is_none_stops_the_start(tmp_path: Path) -> None:
    """With one line that says so."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\n")
    with pytest.raises(AuditError) as refused:
        load_audit(Audit(policy_file=policy))
    assert str(refused.value) == (
        f"loading audit policy file: loaded illegal policy with 0 rules: from file {policy}"
    )
