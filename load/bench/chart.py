"""Bar charts as SVG, without any library."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

WIDTH = 900
LABEL = 250
VALUE = 110
BAR = 22
GAP = 8
HEAD = 70
TITLE = 44
FOOT = 20

COLOURS = {
    "shunt": "#0b6e4f",
    "shunt embedded": "#5fad8c",
    "shunt before": "#8a8f3c",
    "shunt embedded before": "#b9bd7a",
    "nginx": "#4c6a92",
    "constant": "#9aa5b1",
    "textbook": "#b5651d",
    "textbook default": "#d9a066",
}


@dataclass(frozen=True)
class Bar:
    """A labelled length; `colour` names a contender."""

    label: str
    value: float
    colour: str


@dataclass(frozen=True)
class Panel:
    """Bars of one unit."""

    title: str
    unit: str
    bars: list[Bar]


def svg(title: str, subtitle: str, panels: list[Panel], sources: list[str]) -> str:
    """A chart of panels one below the other, with the source of its numbers at the foot."""
    panels = [panel for panel in panels if panel.bars]
    height = HEAD + sum(TITLE + len(panel.bars) * (BAR + GAP) for panel in panels)
    height += FOOT * (len(sources) + 2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="system-ui, sans-serif" role="img" '
        f'aria-label="{escape(title)}">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        text(24, 34, title, 20, weight="600"),
        text(24, 58, subtitle, 13, colour="#555555"),
    ]
    top = HEAD
    for panel in panels:
        parts.append(text(24, top + 28, panel.title, 15, weight="600"))
        top += TITLE
        longest = max(bar.value for bar in panel.bars) or 1.0
        for bar in panel.bars:
            length = max(2.0, bar.value / longest * (WIDTH - LABEL - VALUE - 24))
            colour = COLOURS.get(bar.colour, "#777777")
            middle = top + BAR * 0.72
            parts += [
                text(LABEL - 10, middle, bar.label, 13, anchor="end"),
                f'<rect x="{LABEL}" y="{top}" width="{length:.1f}" height="{BAR}" fill="{colour}"/>',
                text(LABEL + length + 8, middle, f"{shown(bar.value)} {panel.unit}", 13),
            ]
            top += BAR + GAP
    top += FOOT
    for source in sources:
        parts.append(text(24, top + 14, source, 12, colour="#555555"))
        top += FOOT
    return "\n".join([*parts, "</svg>", ""])


def shown(value: float) -> str:
    """A number in a legible form."""
    if value >= 1000:
        return f"{value:,.0f}".replace(",", "\u202f")
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}"


def text(
    x: float,
    y: float,
    content: str,
    size: int,
    *,
    colour: str = "#1c1c1c",
    weight: str = "400",
    anchor: str = "start",
) -> str:
    """A line of text."""
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" '
            f'fill="{colour}" text-anchor="{anchor}">{escape(content)}</text>')
