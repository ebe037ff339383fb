"""The configuration: what each field may be."""

from __future__ import annotations

import dataclasses
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

from kubetrio.config import CHECKS, Config, ConfigError
from kubetrio.flags import flag_of

DATA = Path("data")

WRONG: dict[str, list[Any]] = {
    "data_dir": ["data", None],
    "name": ["", "a b", "a\n", 1],
    "bind_address": ["[::1]", "127.0.0.1:6443", "a b", None],
    "secure_port": [-1, 65536, "6443", True, 1.0],
    "advertise_address": ["https://x", "300.1.1.1", None],
    "cert_dir": ["pki"],
    "tls_cert_file": ["tls.crt"],
    "tls_private_key_file": ["tls.key"],
    "client_ca_file": ["ca.crt"],
    "token_auth_file": ["tokens.csv"],
    "allow_privileged": ["false", 0, None],
    "anonymous_auth": ["false", 0],
    "durability": ["Full", "", None],
    "accept_data_loss": ["false", 0],
    "history_window_s": [-1.0, "5m", nan, inf, True],
    "compact_interval_s": [-1, None],
    "request_timeout_s": [0, -1, "1m"],
    "min_request_timeout_s": [-1.0],
    "max_connections": [-1, "9"],
    "max_connections_per_address": [-1],
    "max_unauthenticated_connections": [None],
    "max_requests_inflight": [-1, 1.5, "400"],
    "max_mutating_requests_inflight": [-1, None],
    "priority_and_fairness": ["true"],
    "shutdown_delay_s": [-1],
    "shutdown_grace_s": [-1, None],
    "service_cluster_ip_range": [
        "", "banana", "10.0.0.0/33", "10.0.0.0/24,10.1.0.0/24", "10.0.0.0/30", None,
        "10.0.0.0/24,fd00::/112,fd01::/112",
    ],
    "service_account_issuer": ["", "https://a b"],
    "api_audiences": ["a", ("",), ("a,b",)],
    "kubelet_client_certificate": ["c"],
    "kubelet_client_key": ["k"],
    "kubelet_certificate_authority": ["ca"],
    "kubelet_preferred_address_types": [(), ("Nowhere",), "Hostname", ["Hostname"]],
    "kubelet_timeout_s": [0],
    "feature_gates": [{"A": "true"}, ["A"], None],
    "extra_hosts": ["a", ("ü",), ("a", "b:1")],
}  # fmt: skip


def test_every_field_is_checked() -> None:
    """A new field gets its check, and a value here that it refuses."""
    names = [field.name for field in dataclasses.fields(Config)]
    assert list(CHECKS) == names
    assert list(WRONG) == names


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, values in WRONG.items() for value in values]
)
def test_a_wrong_value_is_refused_by_name(field: str, value: Any) -> None:
    """One line, with the field, the value or the part of it that is wrong, and what is allowed."""
    with pytest.raises(ConfigError) as caught:
        Config(**{"data_dir": DATA, field: value})
    text = str(caught.value)
    assert text.startswith(f"{field}: ")
    assert "\n" not in text
    assert caught.value.named(flag_of).startswith(f"{flag_of(field)}: ")


@pytest.mark.parametrize(
    "changed",
    [
        {"bind_address": "::"},
        {"bind_address": ""},
        {"bind_address": "fe80::1%eth0"},
        {"bind_address": "localhost", "advertise_address": "k8s.example."},
        {"secure_port": 0},
        {"tls_cert_file": Path("c"), "tls_private_key_file": Path("k")},
        {"history_window_s": 0, "compact_interval_s": 0},
        {"max_requests_inflight": 0},
        {"max_requests_inflight": 0, "max_mutating_requests_inflight": 0}
        | {"priority_and_fairness": False},
        {"service_cluster_ip_range": "10.0.0.0/24, fd00::/112"},
        {"feature_gates": {"A": True}},
        {"extra_hosts": ("*.example", "::1")},
    ],
)
def test_unusual_values_are_fine(changed: dict[str, Any]) -> None:
    """Nothing is refused that works."""
    Config(data_dir=DATA, **changed)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"tls_cert_file": DATA}, "tls_cert_file and tls_private_key_file: "),
        ({"tls_private_key_file": DATA}, "tls_cert_file and tls_private_key_file: "),
        ({"kubelet_client_key": DATA}, "kubelet_client_certificate and kubelet_client_key: "),
        (
            {"max_requests_inflight": 0, "max_mutating_requests_inflight": 0},
            "max_requests_inflight and max_mutating_requests_inflight: ",
        ),
    ],
)
def test_what_goes_together_is_named_together(changed: dict[str, Any], named: str) -> None:
    """Both fields."""
    with pytest.raises(ConfigError) as caught:
        Config(data_dir=DATA, **changed)
    assert str(caught.value).startswith(named)


def test_a_changed_copy_is_checked_too() -> None:
    """As the first value was."""
    with pytest.raises(ConfigError, match=r"^durability: 'Full' is none of full, normal$"):
        dataclasses.replace(Config(data_dir=DATA), durability="Full")


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
    config = Config(data_dir=DATA, bind_address=bind, advertise_address=advertise)
    assert config.public_address == told
