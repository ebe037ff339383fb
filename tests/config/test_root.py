"""The configuration: what each field may be."""

from __future__ import annotations

import dataclasses
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

from kubetrio.config import (
    Authentication,
    Config,
    ConfigError,
    FlowControl,
    Kubelet,
    ServiceAccounts,
    Services,
    Serving,
    Storage,
)
from kubetrio.config.authenticators import Authenticators
from kubetrio.config.flag import FlagRow, rows

DATA = Path("data")
ROWS = {row.path: row for row in rows(Config)}

WRONG: dict[str, list[Any]] = {
    "data_dir": ["data", None],
    "storage.in_memory": ["false", 0],
    "storage.backend": [None, 1],
    "storage.etcd_servers": ["http://a", ["http://a"], (1,)],
    "storage.etcd_prefix": [None, 1],
    "storage.etcd_cafile": ["ca", 1],
    "storage.etcd_certfile": ["c", 1],
    "storage.etcd_keyfile": ["k", 1],
    "storage.media_type": ["application/yaml", None],
    "storage.lease_reuse_s": [-1, "1"],
    "storage.size_interval_s": [-1, "30s"],
    "storage.count_interval_s": [-1, None],
    "storage.durability": ["Full", "", None],
    "storage.accept_data_loss": ["false", 0],
    "storage.journal_bytes": [-1, "1Mi", 4096],
    "storage.quota_backend_bytes": [-1, 1.5, None],
    "storage.history_window_s": [-1.0, "5m", nan, inf, True],
    "storage.compact_interval_s": [-1, None],
    "storage.event_ttl_s": [-1, None],
    "storage.lease_renew_s": [-1, "10s"],
    "storage.held_back_s": [-1, None],
    "storage.healthcheck_timeout_s": [0, "2s"],
    "storage.readycheck_timeout_s": [-1, None],
    "memory.cache_bytes": [-1, "8Mi"],
    "memory.limit_bytes": [-1, True],
    "encryption.provider_config": ["e.yaml"],
    "encryption.automatic_reload": ["true", 1, True],
    "serving.bind_address": ["[::1]", "127.0.0.1:6443", "a b", None],
    "serving.secure_port": [-1, 65536, "6443", True, 1.0],
    "serving.advertise_address": ["https://x", "300.1.1.1", None],
    "serving.endpoint_reconciler": ["master-count", "", None],
    "serving.cert_dir": ["pki"],
    "serving.tls_cert_file": ["tls.crt"],
    "serving.tls_private_key_file": ["tls.key"],
    "serving.extra_hosts": ["a", ("ü",), ("a", "b:1")],
    "serving.tls_min_version": ["1.3", "", None],
    "serving.tls_cipher_suites": [
        "TLS_AES_128_GCM_SHA256", ("AES128-SHA",), ("",), ("TLS_RSA_WITH_AES_128_CBC_SHA",),
    ],
    "serving.tls_curve_preferences": [(0,), (65536,), (23, 23), (1,), [23], ("23",), (True,)],
    "serving.tls_sni_cert_key": [("a,b",), "a,b"],
    "serving.disable_http2": ["false", 0],
    "serving.http2_max_streams": [-1, "100"],
    "serving.hsts_directives": [("",), ("max-age",), ("preload", "x=1"), "preload", ("a\n",)],
    "serving.permit_port_sharing": ["false", 0],
    "serving.max_connections": [-1, "9"],
    "serving.max_connections_per_address": [-1],
    "serving.max_unauthenticated_connections": [None],
    "serving.shutdown_delay_s": [-1],
    "serving.shutdown_grace_s": [-1, None],
    "local.secure_serving": ["false", 0],
    "local.unix_socket": ["api.sock", Path("x" * 108)],
    "local.unix_socket_mode": ["0600", -1, 0o1777, True],
    "local.plain_port": [-1, 65536, "8080", True],
    "auth.client_ca_file": ["ca.crt"],
    "auth.token_auth_file": ["tokens.csv"],
    "auth.service_account_issuers": [(), ("",), ("https://a b",), ("a", "a"), "a"],
    "auth.api_audiences": ["a", ("",), ("a,b",)],
    "auth.anonymous_auth": ["false", 0],
    "service_accounts.key_files": ["sa.pub", ("sa.pub",)],
    "service_accounts.signing_key_file": ["sa.key"],
    "service_accounts.lookup": ["true"],
    "service_accounts.max_expiration_s": [-1, 3599, (1 << 32) + 1, nan, "1h"],
    "service_accounts.extend_expiration": [1],
    "service_accounts.jwks_uri": ["http://a", "a", None],
    "service_accounts.bootstrap_tokens": ["false"],
    "authorization.modes": ["RBAC", ["RBAC"]],
    "authorization.config_file": ["a.yaml"],
    "authorization.policy_file": ["a.jsonl"],
    "authorization.webhook_config_file": ["k"],
    "authorization.webhook_version": [1, None],
    "authorization.webhook_authorized_ttl_s": [-1.0, "1m"],
    "authorization.webhook_unauthorized_ttl_s": [-1.0, None],
    "authenticators.authentication_config": ["a.yaml"],
    "authenticators.oidc_issuer_url": [5, "a\n"],
    "authenticators.oidc_client_id": [5],
    "authenticators.oidc_ca_file": ["ca.crt"],
    "authenticators.oidc_username_claim": [None],
    "authenticators.oidc_username_prefix": [None],
    "authenticators.oidc_groups_claim": [None],
    "authenticators.oidc_groups_prefix": [None],
    "authenticators.oidc_signing_algs": [("none",), ("HS256",), "RS256"],
    "authenticators.oidc_required_claim": [("a",), "a=b"],
    "authenticators.token_webhook_config_file": ["hook"],
    "authenticators.token_webhook_version": [1],
    "authenticators.token_webhook_cache_ttl_s": [-1, "2m"],
    "authenticators.requestheader_client_ca_file": ["ca.crt"],
    "authenticators.requestheader_allowed_names": ["front", ("",)],
    "authenticators.requestheader_username_headers": ["X-Remote-User", (" ",)],
    "authenticators.requestheader_uid_headers": [("X-Uid",), "X-Remote-Uid"],
    "authenticators.requestheader_group_headers": [("",)],
    "authenticators.requestheader_extra_headers_prefix": [("",)],
    "admission.allow_privileged": ["false", 0, None],
    "admission.enable_plugins": ["PodSecurity", (1,), None],
    "admission.disable_plugins": ["PodSecurity", (1,), None],
    "admission.only_plugins": ["PodSecurity", (1,), None],
    "admission.plugin_config_file": ["a.yaml", 1],
    "admission.not_ready_toleration_s": ["1", 1.5, 2**63, None],
    "admission.unreachable_toleration_s": ["1", 1.5, -(2**63) - 1, None],
    "audit.policy_file": ["x", 1],
    "audit.log_path": [None, 1],
    "audit.log_format": [None, 1],
    "audit.log_maxage": ["1", None],
    "audit.log_maxbackup": ["1", None],
    "audit.log_maxsize": ["1", None],
    "audit.log_compress": ["false", 0],
    "audit.log_version": [None, 1],
    "audit.log_mode": [None, 1],
    "audit.log_batch_buffer_size": ["1", None],
    "audit.log_batch_max_size": ["1", None],
    "audit.log_batch_max_wait_s": [-1, "1s"],
    "audit.log_batch_throttle_enable": ["false", 0],
    "audit.log_batch_throttle_qps": ["1", nan],
    "audit.log_batch_throttle_burst": ["1", None],
    "audit.log_truncate_enabled": ["false", 0],
    "audit.log_truncate_max_event_size": ["1", None],
    "audit.log_truncate_max_batch_size": ["1", None],
    "audit.webhook_config_file": ["x", 1],
    "audit.webhook_initial_backoff_s": [-1, "1s"],
    "audit.webhook_version": [None, 1],
    "audit.webhook_mode": [None, 1],
    "audit.webhook_batch_buffer_size": ["1", None],
    "audit.webhook_batch_max_size": ["1", None],
    "audit.webhook_batch_max_wait_s": [-1, "1s"],
    "audit.webhook_batch_throttle_enable": ["false", 0],
    "audit.webhook_batch_throttle_qps": ["1", nan],
    "audit.webhook_batch_throttle_burst": ["1", None],
    "audit.webhook_truncate_enabled": ["false", 0],
    "audit.webhook_truncate_max_event_size": ["1", None],
    "audit.webhook_truncate_max_batch_size": ["1", None],
    "requests.request_timeout_s": [-1, "1m"],
    "requests.min_request_timeout_s": [-1.0],
    "requests.inert_warnings": ["some", None],
    "flowcontrol.max_requests_inflight": [-1, 1.5, "400"],
    "flowcontrol.max_mutating_requests_inflight": [-1, None],
    "flowcontrol.priority_and_fairness": ["true"],
    "services.cluster_ip_range": [
        "", "banana", "10.0.0.0/33", "10.0.0.0/24,10.1.0.0/24", "10.0.0.0/30", None,
        "10.0.0.0/24,fd00::/112,fd01::/112",
    ],
    "kubelet.client_certificate": ["c"],
    "kubelet.client_key": ["k"],
    "kubelet.certificate_authority": ["ca"],
    "kubelet.preferred_address_types": [("a b",), "Hostname", ["Hostname"]],
    "kubelet.timeout_s": [0],
    "aggregation.client_cert_file": ["c"],
    "aggregation.client_key_file": ["k"],
    "aggregation.endpoint_routing": ["true", 1],
    "aggregation.reject_redirects": ["false", 0],
    "controllers": [("",), ("a,b",), "*", ["*"]],
    "certificates.signing_cert_file": ["ca.crt"],
    "certificates.signing_key_file": ["ca.key"],
    "certificates.signing_duration_s": [0, -1, None],
    "certificates.unused_tokens_s": [0, -1, None],
    "node_ipam.cluster_cidr": ["banana", "10.0.0.0/33", "10.0.0.0/16,10.1.0.0/16", None],
    "node_ipam.mask_size": [-1, 1.5, "24", None],
    "node_ipam.mask_size_ipv4": [-1, 1.5, "24", None],
    "node_ipam.mask_size_ipv6": [-1, 1.5, "24", None],
    "scheduler.file": ["x", 1],
    "faults.file": ["x", 1],
    "faults.enabled": ["true", 0],
    "simulation.nodes": [-1, 1.5, "1", None, True],
    "simulation.stages": ["x", 1],
    "simulation.targets": [["0"], ["x"], ["/a/../b"], "8080"],
    "feature_gates": [{"A": "true"}, ["A"], None],
    "name": ["", "a b", "a\n", 1],
}  # fmt: skip


def made(row: FlagRow, value: Any) -> Config:
    """A configuration with one field that is given."""
    start = Config(data_dir=DATA)
    if not row.section:
        return dataclasses.replace(start, **{row.field: value})
    section = dataclasses.replace(getattr(start, row.section), **{row.field: value})
    return dataclasses.replace(start, **{row.section: section})


def test_every_field_has_a_value_that_it_refuses() -> None:
    """A new field gets its check, and a value here."""
    assert list(WRONG) == list(ROWS)


@pytest.mark.parametrize(
    ("path", "value"), [(path, value) for path, values in WRONG.items() for value in values]
)
def test_a_wrong_value_is_refused_by_name(path: str, value: Any) -> None:
    """One line, with the field, the value or the part of it that is wrong, and what is allowed."""
    row = ROWS[path]
    with pytest.raises(ConfigError) as caught:
        made(row, value)
    text = str(caught.value)
    assert text.startswith(f"{row.field}: ")
    assert "\n" not in text
    by_flag = f"--{row.flag.name}: " if row.flag.name else f"{row.field}: "
    assert caught.value.by_flag().startswith(by_flag)


@pytest.mark.parametrize(
    "section",
    [
        lambda: Serving(bind_address="::"),
        lambda: Serving(bind_address=""),
        lambda: Serving(bind_address="fe80::1%eth0"),
        lambda: Serving(bind_address="localhost", advertise_address="k8s.example."),
        lambda: Serving(secure_port=0),
        lambda: Serving(tls_cert_file=Path("c"), tls_private_key_file=Path("k")),
        lambda: Serving(extra_hosts=("*.example", "::1")),
        lambda: Storage(history_window_s=0, compact_interval_s=0, event_ttl_s=0),
        lambda: FlowControl(max_requests_inflight=0),
        lambda: FlowControl(
            max_requests_inflight=0, max_mutating_requests_inflight=0, priority_and_fairness=False
        ),
        lambda: Services(cluster_ip_range="10.0.0.0/24, fd00::/112"),
        lambda: Config(data_dir=DATA, feature_gates={"A": True}),
    ],
)
def test_unusual_values_are_fine(section: Any) -> None:
    """Nothing is refused that works."""
    section()


@pytest.mark.parametrize(
    ("section", "changed", "named"),
    [
        (Serving, {"tls_cert_file": DATA}, "tls_cert_file and tls_private_key_file: "),
        (Serving, {"tls_private_key_file": DATA}, "tls_cert_file and tls_private_key_file: "),
        (Kubelet, {"client_key": DATA}, "client_certificate and client_key: "),
        (ServiceAccounts, {"key_files": (DATA,)}, "key_files and signing_key_file: "),
        (ServiceAccounts, {"signing_key_file": DATA}, "key_files and signing_key_file: "),
        (
            FlowControl,
            {"max_requests_inflight": 0, "max_mutating_requests_inflight": 0},
            "max_requests_inflight and max_mutating_requests_inflight: ",
        ),
    ],
)
def test_what_goes_together_is_named_together(
    section: Any, changed: dict[str, Any], named: str
) -> None:
    """Both fields, and both flags."""
    with pytest.raises(ConfigError) as caught:
        section(**changed)
    assert str(caught.value).startswith(named)
    assert len(caught.value.flags) == 2


def test_a_changed_copy_is_checked_too() -> None:
    """As the first value was."""
    with pytest.raises(ConfigError, match=r"^durability: 'Full' is none of full, normal$"):
        dataclasses.replace(Storage(), durability="Full")


def test_a_section_is_a_section() -> None:
    """Not a mapping, nor another section."""
    with pytest.raises(ConfigError, match=r"^serving: .* is no Serving$"):
        Config(data_dir=DATA, serving=Storage())  # type: ignore[arg-type]


def test_audiences_are_the_issuer_unless_named() -> None:
    """A server has one audience at least."""
    assert Authentication(service_account_issuers=("i", "j")).audiences == ("i", "j")
    assert Authentication(api_audiences=("a", "b")).audiences == ("a", "b")


@pytest.mark.parametrize(
    ("bind", "advertise", "told"),
    [
        ("0.0.0.0", "", "127.0.0.1"),
        ("::", "", "::1"),
        ("192.0.2.1", "", "192.0.2.1"),
        ("0.0.0.0", "192.0.2.1", "192.0.2.1"),
        ("192.0.2.1", "0.0.0.0", "192.0.2.1"),
        ("0.0.0.0", "0.0.0.0", "127.0.0.1"),
    ],
)
def test_clients_are_told_an_address_that_leads_here(bind: str, advertise: str, told: str) -> None:
    """Never a wildcard."""
    assert Serving(bind_address=bind, advertise_address=advertise).public_address == told


def test_a_message_about_a_list_shows_it_as_it_is_written() -> None:
    """Not as Python has it."""
    with pytest.raises(ConfigError) as caught:
        Authenticators(oidc_signing_algs=("x", "y"))
    assert "'x,y' is no list of these" in str(caught.value)
