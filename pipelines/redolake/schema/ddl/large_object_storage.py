"""LOB (c, d) STORE AS ..: where large objects are kept. Refused where redo may lack them, or LogMiner may not show them."""

from __future__ import annotations

from redolake.schema.ddl_statement import DdlStatement

PLAIN = (
    "ENABLE STORAGE IN ROW", "DISABLE STORAGE IN ROW", "CACHE READS", "CACHE", "NOCACHE", "LOGGING", "RETENTION MAX",
    "RETENTION AUTO", "RETENTION NONE", "RETENTION", "KEEP_DUPLICATES", "NOCOMPRESS", "REBUILD FREEPOOLS",
)  # fmt: skip
NUMBERED = ("CHUNK", "PCTVERSION", "FREEPOOLS", "RETENTION MIN")
NAMED = ("TABLESPACE",)


def take_storage(statement: DdlStatement) -> bool:
    """Take one LOB (..) STORE AS [SECUREFILE | BASICFILE] [segment] [(parameters)]. Raises SchemaConflict for parameters that
    may leave values out of the redo: NOLOGGING, compression, deduplication and encryption."""
    if not statement.take("LOB", "("):
        return False
    statement.name()
    while statement.take(","):
        statement.name()
    statement.need(")", "STORE", "AS")
    statement.take_any("SECUREFILE", "BASICFILE")
    if statement.sees_name() and not _ends(statement):
        statement.name()
    if statement.sees("("):
        take_parameters(statement)
    return True


def take_parameters(statement: DdlStatement) -> None:
    """Take parameters in parentheses."""
    statement.need("(")
    while not statement.take(")"):
        if statement.take_any(*NAMED):
            statement.name()
        elif statement.take("STORAGE"):
            statement.skip_parentheses()
        elif statement.take_any(*NUMBERED):
            statement.whole_number()
        elif not statement.take_any(*PLAIN):
            raise statement.not_understood()


def _ends(statement: DdlStatement) -> bool:
    return any(statement.sees(word) for word in ("ADD", "MODIFY", "DROP", "LOB", "ONLINE", "TABLESPACE", "PARALLEL", "UPDATE"))
