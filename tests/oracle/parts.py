"""A table of the scratch schema, and the pipeline that copies it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from redolake import steps
from tests.oracle.conftest import Database
from tests.references.source_comparison import compare_with_source

LOGGED = "ALTER TABLE {0} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"


class Parts:
    def __init__(self, database: Database, folder: Path, spark: Any) -> None:
        self.database, self.folder, self.spark = database, folder, spark
        self.pipeline = database.pipeline(folder, [f"{database.scratch.user}.PARTS"])

    def create(self) -> None:
        self.change("CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(40), quantity NUMBER(9))")

    def drop(self) -> None:
        self.change("DROP TABLE parts PURGE")

    def change(self, *statements: str) -> None:
        self.database.run(self.database.scratch, statements)

    def log_and_let_read(self) -> None:
        self.change(LOGGED.format("parts"), f"GRANT SELECT, FLASHBACK ON parts TO {self.database.reader.user}")

    def snapshot(self, *, replace: bool = False) -> None:
        names = [str(table.id) for table in self.pipeline.tables] if replace else None
        steps.take_snapshot(self.pipeline, names, replace=replace, source=self.database.reader, spark=self.spark)

    def catch_up(self) -> None:
        self.database.archive_logs()
        steps.run_pipeline(self.pipeline, until_caught_up=True, wait=True, source=self.database.reader, spark=self.spark)

    def rows(self) -> int:
        """Return the number of rows, after each was found equal in source and Delta."""
        (table,) = compare_with_source(self.pipeline, self.database.reader).tables
        assert table.equal, str(table)
        return table.source_rows
