"""What a pipeline does at each kind of DDL, as `on_ddl` in pipelines.yml declares it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from redolake.values.table import TableId


@dataclass(frozen=True, slots=True)
class DdlPolicies:
    """The defaults remove no row and change no value.

    follow       do the same in Delta: to rows, or to the column
    keep         leave the rows in Delta as they are, and go on
    resnapshot   stop the table before the statement, and read it again by itself, within the limits of `resnapshot`
    hold         stop the table before the statement
    """

    truncate: Literal["follow", "keep", "hold"] = "hold"
    drop_table: Literal["keep", "hold"] = "hold"
    recreate: Literal["resnapshot", "hold"] = "hold"
    drop_partition: Literal["follow", "keep", "resnapshot", "hold"] = "hold"
    computed_default: Literal["follow", "resnapshot", "hold"] = "hold"
    rename_column: Literal["follow", "hold"] = "follow"
    narrow: Literal["follow", "hold"] = "hold"
    primary_key: Literal["resnapshot", "hold"] = "hold"
    unknown_ddl: Literal["resnapshot", "hold"] = "hold"
    renamed_to: TableId | None = None  # the table's name in Oracle, as `renamed_to` declares it


PolicyName = Literal[
    "truncate", "drop_table", "recreate", "drop_partition", "computed_default", "rename_column", "narrow", "primary_key",
    "unknown_ddl",
]  # fmt: skip

DEFAULT_POLICIES = DdlPolicies()


IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Answers:
    """What lets a table go on that a statement holds: values of `on_ddl`, and those of `redolake resume --ddl`, for this
    statement alone. `later` are values of `on_ddl` for statements that have not landed yet: rows are read again when a window
    lands."""

    on: tuple[str, ...] = ()
    once: tuple[str, ...] = ()
    later: tuple[str, ...] = ()


ANSWERS: Mapping[PolicyName, Answers] = {
    "truncate": Answers(("follow", "keep"), ("follow", "keep")),
    "drop_table": Answers(("keep",)),
    "recreate": Answers(("resnapshot",)),
    "drop_partition": Answers(("keep", "resnapshot"), ("keep", IGNORE), ("follow",)),
    "computed_default": Answers(("resnapshot",), later=("follow",)),
    "rename_column": Answers(("follow",), ("follow",)),
    "narrow": Answers(("follow",), ("follow",)),
    "primary_key": Answers(("resnapshot",)),
    "unknown_ddl": Answers(("resnapshot",), (IGNORE,)),
}
SNAPSHOT_OR_IGNORE = Answers(("resnapshot",), (IGNORE,))
SNAPSHOT_ONLY = Answers(("resnapshot",))
