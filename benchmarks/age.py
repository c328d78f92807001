"""Measure what each step costs as a pipeline gets old: seconds on this disk, and requests of an object store at 50 ms each.

python -m benchmarks.age [windows] [picture.svg]     the ages are a hundredth, a tenth and all of the windows, by default 30,000
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.states.aged_landing import AgedLanding, Cost, cost_of

REQUEST_SECONDS = 0.05
COLORS = ("#2563eb", "#dc2626", "#16a34a", "#9333ea", "#ea580c", "#0891b2", "#4b5563")
WIDTH, HEIGHT, LEFT, BOTTOM = 720, 340, 60, 40

Measured = Mapping[str, tuple[Cost, float]]


def measure(windows: int) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        aged = AgedLanding(Path(folder), windows)
        sys.stderr.write(f"{windows} windows made in {time.perf_counter() - began:.0f} s\n")
        found = {}
        for name, work in aged.steps():
            began = time.perf_counter()
            cost = cost_of(work)
            found[name] = cost, time.perf_counter() - began
        return found


def picture(ages: Sequence[int], found: Sequence[Measured]) -> str:
    """Return a chart of the seconds of each step, on a store with 50 ms a request, by the age in windows."""
    steps = list(found[0])
    seconds = {step: [one[step][0].requests * REQUEST_SECONDS + one[step][1] for one in found] for step in steps}
    top = max(max(line) for line in seconds.values()) * 1.15
    places = [LEFT + (WIDTH - LEFT - 200) * number / (len(ages) - 1) for number in range(len(ages))]

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - 20) * value / top

    lines = [f'<line x1="{LEFT}" x2="{WIDTH - 200}" y1="{y(0):.0f}" y2="{y(0):.0f}" stroke="#999"/>']
    for place, age in zip(places, ages, strict=True):
        lines.append(f'<text x="{place:.0f}" y="{HEIGHT - 18}" text-anchor="middle">{age:,} windows</text>')
    lines += [
        f'<text x="{LEFT - 8}" y="{y(top * part) + 4:.0f}" text-anchor="end">{top * part:.1f} s</text>' for part in (0, 0.5, 1)
    ]
    for number, (step, line) in enumerate(sorted(seconds.items(), key=lambda item: -item[1][-1])):
        color = COLORS[number % len(COLORS)]
        points = " ".join(f"{x:.1f},{y(value):.1f}" for x, value in zip(places, line, strict=True))
        lines.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>')
        lines.append(f'<text x="{WIDTH - 190}" y="{30 + 18 * number}" fill="{color}">{step}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">\n'
        + "\n".join(lines)
        + "\n</svg>\n"
    )


def asked(cost: Cost) -> str:
    return f"{cost.requests:4d} requests, {cost.statements:3d} statements"


def main(windows: int = 30_000, file: str = "") -> None:
    ages = [windows // 100, windows // 10, windows]
    found = [measure(age) for age in ages]
    for step in found[0]:
        cells = [f"{one[step][1]:6.2f} s, {asked(one[step][0])}" for one in found]
        sys.stdout.write(f"{step:16} {' | '.join(cells)}\n")
    if file:
        Path(file).write_text(picture(ages, found))


if __name__ == "__main__":
    main(*[int(part) if part.isdigit() else part for part in sys.argv[1:]])  # type: ignore[arg-type]
