"""How often each table is to be compared with the source, and how long that may take at a time."""

from __future__ import annotations

from pydantic import Field

from pipelines.config.keep import Duration
from pipelines.config.values import Settings


class VerifySettings(Settings):
    """Without `every` each scheduled run of `<name>_verify` compares all tables."""

    every: Duration | None = Field(
        None,
        description="each table is to be compared this often: `redolake verify --due`, and `<name>_verify` by its schedule, "
        "compare the tables whose last comparison of all rows is older, the oldest first",
    )
    budget: Duration | None = Field(
        None, description="after so long no further table is begun; those that are left come first the next time"
    )
