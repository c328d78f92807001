"""The tables into which LOG ERRORS writes: their names, and the columns that are Oracle's own."""

from __future__ import annotations

from standin.model import SqlType

CONTROL_COLUMNS = {
    "ORA_ERR_NUMBER$": "NUMBER", "ORA_ERR_MESG$": "VARCHAR2(2000)", "ORA_ERR_ROWID$": "UROWID(4000)",
    "ORA_ERR_OPTYP$": "VARCHAR2(2)", "ORA_ERR_TAG$": "VARCHAR2(2000)",
}  # fmt: skip
UNSUPPORTED = ("LONG", "LONG RAW", "CLOB", "NCLOB", "BLOB", "BFILE", "XMLTYPE", "JSON", "VECTOR")
_LARGEST_NAME = 25  # of the table's name in that of its error log
_NOT_TEXT = {
    "RAW": "RAW(2000)",
    "UROWID": "UROWID",
    "ROWID": "UROWID",
    **dict.fromkeys(("NCHAR", "NVARCHAR2"), "NVARCHAR2(2000)"),
}


def default_name(table: str) -> str:
    return f"ERR$_{table[:_LARGEST_NAME]}"


def logged_type(kind: SqlType) -> str:
    """Return a type that takes each value of a column, and those that did not fit into it."""
    return _NOT_TEXT.get(kind.name, "VARCHAR2(4000)")
