"""Tell from Spark's error that a file cannot be read, and which: of the table, or of the landing."""

from __future__ import annotations

import re

from redolake.apply.spark.conditions import OF_LOG, SIGNS
from redolake.errors import LakeDamaged, LandingDamaged
from redolake.values.table import TableId

FILE = re.compile(r"[^\s'\"]+\.(?:parquet|json|bin)\b")


def damaged_file(surprise: Exception) -> str | None:
    """Return the file that Spark could not read; None for any other error."""
    text = str(surprise)
    sign = SIGNS.search(text)
    file = None if sign is None else FILE.search(text, sign.start()) or FILE.search(text)
    return None if file is None else file[0]


def table_damage(table: TableId, path: str, surprise: Exception) -> LakeDamaged | LandingDamaged | None:
    """Return the error of a table at `path`, whose log, or a file of whose data or redo, could not be read."""
    file = damaged_file(surprise)
    if file is None:
        condition = OF_LOG.search(str(surprise))
        return None if condition is None else lake_damage(table, path, f"Spark cannot read the Delta log: {condition[0]}")
    if re.search(r"/(?:redo|reread|before|whole|part)-[^/]*\.parquet$|/carry[-/]", file) and "-c000" not in file:
        again = "restore it, or mine its window again (`redolake remine WINDOW --replace --execute`)"
        cure = f"{again}; then `redolake resume {table}`"
        return LandingDamaged("Spark could not read a file of the landing", cure=cure, path=file, table=table)
    return lake_damage(table, file, "Spark could not read a file of the Delta table: it is gone or damaged")


def lake_damage(table: object, path: str, what: str) -> LakeDamaged:
    """Return the error of a Delta table that a load mends."""
    cure = f"run `redolake snapshot {table} --replace`; or restore the file from a copy and run `redolake resume {table}`"
    return LakeDamaged(what, cure=cure, path=path, table=table)


def log_damage(table: object, path: str, what: str) -> LakeDamaged:
    return lake_damage(table, path, f"the Delta log is damaged: {what}")


def damage_of_file(path: str, what: str) -> LakeDamaged:
    """Return the error of a log of which nobody has said whose it is."""
    return LakeDamaged(f"the Delta log is damaged: {what}", cure="restore the file from a copy", path=path)
