"""DBMS_STATS.GATHER_TABLE_STATS, as far as others see it: NUM_ROWS, and FOR COLUMNS (A, B) adds a hidden virtual column.

Other statistics are not kept, and those of a schema not at all.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

from standin.engine.ddl.columns import append_statistics
from standin.engine.ddl.redo import write_ddl
from standin.engine.sessions.names import table_named
from standin.engine.sessions.procedures import Parameter, procedures
from standin.engine.sessions.session import EngineSession
from standin.interface import OraError

_GROUPS = re.compile(r"\(\s*([\w$#]+(?:\s*,\s*[\w$#]+)+)\s*\)")


def as_dictionary(name: str) -> str:
    """Return a name as the dictionary spells it: upper case unless quoted, as the package reads its arguments."""
    return name[1:-1] if re.fullmatch(r'"[^"]+"', name) else name.upper()


def gather_table_stats(session: EngineSession, ownname: Any, tabname: Any, partname: Any, method_opt: Any) -> None:
    """Commit, as Oracle does, and add a column for each group of columns that `method_opt` names."""
    session.commit()
    with session.database.lock:
        store = table_named(session, as_dictionary(str(ownname)), as_dictionary(str(tabname)))
        table = store.definition
        table.counted_rows = sum(1 for _ in store.visible(session.database.clock.scn, None))
        for group in _GROUPS.findall(str(method_opt or "")):
            names = [name.strip().upper() for name in group.split(",")]
            if any(table.column(name) is None for name in names):
                raise OraError(20001, f"Invalid Extension: {group}")
            number = int(hashlib.sha256(",".join(names).encode()).hexdigest()[:12], 16)
            column = f"SYS_STU#{number:X}"
            if table.column(column) is not None:
                continue
            append_statistics(session, store, column)
            listed = ",".join(f'"{name}"' for name in names)
            write_ddl(
                session,
                f'alter table "{table.owner}"."{table.name}" add ({column} as (sys_op_combined_hash({listed}))'
                " virtual BY USER for statistics)",
                table,
            )


def gather_schema_stats(session: EngineSession, **_: Any) -> None:
    session.commit()


def register() -> None:
    parameters: list[Parameter | str] = ["ownname", "tabname", Parameter("partname", None), Parameter("method_opt", None)]
    procedures.register("DBMS_STATS.GATHER_TABLE_STATS", gather_table_stats, parameters, public=True)
    names = ("estimate_percent", "block_sample", "granularity", "cascade", "options")
    of_schema: list[Parameter | str] = ["ownname", *(Parameter(name, None) for name in names)]
    procedures.register("DBMS_STATS.GATHER_SCHEMA_STATS", gather_schema_stats, of_schema, public=True)
