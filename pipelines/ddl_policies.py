"""What a pipeline does at each kind of DDL, as `on` in pipelines.yml declares it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class DdlPolicies:
    """The defaults remove no row and change no value.

    follow   do the same in Delta
    keep     leave the rows in Delta as they are, and go on
    evolve   change the Delta column
    hold     stop the table before the statement
    """

    truncate: Literal["follow", "keep", "hold"] = "hold"
    drop_table: Literal["hold"] = "hold"
    recreate: Literal["hold"] = "hold"
    drop_partition: Literal["hold"] = "hold"
    rename_column: Literal["evolve", "hold"] = "evolve"
    narrow: Literal["evolve", "hold"] = "hold"
    primary_key: Literal["hold"] = "hold"
    unknown_ddl: Literal["hold"] = "hold"


DEFAULT_POLICIES = DdlPolicies()
