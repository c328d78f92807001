"""Times and sizes as people read them. Pure."""

from __future__ import annotations

UNITS = ((86400.0, "d", 3600.0, "h"), (3600.0, "h", 60.0, "min"), (60.0, "min", 1.0, "s"))


def duration(seconds: float | None) -> str:
    """Return `0.4 s`, `41 s`, `12 min 5 s`, `3 h 20 min`, `2 d 4 h`."""
    if seconds is None:
        return "–"
    sign, seconds = ("−" if seconds < 0 else ""), abs(seconds)
    for size, name, part, part_name in UNITS:
        if round(seconds) >= size:
            whole = int(round(seconds) // size)
            rest = int((round(seconds) - whole * size) // part)
            return f"{sign}{whole} {name}" + (f" {rest} {part_name}" if rest and whole < 10 else "")
    return f"{sign}{seconds:.1f} s" if seconds < 10 else f"{sign}{round(seconds)} s"


def percent(share: float) -> str:
    """Return a share of 0 to 1 as `24 %`."""
    return f"{share:.0%}".replace("%", " %")


def plural(number: int, noun: str, several: str | None = None) -> str:
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def done_of(done: int, total: int | None) -> str:
    """Return how much is done as `120,000 of some 500,000 (24 %)`; the first number alone where the total is not known."""
    return f"{done:,}" + (f" of some {total:,} ({percent(done / total)})" if total else "")


def pace(per_second: float | None, seconds_left: float | None) -> str:
    """Return how fast it goes and what is left, to be put after it: `, 4,000 a second, some 95 s left`."""
    rate = "" if per_second is None else f", {per_second:,.0f} a second"
    return rate + ("" if seconds_left is None else f", some {duration(seconds_left)} left")


def size(number: float | None) -> str:
    """Return bytes as `512 B`, `3.4 MB`, `1.2 GB`; units are powers of 1000."""
    if number is None:
        return "–"
    for limit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= limit:
            return f"{number / limit:.1f} {name}"
    return f"{number:.0f} B"
