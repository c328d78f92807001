"""Tell from Spark's error that a file cannot be read, and which: of the table, or of the landing."""

from __future__ import annotations

import re

from redolake.errors import LakeDamaged, LandingDamaged
from redolake.values.table import TableId

# Spark's and Delta's error classes and Java's exceptions for a file that is gone, cut short or changed.
SIGNS = re.compile(
    r"FAILED_READ_FILE|FILE_NOT_EXIST|FileNotFoundException|DELTA_FILE_NOT_FOUND|is not a Parquet file|"
    r"ParquetDecodingException|could not verify page|CORRUPT_FILES|MalformedInputException"
)
FILE = re.compile(r"[^\s'\"]+\.(?:parquet|json|bin)\b")


def damaged_file(surprise: Exception) -> str | None:
    """Return the file that Spark could not read; None for any other error."""
    text = str(surprise)
    sign = SIGNS.search(text)
    file = None if sign is None else FILE.search(text, sign.start()) or FILE.search(text)
    return None if file is None else file[0]


def table_damage(table: TableId, surprise: Exception) -> LakeDamaged | LandingDamaged | None:
    """Return the error of a table, a file of whose data, or of its redo, could not be read."""
    file = damaged_file(surprise)
    if file is None:
        return None
    if re.search(r"/(?:redo|reread|before|whole|part)-[^/]*\.parquet$|/carry[-/]", file) and "-c000" not in file:
        cure = f"restore it, or mine its window again (`redolake remine WINDOW --replace`); then `redolake resume {table}`"
        return LandingDamaged("Spark could not read a file of the landing", cure=cure, path=file, table=table)
    cure = f"run `redolake snapshot {table} --replace`; or restore the file from a copy and run `redolake resume {table}`"
    what = "Spark could not read a file of the Delta table: it is gone or damaged"
    return LakeDamaged(what, cure=cure, path=file, table=table)
