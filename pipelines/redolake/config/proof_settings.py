"""How often each table is to be compared with the source, and how much time and how many sessions that may take."""

from __future__ import annotations

from pydantic import Field

from redolake.config.keep import Duration
from redolake.config.values import Settings


class VerifySettings(Settings):
    """Without `every` each scheduled run of `<name>_verify` compares all tables."""

    every: Duration | None = Field(
        None,
        description="how often each table is compared: `redolake verify --due`, and `<name>_verify` by its schedule, "
        "take those whose last comparison of all rows is older, the oldest first",
    )
    budget: Duration | None = Field(
        None, description="after so long no further table is begun; those that are left come first the next time"
    )
    sessions: int = Field(
        1, ge=1, le=64, description="sessions that hash parts of one large table side by side, each with a CPU of the source"
    )
    rows_per_second: int | None = Field(
        None,
        ge=1,
        description="most rows a second that all sessions hash together, on average, by small parts with pauses "
        "between them; default: no limit",
    )
