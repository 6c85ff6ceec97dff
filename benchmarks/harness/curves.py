"""A picture of some curves as SVG, small enough to be read in a diff: values from 0 to 1 over steps from 1 on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 640, 300
LEFT, TOP, RIGHT, BOTTOM = 50, 40, 620, 255
COLOURS = ("#1f6feb", "#d1570b", "#2f855a")
TICKS = 4


@dataclass(frozen=True)
class Curve:
    """`values[i]` is that of step i + 1."""

    name: str
    values: Sequence[float]


def draw(title: str, across: str, curves: Sequence[Curve]) -> str:
    """The picture. Curves of different length share the longest one's axis."""
    steps = max((len(curve.values) for curve in curves), default=1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="14">{escape(title)}</text>',
        *_axes(steps, across),
        *(_line(number, curve, steps) for number, curve in enumerate(curves)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _axes(steps: int, across: str) -> Iterator[str]:
    for tick in range(TICKS + 1):
        share = tick / TICKS
        height, place = _y(share), _x(1 + share * (steps - 1), steps)
        yield f'<line x1="{LEFT}" y1="{height}" x2="{RIGHT}" y2="{height}" stroke="#ddd"/>'
        yield f'<text x="{LEFT - 8}" y="{height + 4}" text-anchor="end">{share:g}</text>'
        yield f'<text x="{place}" y="{BOTTOM + 18}" text-anchor="middle">{round(1 + share * (steps - 1))}</text>'
    yield f'<text x="{(LEFT + RIGHT) // 2}" y="{BOTTOM + 36}" text-anchor="middle">{escape(across)}</text>'


def _line(number: int, curve: Curve, steps: int) -> str:
    colour = COLOURS[number % len(COLOURS)]
    points = " ".join(f"{_x(step, steps)},{_y(value)}" for step, value in enumerate(curve.values, 1))
    name = f'<text x="{LEFT + 10}" y="{TOP + 14 + 18 * number}" fill="{colour}">{escape(curve.name)}</text>'
    return f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{points}"/>\n{name}'


def _x(step: float, steps: int) -> float:
    return round(LEFT + (RIGHT - LEFT) * (step - 1) / max(1, steps - 1), 1)


def _y(value: float) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * value, 1)
