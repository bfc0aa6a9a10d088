"""Charts of lines over time as SVG, without any library."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape

from .chart import FOOT, HEAD, TITLE, WIDTH, text

LEFT = 90
RIGHT = 24
HEIGHT = 150
LEGEND = 18
TICKS = 30
COLUMNS = WIDTH - LEFT - RIGHT
"""A line has at most one point for each: the greatest value there."""


@dataclass(frozen=True)
class Line:
    """Values at moments, in seconds from the beginning."""

    label: str
    colour: str
    points: list[tuple[float, float]]


@dataclass(frozen=True)
class LinePanel:
    """Lines of one unit."""

    title: str
    unit: str
    lines: list[Line]
    is_log: bool = False


@dataclass(frozen=True)
class Chart:
    """Panels one below the other, over the same time."""

    title: str
    subtitle: str
    panels: list[LinePanel]
    sources: list[str]
    marks: list[tuple[float, str]] = field(default_factory=list)
    """Moments that are marked, with their colour."""

    def svg(self) -> str:
        """The chart, with the source of its numbers at the foot."""
        panels = [panel for panel in self.panels if any(line.points for line in panel.lines)]
        height = HEAD + FOOT * (len(self.sources) + 2)
        height += sum(TITLE + HEIGHT + TICKS + LEGEND for _ in panels)
        span = max((point[0] for panel in panels for line in panel.lines for point in line.points), default=1.0) or 1.0
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
            f' font-family="system-ui, sans-serif" role="img" aria-label="{escape(self.title)}">',
            f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
            text(24, 34, self.title, 20, weight="600"),
            text(24, 58, self.subtitle, 13, colour="#555555"),
        ]
        top = HEAD
        for panel in panels:
            parts += self.drawn(panel, top, span)
            top += TITLE + HEIGHT + TICKS + LEGEND
        top += FOOT
        for source in self.sources:
            parts.append(text(24, top + 14, source, 12, colour="#555555"))
            top += FOOT
        return "\n".join([*parts, "</svg>", ""])

    def drawn(self, panel: LinePanel, top: float, span: float) -> list[str]:
        """One panel: its lines, its axes and its legend."""
        bottom = top + TITLE + HEIGHT
        values = [value for line in panel.lines for _, value in line.points]
        height_of, ticks = scale(values, panel.is_log)

        def x(second: float) -> float:
            return LEFT + second / span * COLUMNS

        def y(value: float) -> float:
            return bottom - height_of(value) * HEIGHT

        parts = [text(24, top + 28, f"{panel.title}, {panel.unit}", 15, weight="600")]
        for moment, colour in self.marks:
            if moment <= span:
                parts.append(f'<line x1="{x(moment):.1f}" y1="{top + TITLE}" x2="{x(moment):.1f}" y2="{bottom}" stroke="{colour}"'
                             ' stroke-dasharray="3 3"/>')
        for tick in ticks:
            parts += [f'<line x1="{LEFT}" y1="{y(tick):.1f}" x2="{LEFT + COLUMNS}" y2="{y(tick):.1f}" stroke="#e3e6ea"/>',
                      text(LEFT - 8, y(tick) + 4, f"{tick:,g}".replace(",", "\u202f"), 11, anchor="end", colour="#555555")]
        for minute in minutes(span):
            parts.append(text(x(minute * 60), bottom + 16, f"{minute:g} min", 11, anchor="middle", colour="#555555"))
        left = float(LEFT)
        for line in panel.lines:
            path = " ".join(f"{x(second):.1f},{y(value):.1f}" for second, value in peaks(line.points, span))
            parts += [f'<polyline points="{path}" fill="none" stroke="{line.colour}" stroke-width="1.2"/>',
                      f'<rect x="{left:.0f}" y="{bottom + TICKS - 3}" width="12" height="4" fill="{line.colour}"/>',
                      text(left + 18, bottom + TICKS + 4, line.label, 12)]
            left += 36 + 7 * len(line.label)
        return parts


def peaks(points: list[tuple[float, float]], span: float) -> list[tuple[float, float]]:
    """The greatest value of each column, so that no peak is missing."""
    found: dict[int, tuple[float, float]] = {}
    for point in points:
        column = int(point[0] / span * COLUMNS)
        found[column] = max(found.get(column, point), point, key=lambda each: each[1])
    return list(found.values())


def scale(values: list[float], is_log: bool) -> tuple[Callable[[float], float], list[float]]:
    """The height of a value, from 0 to 1, and the values at the axis."""
    if is_log:
        low = math.floor(math.log10(max(min(values), 1e-3)))
        high = max(math.ceil(math.log10(max(*values, 1e-3))), low + 1)
        return (lambda value: (math.log10(max(value, 10.0**low)) - low) / (high - low),
                [10.0**power for power in range(low, high + 1)])
    step = nice(max(values) / 3)
    top = step * max(1, math.ceil(max(values) / step))
    return lambda value: value / top, [step * number for number in range(round(top / step) + 1)]


def nice(value: float) -> float:
    """The next of 1, 2, 5, 10 and so on."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= value)


def minutes(span: float) -> list[float]:
    """The minutes at the axis."""
    step = next(each for each in (0.5, 1, 2, 5, 10, 15, 30, 60) if span / 60 / each <= 9 or each == 60)
    return [step * number for number in range(int(span / 60 / step) + 1)]
