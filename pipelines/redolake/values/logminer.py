"""What only LogMiner gives: operations that are no whole change of a row, placeholders, and columns of a landed row.

A second source has none of this. Which modules know it, and may not, is a contract in pyproject.toml;
docs/development/second-source.md draws the seam.
"""

from __future__ import annotations

from enum import IntEnum

CHARACTERS, CODE_UNITS = "characters", "code units"  # what it counts in text: one beyond the BMP is 1, or 2 of UTF-16


class Mined(IntEnum):
    """V$LOGMNR_CONTENTS.OPERATION_CODE beside those of `redo.Operation`, as listed in the Oracle Database Reference; names are
    those of the column OPERATION.

    The list there lacks 29 and 91 to 93, which databases return. A large object is erased by 29; the Reference says 28.
    """

    INTERNAL = 0
    SELECT_LOB_LOCATOR = 9
    LOB_WRITE = 10
    LOB_TRIM = 11
    SELECT_FOR_UPDATE = 25
    LOB_ERASE_AS_DOCUMENTED = 28
    LOB_ERASE = 29
    MISSING_SCN = 34
    XML_DOC_BEGIN = 68
    XML_DOC_WRITE = 70
    XML_DOC_END = 71
    LONG_VALUE_BEGIN = 91  # 32K_BEGIN: a VARCHAR2 or RAW above 4000 bytes
    LONG_VALUE_WRITE = 92
    LONG_VALUE_END = 93
    UNSUPPORTED = 255


# Parts of a document or an extended string: the row with which it begins names the table's row.
PARTS_OF_VALUES = (
    Mined.XML_DOC_WRITE,
    Mined.XML_DOC_END,
    Mined.LONG_VALUE_WRITE,
    Mined.LONG_VALUE_END,
)
# Reported for a table, but they do not contain the whole change of a row.
LARGE_OBJECT_CHANGES = (
    Mined.SELECT_LOB_LOCATOR,
    Mined.LOB_WRITE,
    Mined.LOB_TRIM,
    Mined.LOB_ERASE_AS_DOCUMENTED,
    Mined.LOB_ERASE,
    Mined.XML_DOC_BEGIN,
    Mined.XML_DOC_WRITE,
    Mined.XML_DOC_END,
    Mined.LONG_VALUE_BEGIN,
    Mined.LONG_VALUE_WRITE,
    Mined.LONG_VALUE_END,
)

NO_ROWID = "A" * 18  # the placeholder for a row without a ROWID of its own, as in an INSERT with large objects
IN_OTHER_ROWS = ""  # in place of a document that is not in its statement

# Columns of a landed row that are LogMiner's alone.
COLUMNS = (
    "sequence",
    "rs_id",
    "ssn",
    "pxid",  # of parallel DML: the coordinator's transaction
    "data_object_id",
    "object_version",
    "rollback",  # a partial rollback is redo of its own
    "status",
    "info",
    "sql_redo",  # the change as text, which decode/ reads
)
