"""What may answer a DDL that holds a table, by the name of its policy (config/on_ddl.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

PolicyName = Literal[
    "truncate", "drop_table", "recreate", "drop_partition", "computed_default", "rename_column", "narrow", "primary_key",
    "unknown_ddl",
]  # fmt: skip

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
