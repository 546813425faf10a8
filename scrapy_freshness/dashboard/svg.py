"""Drawing: scales, axes and shapes as SVG text.

Charts are drawn here and not by a library in the browser: they need no script, obey a Content-Security-Policy
that allows no inline styles, take a few kilobytes instead of megabytes, and colours follow the reader's theme
because they are classes of our own style sheet.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from markupsafe import Markup, escape

WIDTH, HEIGHT = 600, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 26, 12, 46
#: The room below an axis without a title.
UNTITLED = 30
#: Places of numbers below an axis, and of its title above the edge: there is room for the letters of phones.
_BELOW, _ABOVE_EDGE = 20, 7
#: A time that is nearer to the left end of its axis is left out: it would meet the numbers there.
_NEAR = 30

#: Steps of time axes, in seconds.
_TIME_STEPS = (
    60,
    300,
    600,
    1800,
    3600,
    3 * 3600,
    6 * 3600,
    12 * 3600,
    86400,
    2 * 86400,
    7 * 86400,
    28 * 86400,
)
_LENGTHS = (1, 10, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400, 365 * 86400, 10 * 365 * 86400)


@dataclass(frozen=True, slots=True)
class Scale:
    """From numbers to places on the paper."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def __call__(self, number: float) -> float:
        low, high, number = (
            (math.log(max(each, 1e-300)) for each in (self.low, self.high, number))
            if self.is_log
            else (self.low, self.high, number)
        )
        share = (number - low) / (high - low) if high > low else 0.5
        return self.start + min(max(share, -0.02), 1.02) * (self.end - self.start)


@dataclass(slots=True)
class Drawing:
    """A picture in the making; coordinates are those of its scales."""

    x: Scale
    y: Scale
    width: int = WIDTH
    height: int = HEIGHT
    parts: list[Markup] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        width: int = WIDTH,
        height: int = HEIGHT,
        log_x: bool = False,
        log_y: bool = False,
        left: int = _LEFT,
        bottom: int = _BOTTOM,
    ) -> "Drawing":
        """An empty drawing with room for axes."""
        return cls(
            Scale(*x, left, width - _RIGHT, log_x), Scale(*y, height - bottom, _TOP, log_y), width, height
        )

    def add(self, tag: str, text: str = "", **attributes: object) -> None:
        """Add an element; the name of an attribute may end in _ and has - for other _."""
        named = Markup("").join(
            Markup(' {}="{}"').format(Markup(name.rstrip("_").replace("_", "-")), _short(value))
            for name, value in attributes.items()
            if value is not None
        )
        self.parts.append(Markup("<{0}{1}>{2}</{0}>").format(Markup(tag), named, text))

    def line(self, xs: Iterable[float], ys: Iterable[float], class_: str) -> None:
        """A line through points."""
        points = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in zip(xs, ys, strict=True))
        self.add("polyline", points=points, class_=f"line {class_}")

    def area(self, xs: Sequence[float], lower: Sequence[float], upper: Sequence[float], class_: str) -> None:
        """The area between two lines."""
        there = [f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in zip(xs, upper, strict=True)]
        back = [f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in zip(xs, lower, strict=True)]
        self.add("polygon", points=" ".join([*there, *reversed(back)]), class_=f"area {class_}")

    def bar(
        self, x0: float, x1: float, y0: float, y1: float, class_: str, told: str = "", gap: float = 1.0
    ) -> None:
        """A box between two places on each scale; *told* is shown when pointed at."""
        left, right = sorted((self.x(x0), self.x(x1)))
        top, bottom = sorted((self.y(y0), self.y(y1)))
        self.add(
            "rect",
            _title(told),
            x=left + gap / 2,
            y=top,
            width=max(right - left - gap, 0.6),
            height=max(bottom - top, 0.0),
            class_=f"fill {class_}",
        )

    def point(self, x: float, y: float, class_: str, told: str = "", radius: float = 3.5) -> None:
        """A dot."""
        self.add("circle", _title(told), cx=self.x(x), cy=self.y(y), r=radius, class_=f"dot {class_}")

    def across(self, y: float, class_: str) -> None:
        """A line over the whole width."""
        self.add("line", x1=self.x.start, x2=self.x.end, y1=self.y(y), y2=self.y(y), class_=f"line {class_}")

    def down(self, x: float, class_: str, told: str = "") -> None:
        """A line over the whole height."""
        self.add(
            "line",
            _title(told),
            x1=self.x(x),
            x2=self.x(x),
            y1=self.y.start,
            y2=self.y.end,
            class_=f"line {class_}",
        )

    def y_axis(self, ticks: Sequence[float], tell: Callable[[float], str]) -> None:
        """Numbers at the left, with lines across."""
        for tick in ticks:
            self.across(tick, "grid")
            self.add(
                "text", tell(tick), x=self.x.start - 7, y=self.y(tick) + 4, text_anchor="end", class_="tick"
            )

    def x_axis(self, ticks: Sequence[float], tell: Callable[[float], str], label: str = "") -> None:
        """Numbers at the bottom."""
        for tick in ticks:
            place, anchor = self._place_of(tick)
            self.add("text", tell(tick), x=place, y=self.y.start + _BELOW, text_anchor=anchor, class_="tick")
        if label:
            middle = (self.x.start + self.x.end) / 2
            self.add(
                "text",
                label,
                x=middle,
                y=self.height - _ABOVE_EDGE,
                text_anchor="middle",
                class_="tick label",
            )

    def time_axis(self) -> None:
        """Times at the bottom; a script of ours turns them into the reader's."""
        self.time_axis_at(self.y.start)

    def time_axis_at(self, bottom: float) -> None:
        """The same at another place on the paper."""
        step = next((each for each in _TIME_STEPS if (self.x.high - self.x.low) / each <= 7), _TIME_STEPS[-1])
        first = math.ceil(self.x.low / step) * step
        ticks = range(first, int(self.x.high) + 1, step)
        form = "day" if step >= 86400 else "minute"
        for place, tick in enumerate(ticks):
            self.add("line", x1=self.x(tick), x2=self.x(tick), y1=bottom, y2=bottom + 4, class_="axis")
            if self.x(tick) < self.x.start + _NEAR:
                continue
            across, anchor = self._place_of(tick)
            self.add(
                "text",
                utc_text(tick, form),
                x=across,
                y=bottom + _BELOW,
                text_anchor=anchor,
                class_="tick spare" if place % 2 else "tick",  # left out where there is little room
                data_at=tick,
                data_form=form,
            )

    def _place_of(self, tick: float) -> tuple[float, str]:
        """Where text about a place on the axis is, and by which end: the last ends with the paper."""
        is_last = self.x(tick) > self.x.end - _NEAR / 2
        return (float(self.width), "end") if is_last else (self.x(tick), "middle")

    def svg(self, title: str, class_: str = "chart") -> Markup:
        """The finished picture; the title is what a screen reader says."""
        head = Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}" class="{}">').format(
            self.width, self.height, title, class_
        )
        return head + Markup("").join(self.parts) + Markup("</svg>")


def even_ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Round numbers that cover a range.

    >>> even_ticks(0, 97)
    [0.0, 25.0, 50.0, 75.0, 100.0]
    """
    if not high > low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * each for each in (1, 2, 2.5, 5, 10) if power * each >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * number, 12) for number in range(first, last + 1)]


def power_ticks(low: float, high: float) -> list[float]:
    """Powers of ten that cover a range of numbers above 0.

    >>> power_ticks(3.0, 150.0)
    [1.0, 10.0, 100.0, 1000.0]
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    step = max(1, -(-(last - first) // 5))
    return [10.0**power for power in range(first, last + step, step)]


def length_ticks(low: float, high: float) -> list[float]:
    """Lengths of time that people know, within a range of seconds."""
    return [float(each) for each in _LENGTHS if low <= each <= high]


def thinned(ticks: list[float], most: int) -> list[float]:
    """At most so many of the ticks, evenly chosen."""
    return ticks[:: max(1, -(-len(ticks) // most))]


def utc_text(at: float, form: str) -> str:
    """A time for an axis, as it is without a script."""
    return datetime.fromtimestamp(at, UTC).strftime("%d %b" if form == "day" else "%H:%M")


def _title(told: str) -> str:
    return Markup("<title>{}</title>").format(told) if told else ""


def _short(value: object) -> object:
    return f"{value:.1f}" if isinstance(value, float) else escape(value)
