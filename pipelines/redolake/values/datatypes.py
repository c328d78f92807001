"""Oracle's types, each one row: its words in DDL, how a snapshot fetches it, and what each reader of the redo shows of it.

How its values are read is its family's (decode/datatypes). What a row leaves out is what is safe: a type that OpenLogReplicator
is not known to give is refused there, and one that DDL does not name here holds its table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

# In a row of the redo with the others; in rows of their own, in pieces or always whole; or not at all: then LogMiner shows a
# change of the table without values, or without those of the column.
Shown = Literal["value", "pieces", "document", "nothing"]
Charset = Literal["database", "national", "unicode"]

NUMBER_TEXT = "TO_CHAR({0}, 'TM9', 'NLS_NUMERIC_CHARACTERS=''.,''')"
ZONED_TEXT = "TO_CHAR({0}, 'SYYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM', 'NLS_CALENDAR=GREGORIAN')"
# A local time zone is shown in that of the session, whatever it is.
UTC_TEXT = "TO_CHAR({0} AT TIME ZONE '+00:00', 'SYYYY-MM-DD HH24:MI:SS.FF9', 'NLS_CALENDAR=GREGORIAN')"
# The key says that the column is a value: JSON_OBJECT(column) alone is read in two ways. Attributes that are NULL stay.
JSON_TEXT = (
    "CASE WHEN {0} IS NOT NULL THEN JSON_QUERY(JSON_OBJECT('v' VALUE {0} NULL ON NULL RETURNING CLOB), '$.v' RETURNING CLOB "
    "ERROR ON ERROR) END"
)
EXACT = ""
NOT_GIVEN = "OpenLogReplicator does not give the type"
SIX_DIGITS = "OpenLogReplicator writes six digits of it"
OF_PARTS = (
    "OpenLogReplicator puts together only those parts of a large object that the transaction wrote, and sends nothing of a "
    "change that leaves the row as it is"
)


@dataclass(frozen=True, slots=True)
class Datatype:
    """`name` is the one in OracleType.

    in_ddl      the words by which DDL names it, where a name is all that DDL says of it
    as_redo     SQL of a text that is cast as the literals of redo are, where the driver's Arrow does not hold the type exactly
    as_value    SQL of a text that is the value in the lake
    stream      what OpenLogReplicator lacks of it; EXACT for nothing
    moment      a date with its time, without a zone or with one; None for what is none
    charset     of a text
    is_large    a value may be large: Oracle stores it apart, or LogMiner cannot show it
    hides_rows  LogMiner shows each row of a table with such a column as UNSUPPORTED
    is_users    a kind of a user's type
    """

    name: str
    in_ddl: tuple[str, ...] = ()
    as_redo: str | None = None
    as_value: str | None = None
    stream: str = NOT_GIVEN
    moment: Literal["local", "zoned"] | None = None
    charset: Charset | None = None
    is_octets: bool = False
    is_large: bool = False
    shown: Shown = "value"
    hides_rows: bool = False
    is_users: bool = False


# Our names of strings beyond the classic limits (MAX_STRING_SIZE = EXTENDED), which Oracle stores as large objects.
PLAIN_BYTES = {"VARCHAR2": 4000, "NVARCHAR2": 4000, "RAW": 2000}
EXTENDED = {name: f"EXTENDED {name}" for name in PLAIN_BYTES}
OVER_THE_LIMIT: Mapping[str, Any] = {"stream": OF_PARTS, "is_large": True, "shown": "nothing", "hides_rows": True}

# BOOLEAN, JSON and VECTOR hide rows as measured on 23ai.
DATATYPES = {
    one.name: one
    for one in (
        Datatype("NUMBER", stream=EXACT),
        Datatype("FLOAT", as_redo=NUMBER_TEXT, stream=EXACT),
        Datatype("BINARY_FLOAT", ("BINARY_FLOAT",), stream=SIX_DIGITS),
        Datatype("BINARY_DOUBLE", ("BINARY_DOUBLE",), stream=SIX_DIGITS),
        Datatype("VARCHAR2", stream=EXACT, charset="database"),
        Datatype("CHAR", stream=EXACT, charset="database"),
        Datatype("NVARCHAR2", stream=EXACT, charset="national"),
        Datatype("NCHAR", stream=EXACT, charset="national"),
        Datatype("RAW", stream=EXACT, is_octets=True),
        Datatype("DATE", ("DATE",), stream=EXACT, moment="local"),
        Datatype("TIMESTAMP", stream=EXACT, moment="local"),
        Datatype("TIMESTAMP WITH TIME ZONE", as_redo=ZONED_TEXT, stream=EXACT, moment="zoned"),
        Datatype("TIMESTAMP WITH LOCAL TIME ZONE", as_redo=UTC_TEXT, stream=EXACT, moment="zoned"),
        Datatype("INTERVAL DAY TO SECOND", as_redo="TO_CHAR({0})", stream=EXACT),
        Datatype("INTERVAL YEAR TO MONTH", as_redo="TO_CHAR({0})", stream=EXACT),
        Datatype("ROWID", ("ROWID",), as_redo="ROWIDTOCHAR({0})"),
        Datatype("UROWID", as_redo="CAST({0} AS VARCHAR2(4000))", stream=EXACT, shown="nothing"),
        Datatype("BOOLEAN", ("BOOLEAN", "BOOL"), stream=EXACT, shown="nothing", hides_rows=True),
        Datatype("CLOB", ("CLOB",), stream=OF_PARTS, charset="database", is_large=True, shown="pieces"),
        Datatype("NCLOB", ("NCLOB",), stream=OF_PARTS, charset="national", is_large=True, shown="pieces"),
        Datatype("BLOB", ("BLOB",), stream=OF_PARTS, is_octets=True, is_large=True, shown="pieces"),
        Datatype(
            "XMLTYPE", as_value="XMLSERIALIZE(CONTENT {0} AS CLOB)", stream=OF_PARTS, charset="unicode", is_large=True,
            shown="document",
        ),
        Datatype(
            "JSON", ("JSON",), as_value="JSON_SERIALIZE({0} RETURNING CLOB)", stream=OF_PARTS, charset="unicode", is_large=True,
            shown="nothing", hides_rows=True,
        ),
        Datatype("VECTOR", as_value="VECTOR_SERIALIZE({0} RETURNING CLOB)", shown="nothing", hides_rows=True),
        Datatype("LONG", charset="database", is_large=True, shown="nothing"),
        Datatype("LONG RAW", is_octets=True, is_large=True, shown="nothing"),
        Datatype(EXTENDED["VARCHAR2"], charset="database", **OVER_THE_LIMIT),
        Datatype(EXTENDED["NVARCHAR2"], charset="national", **OVER_THE_LIMIT),
        Datatype(EXTENDED["RAW"], is_octets=True, **OVER_THE_LIMIT),
        Datatype("OBJECT", as_value=JSON_TEXT, shown="nothing", is_users=True),  # SDO_GEOMETRY is one
        Datatype("VARRAY", as_value=JSON_TEXT, shown="nothing", is_users=True),
        Datatype("NESTED TABLE", shown="nothing", is_users=True),
        Datatype("REF", shown="nothing", is_users=True),
    )
}  # fmt: skip
_TYPES = DATATYPES.values()

NAMED_IN_DDL = {words: one.name for one in _TYPES for words in one.in_ddl}
AS_TEXT = {one.name: text for one in _TYPES if (text := one.as_redo or one.as_value) is not None}
READ_AS_REDO = frozenset(one.name for one in _TYPES if one.as_redo is not None)
LARGE_TYPES = frozenset(one.name for one in _TYPES if one.is_large)
LARGE_OBJECTS = frozenset(one.name for one in _TYPES if one.shown == "pieces")
DOCUMENTS = frozenset(one.name for one in _TYPES if one.shown == "document")
ASSEMBLED = LARGE_OBJECTS | DOCUMENTS
UNSHOWN = frozenset(one.name for one in _TYPES if one.shown in ("document", "nothing"))
WHOLE_ROWS_UNSUPPORTED = frozenset(one.name for one in _TYPES if one.hides_rows)
USER_TYPES = frozenset(one.name for one in _TYPES if one.is_users)
MOMENTS = frozenset(one.name for one in _TYPES if one.moment is not None)
DATES = frozenset(one.name for one in _TYPES if one.moment == "local")
IN_DATABASE_SET = frozenset(one.name for one in _TYPES if one.charset == "database")
TEXTS = frozenset(one.name for one in _TYPES if one.charset is not None and not one.is_large)
LARGE_TEXTS = frozenset(one.name for one in _TYPES if one.charset is not None and one.is_large)
OCTETS = frozenset(one.name for one in _TYPES if one.is_octets)


def is_unshown(name: str) -> bool:
    """Return whether it is the name of a type in UNSHOWN, or of a user's type that this user may not see."""
    return name in UNSHOWN or "." in name
