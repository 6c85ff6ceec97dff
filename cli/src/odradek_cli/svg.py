"""Plots as SVG elements, by ElementTree, which escapes all text. Sizes are in pixels."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

WIDTH, HEIGHT, MARGIN = 460, 260, 40
COLOURS = ("#2563eb", "#dc2626", "#059669", "#d97706")


@dataclass(frozen=True)
class Scale:
    """From values to pixels, along one axis."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def around(cls, values: Sequence[float], start: float, end: float, least: tuple[float, float]) -> "Scale":
        """One that shows all `values`, and the span `least` at the least."""
        return cls(min([*values, least[0]]), max([*values, least[1]]), start, end)

    def __call__(self, value: float) -> float:
        return round(self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start), 2)

    @property
    def ticks(self) -> list[float]:
        return [self.low + (self.high - self.low) * part / 4 for part in range(5)]


@dataclass(frozen=True)
class Bar:
    """A value with its interval, under a name."""

    name: str
    value: float
    low: float | None
    high: float | None


def intervals(bars: Sequence[Bar], middle: float | None = None) -> Element:
    """One line a bar: a dot for its value and a line for its interval. `middle` is marked, and always shown."""
    left, row = 170, 22
    height = row * len(bars) + MARGIN
    plot = _plot(height, "values with their 95% intervals")
    ends = [end for bar in bars for end in (bar.value, bar.low, bar.high) if end is not None]
    across = Scale.around(ends, left, WIDTH - MARGIN, (-0.1, 0.1) if middle is not None else (0, 1))
    _axis_below(plot, across, height - MARGIN + 10)
    if middle is not None:
        _line(plot, across(middle), 0, across(middle), height - MARGIN + 10, "#999")
    for number, bar in enumerate(bars):
        _bar(plot, bar, across, row * number + row / 2, left)
    return plot


def histogram(values: Sequence[float], bins: int = 20) -> Element:
    """How many of some values lie where."""
    plot = _plot(HEIGHT, "how many tasks have which mean")
    across = Scale.around(values, MARGIN, WIDTH - MARGIN, (0, 1))
    counts = [0] * bins
    for value in values:
        counts[min(bins - 1, int((value - across.low) / (across.high - across.low) * bins))] += 1
    up = Scale(0, 4 * math.ceil(max([*counts, 1]) / 4), HEIGHT - MARGIN, 10)
    width = (across.end - across.start) / bins
    for number, count in enumerate(counts):
        box = {"x": across.start + number * width + 1, "y": up(count), "width": width - 2}
        _add(plot, "rect", **box, height=up(0) - up(count), fill=COLOURS[0], title=f"{count} tasks")
    _axis_below(plot, across, HEIGHT - MARGIN)
    _axis_left(plot, up, "{:.0f}")
    return plot


def curves(series: Mapping[str, Mapping[int, float]]) -> Element:
    """Values at k, each series a line; k doubles from step to step."""
    plot = _plot(HEIGHT, "figures at k samples")
    ks = sorted({k for points in series.values() for k in points})
    values = [value for points in series.values() for value in points.values()]
    across = Scale(0, math.log2(ks[-1]) or 1, MARGIN, WIDTH - 110)
    up = Scale.around(values, HEIGHT - MARGIN, 10, (0, 1))
    for k in ks:
        _text(plot, across(math.log2(k)), HEIGHT - MARGIN + 16, str(k), "middle")
    _axis_left(plot, up, "{:.2f}")
    for number, (name, points) in enumerate(series.items()):
        colour, places = COLOURS[number % len(COLOURS)], {k: across(math.log2(k)) for k in points}
        line = " ".join(f"{places[k]},{up(value)}" for k, value in points.items())
        _add(plot, "polyline", points=line, fill="none", stroke=colour, stroke_width=2)
        for k, value in points.items():
            _add(
                plot, "circle", cx=places[k], cy=up(value), r=3, fill=colour, title=f"{name}{k}: {value:.3f}"
            )
        _text(plot, WIDTH - 95, 20 + 18 * number, f"{name}k", fill=colour)
    return plot


def scatter(points: Sequence[tuple[str, float, float]], across_name: str, up_name: str) -> Element:
    """Named points; on the diagonal both values are the same."""
    plot = _plot(HEIGHT, f"{up_name} against {across_name}, a dot a task")
    values = [value for _, *both in points for value in both]
    across = Scale.around(values, MARGIN, WIDTH - MARGIN, (0, 1))
    up = Scale(across.low, across.high, HEIGHT - MARGIN, 10)
    _line(plot, across(across.low), up(up.low), across(across.high), up(up.high), "#999")
    for name, x, y in points:
        dot = {"cx": across(x), "cy": up(y), "r": 4, "fill": COLOURS[0], "fill_opacity": 0.4}
        _add(plot, "circle", **dot, title=f"{name}: {x:.3f} to {y:.3f}")
    _axis_below(plot, across, HEIGHT - MARGIN)
    _axis_left(plot, up, "{:.2f}")
    _text(plot, WIDTH / 2, HEIGHT - 6, across_name, "middle")
    _text(plot, MARGIN + 6, 20, up_name)
    return plot


def _plot(height: float, title: str) -> Element:
    plot = Element("svg", {"viewBox": f"0 0 {WIDTH} {height:g}", "width": str(WIDTH), "role": "img"})
    SubElement(plot, "title").text = title
    return plot


def _bar(plot: Element, bar: Bar, across: Scale, y: float, left: float) -> None:
    _text(plot, left - 12, y + 4, bar.name, "end")
    if bar.low is not None and bar.high is not None:
        _line(plot, across(bar.low), y, across(bar.high), y, COLOURS[0], 2)
    told = f"{bar.name}: {bar.value:.3f}"
    _add(plot, "circle", cx=across(bar.value), cy=y, r=4, fill=COLOURS[0], title=told)


def _axis_below(plot: Element, across: Scale, y: float) -> None:
    _line(plot, across.start, y, across.end, y, "#444")
    for value in across.ticks:
        _text(plot, across(value), y + 16, f"{value:.2f}", "middle")


def _axis_left(plot: Element, up: Scale, form: str) -> None:
    _line(plot, MARGIN, up.start, MARGIN, up.end, "#444")
    for value in up.ticks:
        _text(plot, MARGIN - 4, up(value) + 4, form.format(value), "end")


def _line(plot: Element, x1: float, y1: float, x2: float, y2: float, stroke: str, width: float = 1) -> None:
    _add(plot, "line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, stroke_width=width)


def _text(plot: Element, x: float, y: float, text: str, anchor: str = "start", fill: str = "#222") -> None:
    element = _add(plot, "text", x=x, y=y, text_anchor=anchor, font_size=11, fill=fill)
    element.text = text if len(text) <= 28 else text[:27] + "…"


def _add(plot: Element, tag: str, title: str | None = None, **attributes: object) -> Element:
    named = {name.replace("_", "-"): str(value) for name, value in attributes.items()}
    element = SubElement(plot, tag, named)
    if title is not None:
        SubElement(element, "title").text = title
    return element
