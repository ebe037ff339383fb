"""Plots as SVG, without scripts or anything from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 720, 200
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 12, 28
MOST_POINTS = 600  # of one line: more than there are pixels


def ceiling(value: float) -> float:
    """A round number that is not below a positive one."""
    if value <= 0:
        return 1.0
    step = 1.0
    while step > value:
        step /= 10
    while step * 10 < value:
        step *= 10
    return next(step * part for part in (1, 2, 2.5, 5, 10) if step * part >= value)


def thinned(points: Points, most: int = MOST_POINTS) -> Points:
    """At most so many points: of neighbours the one with the largest value."""
    size = -(-len(points) // most) or 1
    parts = [points[at : at + size] for at in range(0, len(points), size)]
    return [max(part, key=lambda point: point[1]) for part in parts]


def plot(title: str, unit: str, lines: Mapping[str, Points]) -> str:
    """A plot of values over seconds.

    Args:
        title: says what is shown.
        unit: of the values.
        lines: seconds and values, by what they are called; at most four.
    """
    drawn = {name: thinned(points) for name, points in lines.items() if points}
    if not drawn:
        return ""
    last = ceiling(max(x for points in drawn.values() for x, _ in points))
    most = ceiling(max(y for points in drawn.values() for _, y in points))
    across, up = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def at(x: float, y: float) -> str:
        return f"{LEFT + across * x / last:.1f},{TOP + up * (1 - max(y, 0) / most):.1f}"

    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">',
        f'<path class="axis" d="M{LEFT} {TOP}V{TOP + up}H{LEFT + across}"/>',
        _text(LEFT - 6, TOP + 8, "end", f"{most:g} {unit}"),
        _text(LEFT - 6, TOP + up, "end", "0"),
        _text(LEFT + across, HEIGHT - 8, "end", f"{last:g} s"),
    ]
    for number, (name, points) in enumerate(drawn.items()):
        way = " ".join(at(x, y) for x, y in points)
        parts.append(f'<polyline class="line{number}" points="{way}"/>')
        shade = f'<text class="name line{number}" x="{LEFT + 12 + 170 * number}" y="{HEIGHT - 8}">'
        parts.append(f"{shade}{escape(name)}</text>")
    parts.append("</svg>")
    return f"<figure><figcaption>{escape(title)}</figcaption>{''.join(parts)}</figure>"


def _text(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'
