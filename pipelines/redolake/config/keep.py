"""How long a pipeline keeps what it has written."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator, Field, PlainSerializer

from redolake.config.values import Bytes, Settings

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_duration(value: object) -> object:
    """Return the duration of a text such as `30d` or `12h`; pass a timedelta on."""
    if isinstance(value, timedelta):
        return value
    match = re.fullmatch(r"(\d{1,9})\s*([smhdw])", value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError("not a duration: write 30d, 12h, 90m or 2w")
    return timedelta(**{UNITS[match[2]]: int(match[1])})


def duration_text(value: timedelta) -> str:
    """Return the text that `parse_duration` reads."""
    seconds = int(value.total_seconds())
    return f"{seconds // 86_400}d" if seconds and seconds % 86_400 == 0 else f"{seconds}s"


Duration = Annotated[timedelta, BeforeValidator(parse_duration), PlainSerializer(duration_text)]


class KeepSettings(Settings):
    """None keeps for ever. `redolake prune` and `<name>_maintain` remove what is older, and nothing else does."""

    landing: Duration | None = Field(
        None,
        description="landed windows, with the batches, carried rows, loads and dictionary readings that only they "
        "need, unless a table, an open transaction or `replay` needs them",
    )
    replay: Duration | None = Field(
        None, description="windows that stay whatever else is said, so that their SCNs can be backfilled"
    )
    snapshots: Duration | None = Field(None, description="rows that snapshots have read, once they are loaded or superseded")
    shadows: Duration | None = Field(None, description="shadow tables of backfills, with their specs")
    proofs: Duration | None = Field(
        None,
        description="results of comparisons, up to each table's newest one of all rows, which a repair needs with all "
        "later ones",
    )
    delta_history: Annotated[Duration, Field(ge=timedelta(days=1))] | None = Field(
        None,
        description="older versions of Delta tables: VACUUM removes files that only older ones need, and Delta their commits",
    )
    history: Annotated[Duration, Field(ge=timedelta(days=1))] | None = Field(
        None,
        description="what histories say of older times: maintenance puts the rows of then in its place, once that is "
        "a tenth of a history",
    )
    events: Annotated[Duration, Field(ge=timedelta(days=1))] | None = Field(
        None, description="rows of [the lake's own log](../how-to/dashboard.md), which is written if this is set"
    )
    attempts: Annotated[Duration, Field(ge=timedelta(hours=1))] = Field(
        "2d",
        validate_default=True,
        description="files that killed attempts have left and that no manifest names; longer than the longest task runs",
    )
    ledger: Duration | None = Field(
        None, description="rows of the ledger about pruned windows and batches, and facts of tables that are no more"
    )


class OptimizeSettings(Settings):
    """A Delta table is rewritten by `redolake optimize` and `<name>_maintain` if it has many small files."""

    files: int = Field(32, ge=2, description="fewest files of a table that is rewritten into larger ones")
    file_bytes: Bytes = Field(64 * 2**20, description="it is rewritten if its files are smaller on average")
    minutes: float = Field(20, gt=0, description="after these minutes no further table is begun; a batch waits meanwhile")
