"""RENAME a TO b, and ALTER TABLE a RENAME TO b. The table keeps its OBJECT_ID, its rows and its entry in pipelines.yml.

A name says nothing about which table a user means afterwards: another one may get it. So a rename is followed only where
`renamed_to` declares the new name or a pattern matches it, or where a later dictionary shows the same object under the name
that was looked up then.
"""

from __future__ import annotations

from dataclasses import replace

from redolake.errors import SchemaConflict
from redolake.schema.ddl.effect import Effect
from redolake.schema.ddl_statement import DdlStatement
from redolake.values.table import TableId, TableVersion


def read(statement: DdlStatement, version: TableVersion) -> Effect | None:
    if _names_another(statement, version):
        raise statement.refuse("another table was renamed to the name of the table", "recreate")
    if statement.from_start().take("RENAME"):
        statement.need_name_of_table()
        statement.need("TO")
    elif not (statement.alter_table() and statement.take("RENAME", "TO")):
        return None
    new = TableId(version.in_oracle.owner, statement.name())
    if not statement.done:
        raise statement.not_understood()
    return Effect(give_name(statement, version, new))


def _names_another(statement: DdlStatement, version: TableVersion) -> bool:
    """Return whether the statement gives the table's name to another table, as after a DROP of this one."""
    if statement.row.object_id in (version.object_id, *version.object_ids):
        return False
    if statement.from_start().take("RENAME"):
        _, old = statement.qualified_name()
    elif statement.take("ALTER", "TABLE"):
        statement.take("IF", "EXISTS")
        _, old = statement.qualified_name()
        if not statement.take("RENAME"):
            return False
    else:
        return False
    return old != version.in_oracle.name and statement.take("TO") and statement.name() == version.in_oracle.name


def give_name(statement: DdlStatement, version: TableVersion, new: TableId) -> TableVersion:
    """Return the version under its new name. Raises SchemaConflict where that is not declared."""
    declared = statement.policies.renamed_to or version.table
    if version.in_oracle == declared and not _is_found(statement, version):
        raise _not_declared(statement, version, new)
    return replace(version, renamed_to=None if new == version.table else new)


def _is_found(statement: DdlStatement, version: TableVersion) -> bool:
    """Return whether the table was found after the statement, under the name that was declared at that time."""
    later = statement.dictionary_after()
    return later is not None and later.object_id == version.object_id


def _not_declared(statement: DdlStatement, version: TableVersion, new: TableId) -> SchemaConflict:
    error = statement.refuse(f"the table was renamed to {new}", "recreate")
    # Oracle may have created partitions whose rows no window has landed.
    goes_on = "resume" if not version.parts or version.organization == "index" else "snapshot --replace"
    name = version.table.in_command
    error.cure = (
        f"to go on with the same table, give its entry in `tables` this name (`table: {version.table}, renamed_to: {new}`) and "
        f"run `redolake {goes_on} {name}`; to capture another table that has the old name now, once no other entry of `tables` "
        f"has it, run `redolake snapshot {name} --replace`"
    )
    return error
