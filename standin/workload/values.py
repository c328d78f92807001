"""Random column values: those of a shop, and for EDGE_VALUES those that break naive parsers of redo SQL."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random

HOSTILE = (
    "O'Reilly", "''", "'", "a','b", "' and \"X\" = '", "line1\nline2", "tab\there", "x;", "/* c */ -- d", "a || b", "NULL",
    "\\", "end\\",
    "TO_DATE('2026-01-01')", "values (1,2)", "ROWID = 'AAA'", "ünïcode ☃", "日本語", "😀😀", "\"quoted\"", "where \"ID\" = '1'",
    "HEXTORAW('00')", "&amp", "%s {0}", " leading and trailing ",
)  # fmt: skip
_WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty", "knoll", "lagoon")
_EPOCH = datetime(2020, 1, 1)
_GIVEN = (
    "Ada",
    "Bela",
    "Chiara",
    "Dieter",
    "Emeka",
    "Françoise",
    "Goran",
    "Hélène",
    "Ines",
    "Jürgen",
    "Kofi",
    "Lucía",
    "Mei",
    "Nils",
)
_FAMILY = (
    "Almeida",
    "Bianchi",
    "Čapek",
    "Dubois",
    "Eriksson",
    "Fischer",
    "García",
    "Horváth",
    "Ibrahim",
    "Jansen",
    "O'Brien",
    "Müller",
)
_NOTES = (
    "prefers delivery in the morning", "pays by invoice", "call before delivery", "gift wrap", "second address on file",
    "asked for a discount", "returns are picked up", "newsletter: no",
)  # fmt: skip


def text(rng: Random, limit: int) -> str | None:
    """Return at most `limit` bytes of text; one in ten is NULL, one in five hostile."""
    kind = rng.random()
    if kind < 0.1:
        return None
    if kind < 0.3:
        return _within(rng.choice(HOSTILE) + rng.choice(("", rng.choice(HOSTILE))), limit)
    words = rng.choices(_WORDS, k=rng.randint(1, 12))
    return _within(" ".join(words), limit)


def long_text(rng: Random, limit: int) -> str:
    """Return text that needs continuation rows (CSF) in LogMiner, with quotes wherever a row may end."""
    return _within("".join(rng.choices((*HOSTILE, *_WORDS), k=limit // 6)), limit)


def name(rng: Random) -> str:
    return f"{rng.choice(_GIVEN)} {rng.choice(_FAMILY)}"


def note(rng: Random) -> str | None:
    """Return a remark, or None for two in three."""
    return "; ".join(rng.sample(_NOTES, k=rng.randint(1, 3))) if rng.random() < 1 / 3 else None


def earlier(rng: Random, days: int) -> datetime:
    """Return a moment of the last `days` days before today, so that equal seeds do equal work on one day."""
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    return today - timedelta(microseconds=rng.randint(1, days * 86_400_000_000))


def _within(value: str, limit: int) -> str:
    return value.encode()[:limit].decode(errors="ignore")


def number(rng: Random) -> Decimal | int | None:
    """Return a value for NUMBER without precision: any size, any scale."""
    kind = rng.random()
    if kind < 0.1:
        return None
    if kind < 0.3:
        return rng.choice((0, 1, -1, Decimal("0.05"), Decimal("-0.05"), 10**20, Decimal("1234567890.123456789"), 100))
    digits = rng.randint(1, 30)
    return Decimal(rng.randint(-(10**digits), 10**digits)).scaleb(-rng.randint(0, min(digits, 9)))


def amount(rng: Random, precision: int, scale: int) -> Decimal:
    """Return a value for NUMBER(precision, scale)."""
    return Decimal(rng.randint(-(10 ** min(precision, 7)), 10 ** min(precision, 7)) % 10**precision).scaleb(-scale)


def date(rng: Random) -> datetime | None:
    if rng.random() < 0.05:
        return rng.choice((None, datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59), datetime(1969, 12, 31, 23, 59, 59)))
    return _EPOCH + timedelta(seconds=rng.randint(0, 10**9))


def timestamp(rng: Random) -> datetime | None:
    moment = date(rng)
    return moment and moment.replace(microsecond=rng.choice((0, 1, 123456, 999999, 500000)))


def raw(rng: Random, limit: int) -> bytes | None:
    return rng.randbytes(rng.randint(1, limit)) if rng.random() > 0.1 else None
