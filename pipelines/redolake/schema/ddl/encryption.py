"""ENCRYPT and DECRYPT of columns and of large objects: rows keep their values and their ROWIDs."""

from __future__ import annotations

from redolake.schema.ddl_statement import DdlStatement


def take_encryption(statement: DdlStatement) -> bool:
    """Take DECRYPT, or ENCRYPT [USING 'algorithm'] [IDENTIFIED BY password] ['integrity'] [[NO] SALT]."""
    if statement.take("DECRYPT"):
        return True
    if not statement.take("ENCRYPT"):
        return False
    if statement.take("USING"):
        statement.text()
    if statement.take("IDENTIFIED", "BY"):
        statement.name()
    statement.text()
    statement.take_any("NO SALT", "SALT")
    return True
