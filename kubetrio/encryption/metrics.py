"""Metrics of encryption, with the names of kube-apiserver.

Transformations are counted where they happen, in threads too, so the client library's own metrics
are used, which lock.

Source: k8s.io/apiserver/pkg/storage/value/metrics.go, encrypt/envelope/metrics,
server/options/encryptionconfig/metrics.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from kubetrio.encryption.kms import digest
from kubetrio.encryption.transformers import Report, TransformError
from kubetrio.env import Env
from kubetrio.observe import prometheus

KEYS_SHOWN: Final = 100  # label sets with names of keys; the oldest go


def _exponential(start: float, count: int) -> Sequence[float]:
    return [start * 2**place for place in range(count)]


class _Metric(NamedTuple):
    """A metric.

    Args:
        type: of it.
        name: that a scrape shows.
        text: its help.
        labels: names.
        buckets: upper bounds of a histogram, in seconds.
    """

    type: Literal["counter", "gauge", "histogram"]
    name: str
    text: str
    labels: tuple[str, ...] = ()
    buckets: Sequence[float] = ()


_KEY_LABELS = ("transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash")
_METRICS: Final[dict[str, _Metric]] = {
    "operations": _Metric(
        "counter",
        "apiserver_storage_transformation_operations_total",
        "Total number of transformations. Successful transformation will have a status "
        "'OK' and a varied status string when the transformation fails.",
        ("resource", "transformation_type", "transformer_prefix", "status"),
    ),
    "durations": _Metric(
        "histogram",
        "apiserver_storage_transformation_duration_seconds",
        "Latencies in seconds of value transformation operations.",
        ("transformation_type", "transformer_prefix"),
        buckets=_exponential(5e-06, 25),
    ),
    "misses": _Metric(
        "counter",
        "apiserver_storage_envelope_transformation_cache_misses_total",
        "Total number of cache misses while accessing key decryption key(KEK).",
    ),
    "generations": _Metric(
        "histogram",
        "apiserver_storage_data_key_generation_duration_seconds",
        "Latencies in seconds of data encryption key(DEK) generation operations.",
        buckets=_exponential(5e-06, 14),
    ),
    "failures": _Metric(
        "counter",
        "apiserver_storage_data_key_generation_failures_total",
        "Total number of failed data encryption key(DEK) generation operations.",
    ),
    "calls": _Metric(
        "histogram",
        "apiserver_envelope_encryption_kms_operations_latency_seconds",
        "KMS operation duration with gRPC error code status total.",
        ("provider_name", "method_name", "grpc_status_code"),
        buckets=_exponential(0.0001, 20),
    ),
    "key_total": _Metric(
        "counter",
        "apiserver_envelope_encryption_key_id_hash_total",
        "Number of times a keyID is used split by transformation type, provider, and "
        "apiserver identity.",
        _KEY_LABELS,
    ),
    "key_last": _Metric(
        "gauge",
        "apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds",
        "The last time in seconds when a keyID was used.",
        _KEY_LABELS,
    ),
    "key_status": _Metric(
        "gauge",
        "apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds",
        "The last time in seconds when a keyID was returned by the Status RPC call.",
        _KEY_LABELS[1:],
    ),
    "key_invalid": _Metric(
        "counter",
        "apiserver_envelope_encryption_invalid_key_id_from_status_total",
        "Number of times an invalid keyID is returned by the Status RPC call split by error.",
        ("provider_name", "error"),
    ),
    "cached": _Metric(
        "gauge",
        "apiserver_envelope_encryption_dek_source_cache_size",
        "Number of records in data encryption key (DEK) source cache.",
        ("provider_name",),
    ),
    "reloads": _Metric(
        "counter",
        "apiserver_encryption_config_controller_automatic_reloads_total",
        "Total number of reload successes and failures of encryption configuration "
        "split by apiserver identity.",
        ("status", "apiserver_id_hash"),
    ),
    "reloaded": _Metric(
        "gauge",
        "apiserver_encryption_config_controller_automatic_reload_last_timestamp_seconds",
        "Timestamp of the last successful or failed automatic reload of encryption "
        "configuration split by apiserver identity.",
        ("status", "apiserver_id_hash"),
    ),
    "info": _Metric(
        "gauge",
        "apiserver_encryption_config_controller_last_config_info",
        "Information about the last applied encryption configuration with hash as "
        "label, split by apiserver identity.",
        ("apiserver_id_hash", "hash"),
    ),
}


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
        self._counters = {
            key: prometheus.Counter(row.name, row.text, row.labels, registry=None)
            for key, row in _METRICS.items()
            if row.type == "counter"
        }
        self._gauges = {
            key: prometheus.Gauge(row.name, row.text, row.labels, registry=None)
            for key, row in _METRICS.items()
            if row.type == "gauge"
        }
        self._histograms = {
            key: prometheus.Histogram(
                row.name, row.text, row.labels, buckets=row.buckets, registry=None
            )
            for key, row in _METRICS.items()
            if row.type == "histogram"
        }

    def families(self) -> Iterable[prometheus.Metric]:
        """What a scrape shows."""
        metrics = {**self._counters, **self._gauges, **self._histograms}
        for metric in map(metrics.__getitem__, _METRICS):
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
            self._counters["operations"].labels(name, kind, prefix, status).inc()
            if error is None:
                self._histograms["durations"].labels(kind, prefix).observe(seconds)

        return report

    def called(self, provider: str, method: str, code: str, seconds: float) -> None:
        """A plugin was called."""
        self._histograms["calls"].labels(provider, method, code).observe(seconds)

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
            self._counters["key_total"].remove(*oldest)
            self._gauges["key_last"].remove(*oldest)
        self._counters["key_total"].labels(*labels).inc()
        self._gauges["key_last"].labels(*labels).set(self._env.now())

    def key_seen(self, provider: str, key_id: str) -> None:
        """A plugin said which key it uses."""
        labels = (provider, digest(key_id), self._server)
        if self._keep(self._seen, labels):
            oldest, _ = self._seen.popitem(last=False)
            self._gauges["key_status"].remove(*oldest)
        self._gauges["key_status"].labels(*labels).set(self._env.now())

    def key_invalid(self, provider: str, error: str) -> None:
        """A plugin named a key that is none."""
        self._counters["key_invalid"].labels(provider, error).inc()

    def cached(self, provider: str, size: int) -> None:
        """So many keys of a plugin are remembered."""
        self._gauges["cached"].labels(provider).set(size)

    def missed(self) -> None:
        """A plugin has to be asked for a key."""
        self._counters["misses"].inc()

    def generated(self, seconds: float) -> None:
        """A seed was made."""
        self._histograms["generations"].observe(seconds)

    def configured(self, config: str) -> None:
        """A configuration is in force; its digest."""
        if self._config:
            self._gauges["info"].remove(self._server, self._config)
        self._config = config
        self._gauges["info"].labels(self._server, config).set(1)

    def reloaded(self, status: str) -> None:
        """The file was read again: ``success`` or ``failure``."""
        self._counters["reloads"].labels(status, self._server).inc()
        self._gauges["reloaded"].labels(status, self._server).set(self._env.now())
