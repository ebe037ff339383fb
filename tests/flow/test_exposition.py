"""Metrics of flow control as they are scraped, against the facts about kube-apiserver's."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from kubetrio.flow.classify import RequestDigest
from kubetrio.flow.config import (
    EXEMPT,
    FlowSchema,
    LevelKind,
    PolicyRule,
    PriorityLevel,
    Queuing,
    ResourceRule,
    Subject,
)
from kubetrio.flow.dispatcher import Dispatcher
from kubetrio.flow.exposition import families
from kubetrio.flow.observe import Histogram, SchemaHistograms, Snapshot
from kubetrio.flow.outcomes import Refusal
from kubetrio.flow.seats import Width
from kubetrio.flow.ticket import Reason, Ticket
from kubetrio.observe.series import go_float
from kubetrio.schema import builtin

REFERENCE: dict[str, dict[str, Any]] = {
    name: fact for name, fact in builtin.load("metrics").items() if fact.get("flowControl")
}
# Progress meters have no epochs here, so this one never counts.
NEVER_COUNTED = "apiserver_flowcontrol_epoch_advance_total"


def histograms() -> SchemaHistograms:
    """One request in each of its histograms."""
    made = SchemaHistograms()
    for name in SchemaHistograms.__slots__:
        histogram = getattr(made, name)
        if isinstance(histogram, Histogram):
            histogram.observe(1)
    return made


def busy() -> Snapshot:
    """A level in which requests ran, run, wait, timed out, were refused and were too wide."""
    everything = (ResourceRule(("*",), ("*",), ("*",), cluster_scope=True, namespaces=("*",)),)
    dispatcher = Dispatcher(0.0, 4)
    dispatcher.reconfigure(
        0.0,
        [FlowSchema(name="s", level="a", rules=(PolicyRule((Subject("User", "u"),), everything),))],
        [PriorityLevel(name="a", kind=LevelKind.QUEUE, shares=5, queuing=Queuing(1, 1, 3))],
    )

    def arrive(verb: str = "get", width: Width = Width(1)) -> Ticket:  # noqa: B008  (frozen)
        ticket = dispatcher.arrive(1.0, RequestDigest("u", (), verb, resource="pods"), width)
        assert isinstance(ticket, Ticket)
        return ticket

    first, _ = arrive(), arrive("create")
    arrive(width=Width(2))
    impatient = arrive()
    arrive()
    for reason in (Reason.TIME_OUT, Reason.CANCELLED):
        dispatcher.abandon(2.0, impatient, reason)
        impatient = arrive()
    assert dispatcher.arrive(2.0, RequestDigest("u", (), "get")) == Refusal(Reason.QUEUE_FULL, 1)
    dispatcher.finish(3.0, first)  # the next one needs two seats
    dispatcher.adjust(10.0)
    return Snapshot(11.0, 0.0, dispatcher.statistics(11.0), {("s", "a"): histograms()})


@pytest.fixture(scope="module")
def scraped() -> dict[str, Metric]:
    registry = CollectorRegistry()

    class Source:
        def collect(self) -> list[Metric]:
            return list(families(busy()))

    registry.register(Source())
    text = generate_latest(registry).decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


def test_no_more_and_no_less(scraped: dict[str, Metric]) -> None:
    """All of kube-apiserver's metrics of flow control, and none of our own among them."""
    assert set(scraped) == {name.removesuffix("_total") for name in REFERENCE}


@pytest.mark.parametrize("name", sorted(set(REFERENCE) - {NEVER_COUNTED}))
def test_as_kube_apiserver_exposes_it(scraped: dict[str, Metric], name: str) -> None:
    """Type, names of labels on every sample, constant labels, bounds of buckets to the letter."""
    fact, family = REFERENCE[name], scraped[name.removesuffix("_total")]
    assert family.type == fact.get("observedType", fact["type"])
    assert family.samples
    constant = fact.get("constLabels", {})
    for sample in family.samples:
        assert set(sample.labels) - {"le"} == {*fact["labels"], *constant}
        assert {key: sample.labels[key] for key in constant} == constant
    if family.type == "counter":
        assert {sample.name for sample in family.samples} == {name}
    bounds = [*map(go_float, fact.get("buckets", ())), "+Inf"]
    buckets: dict[frozenset[tuple[str, str]], list[str]] = {}
    for sample in family.samples:
        if sample.name.endswith("_bucket"):
            labels = dict(sample.labels)
            buckets.setdefault(frozenset(labels.items() - {("le", labels["le"])}), []).append(
                labels["le"]
            )
    assert bool(buckets) == (family.type == "histogram")
    assert all(found == bounds for found in buckets.values())


@pytest.mark.parametrize(
    ("label", "values"),
    [
        ("reason", {"queue-full", "time-out", "cancelled"}),
        ("phase", {"waiting", "executing"}),
        ("request_kind", {"mutating", "readOnly"}),
        ("execute", {"true", "false"}),
        ("type", {"regular", "watch"}),
        ("bound", {"low", "high"}),
    ],
)
def test_values_of_labels(scraped: dict[str, Metric], label: str, values: set[str]) -> None:
    """Labels with a fixed set of values have these."""
    found = {
        sample.labels[label]
        for family in scraped.values()
        for sample in family.samples
        if label in sample.labels
    }
    assert found == values


def test_numbers(scraped: dict[str, Metric]) -> None:
    """What is counted is what happened."""

    def value(name: str, **labels: str) -> float:
        (found,) = [
            sample.value
            for sample in scraped[f"apiserver_flowcontrol_{name}"].samples
            if labels.items() <= sample.labels.items() and not sample.name.endswith("_created")
        ]
        return found

    assert value("nominal_limit_seats", priority_level="a") == 2
    assert value("dispatched_requests") == 2
    assert value("current_executing_requests") == 1
    assert value("current_inqueue_requests") == 3
    assert value("current_inqueue_seats") == 4
    assert [value("rejected_requests", reason=why) for why in ("queue-full", "time-out")] == [1, 1]
    assert value("request_dispatch_no_accommodation") >= 1


def test_exempt_requests_do_not_wait() -> None:
    """They are counted as executed, but there is no time of waiting."""
    by_schema = {("exempt", EXEMPT): histograms(), ("s", "a"): histograms()}
    statistics = busy().statistics
    levels = {
        family.name: {sample.labels["priority_level"] for sample in family.samples}
        for family in families(Snapshot(11.0, 0.0, statistics, by_schema))
        if family.type == "histogram" and family.name.endswith("_seconds")
    }
    assert levels == {
        "apiserver_flowcontrol_request_wait_duration_seconds": {"a"},
        "apiserver_flowcontrol_request_execution_seconds": {"a", EXEMPT},
    }
