"""Plots are SVG that any browser shows."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from fuzz.plots import HEIGHT, LEFT, TOP, WIDTH, ceiling, plot, thinned


@pytest.mark.parametrize(
    ("value", "wanted"), [(0, 1), (0.03, 0.05), (1, 1), (1.1, 2), (2.4, 2.5), (77, 100), (101, 200)]
)
def test_axes_end_at_round_numbers(value: float, wanted: float) -> None:
    assert ceiling(value) == pytest.approx(wanted)


def test_a_plot_has_a_line_for_each_series() -> None:
    """Inside of it, and what is empty is left out."""
    text = plot("a & b", "MB", {"one": [(0, 0), (10, 100)], "two": [(5, 50)], "three": []})
    figure = ET.fromstring(text)
    assert figure.findtext("figcaption") == "a & b"
    lines = [line.attrib["points"].split() for line in figure.iter("polyline")]
    assert [len(line) for line in lines] == [2, 1]
    for x, y in (point.split(",") for line in lines for point in line):
        assert LEFT <= float(x) <= WIDTH
        assert TOP <= float(y) <= HEIGHT


def test_without_points_there_is_no_plot() -> None:
    assert plot("a", "MB", {"one": []}) == ""


def test_a_long_line_keeps_its_peaks() -> None:
    points = [(float(at), 9.0 if at == 777 else 1.0) for at in range(5000)]
    kept = thinned(points, 100)
    assert len(kept) <= 100
    assert (777.0, 9.0) in kept
