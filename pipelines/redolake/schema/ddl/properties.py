"""ALTER TABLE with properties that change no column and no row that exists: storage, compression, memory, caches, policies.

Compression applies to rows that are written later; MOVE with a compression is refused elsewhere. Not here: NOLOGGING, and
hybrid columnar compression, which may give an updated row another ROWID.
"""

from __future__ import annotations

from collections.abc import Callable

from redolake.schema.ddl.large_object_storage import take_extents, take_parameters
from redolake.schema.ddl_statement import DdlStatement

PLAIN = (
    "READ ONLY", "READ WRITE", "LOGGING", "CACHE", "NOCACHE", "NOPARALLEL", "MONITORING", "NOMONITORING",
    "ENABLE ROW MOVEMENT", "DISABLE ROW MOVEMENT", "MINIMIZE RECORDS_PER_BLOCK", "NOMINIMIZE RECORDS_PER_BLOCK",
    "MEMOPTIMIZE FOR READ", "MEMOPTIMIZE FOR WRITE", "NO MEMOPTIMIZE FOR READ", "NO MEMOPTIMIZE FOR WRITE",
    "ENABLE TABLE LOCK", "DISABLE TABLE LOCK", "NO FLASHBACK ARCHIVE", "NO CELLMEMORY", "FOR STAGING", "NOT FOR STAGING",
    "DROP CLUSTERING", "INDEXING ON", "INDEXING OFF", "ENABLE CONTAINER_MAP", "DISABLE CONTAINER_MAP",
    "ENABLE CONTAINERS_DEFAULT", "DISABLE CONTAINERS_DEFAULT",
)  # fmt: skip
NUMBERED = ("PCTFREE", "PCTUSED", "INITRANS", "MAXTRANS")
COMPRESSIONS = (
    "NOCOMPRESS", "ROW STORE COMPRESS ADVANCED", "ROW STORE COMPRESS BASIC", "ROW STORE COMPRESS", "COMPRESS FOR OLTP",
    "COMPRESS FOR ALL OPERATIONS", "COMPRESS FOR DIRECT_LOAD OPERATIONS", "COMPRESS BASIC", "COMPRESS",
)  # fmt: skip
COLUMNAR = ("COLUMN STORE COMPRESS", "COMPRESS FOR QUERY", "COMPRESS FOR ARCHIVE")
IN_MEMORY = (
    "MEMCOMPRESS FOR DML", "MEMCOMPRESS FOR QUERY LOW", "MEMCOMPRESS FOR QUERY HIGH", "MEMCOMPRESS FOR QUERY",
    "MEMCOMPRESS FOR CAPACITY LOW", "MEMCOMPRESS FOR CAPACITY HIGH", "MEMCOMPRESS FOR CAPACITY", "MEMCOMPRESS AUTO",
    "NO MEMCOMPRESS", "PRIORITY NONE", "PRIORITY LOW", "PRIORITY MEDIUM", "PRIORITY HIGH", "PRIORITY CRITICAL",
    "DISTRIBUTE BY ROWID RANGE", "DISTRIBUTE BY PARTITION", "DISTRIBUTE BY SUBPARTITION", "DISTRIBUTE AUTO",
    "DISTRIBUTE",
    "DUPLICATE ALL", "DUPLICATE", "NO DUPLICATE", "SPATIAL", "TEXT", "ALL",
)  # fmt: skip
POLICIES = ("ILM DISABLE_ALL", "ILM ENABLE_ALL", "ILM DELETE_ALL")
POLICY = ("ILM ADD POLICY", "ILM DELETE POLICY", "ILM ENABLE POLICY", "ILM DISABLE POLICY")


def _require_rows(statement: DdlStatement) -> None:
    """Raise SchemaConflict where hybrid columnar compression comes next, now or by a policy later."""
    if any(statement.sees(*phrase.split()) for phrase in COLUMNAR):
        raise statement.refuse("hybrid columnar compression may give updated rows new ROWIDs and is not supported")


def take_property(statement: DdlStatement) -> bool:
    _require_rows(statement)
    return bool(statement.take_any(*PLAIN, *COMPRESSIONS, *POLICIES)) or any(take(statement) for take in TAKERS)


def _take_number(statement: DdlStatement) -> bool:
    if not statement.take_any(*NUMBERED):
        return False
    statement.whole_number()
    return True


def _take_parentheses(statement: DdlStatement) -> bool:
    """Take a property whose details are in parentheses."""
    if not statement.take_any("STORAGE", "RESULT_CACHE", "ANNOTATIONS") and not _take_added_annotations(statement):
        return False
    statement.skip_parentheses()
    return True


def _take_added_annotations(statement: DdlStatement) -> bool:
    """Take ADD ANNOTATIONS where a parenthesis follows: without one, ANNOTATIONS is a column."""
    return statement.sees("ADD", "ANNOTATIONS", "(") and statement.take("ADD", "ANNOTATIONS")


def _take_nested_table(statement: DdlStatement) -> bool:
    """Take MODIFY NESTED TABLE c RETURN AS VALUE or LOCATOR: what a query gets."""
    start = statement.position
    if statement.take("MODIFY", "NESTED", "TABLE") and statement.sees_name():
        statement.name()
        if statement.take_any("RETURN AS VALUE", "RETURN AS LOCATOR"):
            return True
    statement.back_to(start)
    return False


def _take_new_key(statement: DdlStatement) -> bool:
    """Take REKEY, which encrypts the encrypted columns with a new key."""
    if not statement.take("REKEY"):
        return False
    if statement.take("USING"):
        statement.text()
    return True


def _take_retention(statement: DdlStatement) -> bool:
    """Take how long an immutable or blockchain table and its rows must stay."""
    if not statement.take_any("NO DROP", "NO DELETE"):
        return False
    if statement.take("UNTIL"):
        statement.whole_number()
        statement.need("DAYS")
        statement.take_any("IDLE", "AFTER INSERT")
    statement.take("LOCKED")
    return True


def _take_coalesce(statement: DdlStatement) -> bool:
    """Take COALESCE of an index-organized table, whose rows have no place; COALESCE PARTITION moves rows."""
    start = statement.position
    if statement.take("COALESCE") and statement.done:
        return True
    statement.back_to(start)
    return False


def _take_parallel(statement: DdlStatement) -> bool:
    """Take PARALLEL, with a number, or with (DEGREE n INSTANCES n) as it was before 8i."""
    if not statement.take("PARALLEL"):
        return False
    if statement.sees("("):
        statement.skip_parentheses()
    elif not statement.take("DEFAULT"):
        statement.number()
    return True


def _take_in_memory(statement: DdlStatement) -> bool:
    """Take INMEMORY or NO INMEMORY, of the table or of columns in parentheses."""
    if statement.take("NO", "INMEMORY"):
        statement.take("TEXT")
        if statement.sees("("):
            statement.skip_parentheses()
        return True
    if not statement.take("INMEMORY"):
        return False
    while True:
        if statement.sees("("):
            statement.skip_parentheses()
        elif statement.take("FOR", "SERVICE"):
            statement.name()
        elif not statement.take_any(*IN_MEMORY):
            return True


def _take_cell_memory(statement: DdlStatement) -> bool:
    if not statement.take("CELLMEMORY"):
        return False
    statement.take_any("MEMCOMPRESS FOR QUERY", "MEMCOMPRESS FOR CAPACITY", "NO MEMCOMPRESS")
    return True


def _take_named(statement: DdlStatement) -> bool:
    """Take FLASHBACK ARCHIVE [name], whose history is in tables of its own, and the collation of later columns."""
    if statement.take("DEFAULT", "COLLATION"):
        statement.name()
        return True
    if not statement.take("FLASHBACK", "ARCHIVE"):
        return False
    if statement.sees_name():
        statement.name()
    return True


def _take_clustering(statement: DdlStatement) -> bool:
    """Take attribute clustering, up to the end: the order in which later loads and moves write rows."""
    return bool(statement.take_any("ADD CLUSTERING", "MODIFY CLUSTERING")) and _skip_to_end(statement)


def _take_policy(statement: DdlStatement) -> bool:
    """Take an ILM policy up to the end. Its later actions are DDLs of their own in the redo, but for a compression of rows."""
    return bool(statement.take_any(*POLICY)) and _skip_to_end(statement)


def _skip_to_end(statement: DdlStatement) -> bool:
    while not statement.done and not statement.sees("NOLOGGING"):
        _require_rows(statement)
        statement.skip()
    return True


def _take_column_annotations(statement: DdlStatement) -> bool:
    """Take MODIFY c ANNOTATIONS (..), or several of them in parentheses."""
    start = statement.position
    if not statement.take("MODIFY"):
        return False
    in_parentheses = statement.take("(")
    while statement.sees_name():
        statement.name()
        if not statement.take("ANNOTATIONS"):
            break
        statement.skip_parentheses()
        if in_parentheses and statement.take(","):
            continue
        if not in_parentheses or statement.take(")"):
            return True
        break
    statement.back_to(start)
    return False


def _take_large_object(statement: DdlStatement) -> bool:
    """Take MODIFY LOB (c) (parameters) or MODIFY VARRAY c (parameters)."""
    start = statement.position
    in_parentheses = statement.take("MODIFY", "LOB", "(")
    if not (in_parentheses or statement.take("MODIFY", "VARRAY")) or not statement.sees_name():
        statement.back_to(start)
        return False
    name = statement.name()
    if (in_parentheses and not statement.take(")")) or not statement.sees("("):
        statement.back_to(start)
        return False
    take_parameters(statement, [name])
    return True


TAKERS: tuple[Callable[[DdlStatement], bool], ...] = (
    _take_number, _take_parentheses, take_extents, _take_parallel, _take_in_memory, _take_cell_memory, _take_named,
    _take_retention, _take_coalesce, _take_clustering, _take_policy, _take_column_annotations, _take_large_object,
    _take_nested_table, _take_new_key,
)  # fmt: skip
