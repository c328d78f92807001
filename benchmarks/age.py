"""Measure what each step costs as a pipeline gets old: seconds on this disk, and requests of an object store at 50 ms each.

python -m benchmarks.age [windows] [tables] [decisions] [picture.svg]

The ages are a hundredth, a tenth and all of the windows, by default 30,000 of 200 tables. Each age is measured with the ledger
in SQLite, and in PostgreSQL where its programs are installed. A stand-in is the source, and plain Python stands for Spark.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from standin.serve import standin
from tests.fixtures.postgres import find_programs, serve
from tests.fixtures.shop import Shop
from tests.references.plain_lake import PlainLake
from tests.states.aged_landing import Cost, cost_of
from tests.states.aged_pipeline import AgedPipeline

REQUEST_SECONDS = 0.05
COLORS = ("#2563eb", "#dc2626", "#16a34a", "#9333ea", "#ea580c", "#0891b2", "#4b5563", "#be185d", "#65a30d", "#a16207")
WIDTH, HEIGHT, LEFT, BOTTOM = 720, 340, 60, 40

Measured = Mapping[str, tuple[Cost, float]]


def measure(aged: AgedPipeline, what: str) -> Measured:
    """Run all steps, each once, and print what they cost."""
    found = {}
    for name, work in aged.steps():
        began = time.perf_counter()
        cost = cost_of(work)
        found[name] = cost, time.perf_counter() - began
        say(f"{what:32} {name:20} {found[name][1]:7.2f} s, {asked(cost)}")
    return found


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def measure_ages(ages: Sequence[int], tables: int, decisions: int) -> dict[str, list[Measured]]:
    """Return the costs by ledger, for each age."""
    lake, found = PlainLake(), dict[str, list[Measured]]()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        oracle = stack.enter_context(standin(log_bytes=64 << 20, archive_lag_target=0, background=False))
        stack.enter_context(lake.in_place_of_spark())
        ledgers = {"SQLite": ""}
        if (programs := find_programs()) is not None:
            ledgers["PostgreSQL"] = stack.enter_context(serve(programs)).new_database()
        aged = AgedPipeline(Shop(oracle, folder), lake, 0, tables)
        for age in ages:
            aged.grow(age - aged.windows, decisions * age // ages[-1] - aged.decisions)
            for ledger, url in ledgers.items():
                began = time.perf_counter()
                aged.use_ledger(url)
                say(f"{age:,} windows, {ledger}: found by the ledger in {time.perf_counter() - began:.0f} s")
                found.setdefault(ledger, []).append(measure(aged, f"{age:,} windows, {ledger}"))
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
    return f"{cost.requests:4d} requests, {cost.statements:4d} statements, {cost.on_disk:6d} names listed on a disk"


def main(windows: int = 30_000, tables: int = 200, decisions: int = 1_000, file: str = "") -> None:
    ages = [windows // 100, windows // 10, windows]
    found = measure_ages(ages, tables, decisions)
    for ledger, measured in found.items():
        say(f"\n{ledger}: seconds at {', '.join(f'{age:,}' for age in ages)} windows")
        for step in measured[0]:
            cells = [f"{one[step][1]:6.2f} s, {asked(one[step][0])}" for one in measured]
            say(f"{step:20} {' | '.join(cells)}")
    if file:
        Path(file).write_text(picture(ages, list(found.values())[-1]))


if __name__ == "__main__":
    main(*[int(part) if part.isdigit() else part for part in sys.argv[1:]])  # type: ignore[arg-type]
