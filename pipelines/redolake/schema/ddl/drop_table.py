"""DROP TABLE, FLASHBACK TABLE and PURGE.

A dropped table keeps its OBJECT_ID in the recycle bin and when it is taken out again. Its key's constraint then has a name of
Oracle's own.
"""

from __future__ import annotations

import re
from dataclasses import replace

from redolake.schema.ddl.constraint import OF_RECYCLE_BIN
from redolake.schema.ddl.effect import Effect
from redolake.schema.ddl.rename_table import give_name
from redolake.schema.ddl_statement import DdlStatement
from redolake.values.ddl_policies import SNAPSHOT_OR_IGNORE
from redolake.values.table import TableId, TableVersion

RECYCLED = re.compile(r"BIN\$.{22}==\$\d+")


def read(statement: DdlStatement, version: TableVersion) -> Effect | None:
    if _is_recycling(statement.from_start()):
        return Effect(version)  # the user's own statement follows
    statement.from_start()
    if statement.take("PURGE", "TABLE"):
        return _purge(statement, version)
    is_own = statement.row.object_id == version.object_id
    if statement.take("DROP", "TABLE"):
        return Effect(_drop(statement, version, is_own=is_own))
    if statement.take("FLASHBACK", "TABLE"):
        return _take_back(statement, version, is_own=is_own)
    return None


def _is_recycling(statement: DdlStatement) -> bool:
    """Return whether Oracle renames the table into the recycle bin or out of it."""
    if not statement.row.info.startswith("INTERNAL") or not statement.take("ALTER", "TABLE"):
        return False
    _, old = statement.qualified_name()
    return statement.take("RENAME", "TO") and any(RECYCLED.fullmatch(name) for name in (old, statement.name()))


def _purge(statement: DdlStatement, version: TableVersion) -> Effect:
    """Only what was dropped can be purged; a name may be that of an older table in the recycle bin."""
    if version.dropped_at is None and statement.row.object_id in (0, version.object_id):
        raise statement.refuse("PURGE of a table whose DROP is not in the redo", "recreate", SNAPSHOT_OR_IGNORE)
    return Effect(version)


def _drop(statement: DdlStatement, version: TableVersion, *, is_own: bool) -> TableVersion:
    if not is_own:  # by its name alone it may be a table that was created again
        which = statement.row.object_id or "without number"
        raise statement.refuse(
            f"DROP of object {which} with the name of the table, which is object {version.object_id}", "recreate"
        )
    statement.take("IF", "EXISTS")
    _, name = statement.qualified_name()
    if name != version.in_oracle.name:  # the name of the table has passed to another object
        raise statement.refuse(f"the table was called {name}, and no RENAME in the redo explains it", "recreate")
    while statement.take_any("CASCADE CONSTRAINTS", "CASCADE CONSTRAINT", "PURGE"):
        pass
    if statement.take("AS"):  # Oracle's own addition: the name in the recycle bin
        statement.name()
    if not statement.done:
        raise statement.not_understood()
    if version.dropped_at is not None:
        return version  # of a DROP USER, after a DROP TABLE of its own
    later = statement.dictionary_after()
    is_back = later is not None and later.object_id == version.object_id
    if statement.policies.drop_table == "hold" and not is_back:
        raise statement.refuse("the table was dropped", "drop_table")
    return replace(version, dropped_at=statement.row.scn)


def _take_back(statement: DdlStatement, version: TableVersion, *, is_own: bool) -> Effect | None:
    statement.qualified_name()
    while statement.take(","):
        statement.qualified_name()
    if statement.take_any("TO SCN", "TO TIMESTAMP", "TO RESTORE POINT"):
        return Effect(version)  # the rows are deleted and inserted, with new ROWIDs, and the redo has that
    statement.need("TO", "BEFORE", "DROP")
    if not is_own:
        what = "another dropped table was taken out of the recycle bin under the name of the table"
        raise statement.refuse(what, "recreate")
    back = replace(version, dropped_at=None, key_constraint=OF_RECYCLE_BIN)  # it keeps the name that it had there
    if statement.take("RENAME", "TO"):
        back = give_name(statement, back, TableId(version.in_oracle.owner, statement.name()))
    if not statement.done:
        raise statement.not_understood()
    return Effect(back)
