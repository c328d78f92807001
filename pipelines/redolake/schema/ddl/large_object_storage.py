"""LOB (c, d) STORE AS ..: where large objects are kept. Refused where redo may lack them, or LogMiner may not show them.

Compression, deduplication and encryption matter where large objects are assembled from the redo alone: others are read at the
source, or left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from redolake.schema.ddl.encryption import take_encryption
from redolake.schema.ddl_statement import DdlStatement

PLAIN = (
    "ENABLE STORAGE IN ROW", "DISABLE STORAGE IN ROW", "CACHE READS", "CACHE", "NOCACHE", "LOGGING", "RETENTION MAX",
    "RETENTION AUTO", "RETENTION NONE", "RETENTION", "KEEP_DUPLICATES", "NOCOMPRESS", "REBUILD FREEPOOLS",
    "SHRINK SPACE CASCADE", "SHRINK SPACE",
)  # fmt: skip
TRANSFORMATIONS = ("DEDUPLICATE", "COMPRESS LOW", "COMPRESS MEDIUM", "COMPRESS HIGH", "COMPRESS")
NUMBERED = ("CHUNK", "PCTVERSION", "FREEPOOLS", "RETENTION MIN")
NAMED = ("TABLESPACE",)


def take_storage(statement: DdlStatement) -> bool:
    """Take one LOB (..) STORE AS [SECUREFILE | BASICFILE] [segment] [(parameters)]. Raises SchemaConflict for parameters that
    may leave values out of the redo: NOLOGGING, and compression, deduplication and encryption of objects that are assembled."""
    if not statement.take("LOB", "("):
        return False
    names = [statement.name()]
    while statement.take(","):
        names.append(statement.name())
    statement.need(")", "STORE", "AS")
    statement.take_any("SECUREFILE", "BASICFILE")
    if statement.sees_name() and not _ends(statement):
        statement.name()
    if statement.sees("("):
        take_parameters(statement, names)
    return True


def take_parameters(statement: DdlStatement, names: Sequence[str]) -> None:
    """Take parameters in parentheses, of the large objects of these columns."""
    assembled = [name for name in names if statement.choice.assembles and not statement.choice.excludes(name)]
    statement.need("(")
    while not statement.take(")"):
        if statement.take_any(*NAMED):
            statement.name()
        elif statement.take("STORAGE"):
            statement.skip_parentheses()
        elif statement.take_any(*NUMBERED):
            statement.whole_number()
        elif assembled and any(statement.sees(word) for word in ("DEDUPLICATE", "COMPRESS", "ENCRYPT")):
            raise statement.refuse(f"LogMiner may not show the large objects of {', '.join(assembled)} as they are any more")
        elif not (take_encryption(statement) or take_extents(statement) or statement.take_any(*PLAIN, *TRANSFORMATIONS)):
            raise statement.not_understood()


def take_extents(statement: DdlStatement) -> bool:
    """Take ALLOCATE EXTENT [(..)] or DEALLOCATE UNUSED [KEEP n]."""
    if statement.take("ALLOCATE", "EXTENT"):
        if statement.sees("("):
            statement.skip_parentheses()
        return True
    if not statement.take("DEALLOCATE", "UNUSED"):
        return False
    if statement.take("KEEP"):
        statement.whole_number()
        statement.take_any("K", "M", "G", "T", "P", "E")
    return True


def _ends(statement: DdlStatement) -> bool:
    return any(statement.sees(word) for word in ("ADD", "MODIFY", "DROP", "LOB", "ONLINE", "TABLESPACE", "PARALLEL", "UPDATE"))
