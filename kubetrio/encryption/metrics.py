"""Metrics of encryption, with the names of kube-apiserver.

Transformations are counted where they happen, in threads too, so the client library's own metrics
are used, which lock.

Source: k8s.io/apiserver/pkg/storage/value/metrics.go, encrypt/envelope/metrics,
server/options/encryptionconfig/metrics.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any, Final

from kubetrio.encryption.kms import digest
from kubetrio.encryption.transformers import Report, TransformError
from kubetrio.env import Env
from kubetrio.observe import prometheus

KEYS_SHOWN: Final = 100  # label sets with names of keys; the oldest go


def _exponential(start: float, count: int) -> Sequence[float]:
    return [start * 2**place for place in range(count)]


class EncryptionMetrics:
    """What is counted of one server.

    Args:
        env: the wall clock.
        server_id: identity of the server, shown as a digest.
    """

    def __init__(self, env: Env, server_id: str) -> None:
        self._env = env
        self._server = digest(server_id)
        self._config = ""
        self._used: OrderedDict[tuple[str, ...], None] = OrderedDict()
        self._seen: OrderedDict[tuple[str, ...], None] = OrderedDict()
        none: dict[str, Any] = {"registry": None}
        storage, envelope = "apiserver_storage_", "apiserver_envelope_encryption_"
        reload = "apiserver_encryption_config_controller_automatic_reload"
        self._operations = prometheus.Counter(
            f"{storage}transformation_operations_total",
            "Total number of transformations. Successful transformation will have a status 'OK' "
            "and a varied status string when the transformation fails.",
            ("resource", "transformation_type", "transformer_prefix", "status"),
            **none,
        )
        self._durations = prometheus.Histogram(
            f"{storage}transformation_duration_seconds",
            "Latencies in seconds of value transformation operations.",
            ("transformation_type", "transformer_prefix"),
            buckets=_exponential(5e-6, 25),
            **none,
        )
        self._misses = prometheus.Counter(
            f"{storage}envelope_transformation_cache_misses_total",
            "Total number of cache misses while accessing key decryption key(KEK).",
            **none,
        )
        self._generations = prometheus.Histogram(
            f"{storage}data_key_generation_duration_seconds",
            "Latencies in seconds of data encryption key(DEK) generation operations.",
            buckets=_exponential(5e-6, 14),
            **none,
        )
        self._failures = prometheus.Counter(
            f"{storage}data_key_generation_failures_total",
            "Total number of failed data encryption key(DEK) generation operations.",
            **none,
        )
        self._calls = prometheus.Histogram(
            f"{envelope}kms_operations_latency_seconds",
            "KMS operation duration with gRPC error code status total.",
            ("provider_name", "method_name", "grpc_status_code"),
            buckets=_exponential(0.0001, 20),
            **none,
        )
        keys = ("transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash")
        self._key_total = prometheus.Counter(
            f"{envelope}key_id_hash_total",
            "Number of times a keyID is used split by transformation type, provider, and "
            "apiserver identity.",
            keys,
            **none,
        )
        self._key_last = prometheus.Gauge(
            f"{envelope}key_id_hash_last_timestamp_seconds",
            "The last time in seconds when a keyID was used.",
            keys,
            **none,
        )
        self._key_status = prometheus.Gauge(
            f"{envelope}key_id_hash_status_last_timestamp_seconds",
            "The last time in seconds when a keyID was returned by the Status RPC call.",
            keys[1:],
            **none,
        )
        self._key_invalid = prometheus.Counter(
            f"{envelope}invalid_key_id_from_status_total",
            "Number of times an invalid keyID is returned by the Status RPC call split by error.",
            ("provider_name", "error"),
            **none,
        )
        self._cached = prometheus.Gauge(
            f"{envelope}dek_source_cache_size",
            "Number of records in data encryption key (DEK) source cache.",
            ("provider_name",),
            **none,
        )
        self._reloads = prometheus.Counter(
            f"{reload}s_total",
            "Total number of reload successes and failures of encryption configuration split by "
            "apiserver identity.",
            ("status", "apiserver_id_hash"),
            **none,
        )
        self._reloaded = prometheus.Gauge(
            f"{reload}_last_timestamp_seconds",
            "Timestamp of the last successful or failed automatic reload of encryption "
            "configuration split by apiserver identity.",
            ("status", "apiserver_id_hash"),
            **none,
        )
        self._info = prometheus.Gauge(
            "apiserver_encryption_config_controller_last_config_info",
            "Information about the last applied encryption configuration with hash as label, "
            "split by apiserver identity.",
            ("apiserver_id_hash", "hash"),
            **none,
        )

    def families(self) -> Iterable[prometheus.Metric]:
        """What a scrape shows."""
        for metric in (
            self._operations, self._durations, self._misses, self._generations, self._failures,
            self._calls, self._key_total, self._key_last, self._key_status, self._key_invalid,
            self._cached, self._reloads, self._reloaded, self._info,
        ):  # fmt: skip
            for family in metric.collect():
                family.samples = [
                    sample for sample in family.samples if not sample.name.endswith("_created")
                ]
                yield family

    def reporting(self, resource: object) -> Report:
        """Who hears of transformations of a resource."""
        name = str(resource)

        def report(kind: str, prefix: str, seconds: float, error: TransformError | None) -> None:
            status = error.code if error is not None else "OK"
            self._operations.labels(name, kind, prefix, status).inc()
            if error is None:
                self._durations.labels(kind, prefix).observe(seconds)

        return report

    def called(self, provider: str, method: str, code: str, seconds: float) -> None:
        """A plugin was called."""
        self._calls.labels(provider, method, code).observe(seconds)

    def _keep(self, shown: OrderedDict[tuple[str, ...], None], labels: tuple[str, ...]) -> bool:
        """Whether room has to be made for a set of labels."""
        shown[labels] = None
        shown.move_to_end(labels)
        return len(shown) > KEYS_SHOWN

    def key_used(self, kind: str, provider: str, key_id: str) -> None:
        """A value was read or written with a key of a plugin."""
        labels = (kind, provider, digest(key_id), self._server)
        if self._keep(self._used, labels):
            oldest, _ = self._used.popitem(last=False)
            self._key_total.remove(*oldest)
            self._key_last.remove(*oldest)
        self._key_total.labels(*labels).inc()
        self._key_last.labels(*labels).set(self._env.now())

    def key_seen(self, provider: str, key_id: str) -> None:
        """A plugin said which key it uses."""
        labels = (provider, digest(key_id), self._server)
        if self._keep(self._seen, labels):
            oldest, _ = self._seen.popitem(last=False)
            self._key_status.remove(*oldest)
        self._key_status.labels(*labels).set(self._env.now())

    def key_invalid(self, provider: str, error: str) -> None:
        """A plugin named a key that is none."""
        self._key_invalid.labels(provider, error).inc()

    def cached(self, provider: str, size: int) -> None:
        """So many keys of a plugin are remembered."""
        self._cached.labels(provider).set(size)

    def missed(self) -> None:
        """A plugin has to be asked for a key."""
        self._misses.inc()

    def generated(self, seconds: float) -> None:
        """A seed was made."""
        self._generations.observe(seconds)

    def configured(self, config: str) -> None:
        """A configuration is in force; its digest."""
        if self._config:
            self._info.remove(self._server, self._config)
        self._config = config
        self._info.labels(self._server, config).set(1)

    def reloaded(self, status: str) -> None:
        """The file was read again: ``success`` or ``failure``."""
        self._reloads.labels(status, self._server).inc()
        self._reloaded.labels(status, self._server).set(self._env.now())
