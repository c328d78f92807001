"""EXCHANGE PARTITION of another table WITH this one. Its only redo row names the partitioned table.

A name without an owner is one of the session's schema, so the statement counts for every captured table that has the name.
"""

from __future__ import annotations

from redolake.schema.ddl.effect import Effect
from redolake.schema.ddl_statement import DdlStatement
from redolake.values.ddl_policies import SNAPSHOT_OR_IGNORE
from redolake.values.table import TableId, TableVersion


def read(statement: DdlStatement, version: TableVersion) -> Effect | None:
    """Raise SchemaConflict if the statement exchanges rows of this table; return None for any other."""
    if not statement.from_start().take("ALTER", "TABLE"):
        return None
    statement.take("IF", "EXISTS")
    owner, name = statement.qualified_name()
    if not statement.take_any("EXCHANGE PARTITION", "EXCHANGE SUBPARTITION"):
        return None
    while not (statement.done or statement.take("WITH", "TABLE")):
        statement.skip()
    if statement.done:
        return None
    theirs, partner = statement.qualified_name()
    own = version.in_oracle
    if partner != own.name or theirs not in (None, own.owner) or (theirs is None and (owner, name) == (own.owner, own.name)):
        return None
    of = str(TableId(owner, name)) if owner else name
    doubt = "" if theirs else f"; no owner is named with {partner}, so it may be the table of that name in another schema"
    raise statement.refuse(
        f"EXCHANGE PARTITION of {of} took the rows of the table and gave it those of the partition, which no redo shows{doubt}",
        "drop_partition",
        SNAPSHOT_OR_IGNORE,
    )
