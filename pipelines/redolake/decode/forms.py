"""The parts of a redo statement: its verb, the clause of a value, and the form in which a value is written."""

from __future__ import annotations

from enum import IntEnum

from redolake.values.redo import Operation


class Verb(IntEnum):
    """What a statement does; UNKNOWN for a row that was not understood."""

    UNKNOWN = 0
    INSERT = Operation.INSERT
    DELETE = Operation.DELETE
    UPDATE = Operation.UPDATE


class Clause(IntEnum):
    """The clause of a statement that contains a value."""

    VALUES = 0
    SET = 1
    WHERE = 2


class Form(IntEnum):
    """How a value is written: as a literal, or NUMBER without quotes; NULL and the forms after it contain no value.

    The compiled loops contain these numbers, and may have been kept by an older release: none is used again.
    """

    TEXT = 0
    DATE = 1
    TIMESTAMP = 2
    TIMESTAMP_TZ = 3
    DAY_INTERVAL = 4
    YEAR_INTERVAL = 5
    HEX = 6
    JSON = 7
    UNISTR = 8
    NUMBER = 9
    TIMESTAMP_LTZ = 14
    MOMENT = 15  # the literal of the SQL standard
    NULL = 10
    EMPTY_LOB = 11
    XML = 12
    UNSUPPORTED = 13


FUNCTIONS = {
    "TO_DATE(": Form.DATE,
    "TO_TIMESTAMP(": Form.TIMESTAMP,
    "TO_TIMESTAMP_TZ(": Form.TIMESTAMP_TZ,
    "TO_TIMESTAMP_ITZ(": Form.TIMESTAMP_LTZ,  # as peers spell it
    "TO_TIMESTAMP_LTZ(": Form.TIMESTAMP_LTZ,
    "TIMESTAMP ": Form.MOMENT,
    "TO_DSINTERVAL(": Form.DAY_INTERVAL,
    "TO_YMINTERVAL(": Form.YEAR_INTERVAL,
    "HEXTORAW(": Form.HEX,
    "/* JSON */ HEXTORAW(": Form.JSON,
    "UNISTR(": Form.UNISTR,
}
CONSTANTS = {
    "NULL": Form.NULL,
    "EMPTY_CLOB()": Form.EMPTY_LOB,
    "EMPTY_BLOB()": Form.EMPTY_LOB,
    "/* JSON */ EMPTY_BLOB()": Form.EMPTY_LOB,
    "XMLType(:1)": Form.XML,
    "Unsupported Type": Form.UNSUPPORTED,
}
