"""Find a table whose name passed to another object although the redo contains no DDL that says so, as after DBMS_REDEFINITION.

The table's own object then has another name, and what is changed under that name is no change of the table. LogMiner takes
names from the dictionary of mining time, so no row says when the names were exchanged: the table stops before the window.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from redolake.errors import SchemaConflict
from redolake.land.ddl_text import new_name
from redolake.land.dictionary import Readings
from redolake.records.windows import WindowManifest, other_names
from redolake.values.table import TableId, TableVersion


def find_redefinition(
    version: TableVersion,
    windows: Sequence[WindowManifest],
    readings: Readings,
    object_ids: Collection[int],
    names: Collection[TableId],
) -> SchemaConflict | None:
    """Return the conflict if rows or a DDL of the table's objects have a name that is none of its `names`, while its own name
    belongs to another object. `version` is the last one; a RENAME of the windows explains a name."""
    table, resetlogs_id = version.table, windows[0].resetlogs_id
    targets = {new_name(row.sql) for window in windows for row in window.ddl if row.object_id in object_ids}
    for window in windows:
        # Once the old table is dropped, its rows have no name any more; the DROP has.
        of_ddl = {TableId(row.owner, row.table) for row in window.ddl if row.object_id in object_ids}
        other = {*other_names(window, table), *of_ddl} - set(names)
        found = sorted(name for name in other if name.name not in targets)
        here = readings.just_after(table, resetlogs_id, window.end - 1) if found else None
        if here is None or here.in_oracle != version.in_oracle or here.object_id in object_ids:
            continue
        return SchemaConflict(
            f"{here.in_oracle} is another object in the dictionary ({here.object_id} and not {version.object_id}), and its "
            f"redo has the name {found[0]} too, as after DBMS_REDEFINITION, or after a RENAME of another table to its name",
            cure=f"run `redolake snapshot {table} --replace` to read the table that has the name now",
            table=table,
            scn=here.scn_before,
            policy="recreate",
        )
    return None
