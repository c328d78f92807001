"""Find Delta tables with files of an older Redolake: timestamps as INT96, which few readers know outside 1677 to 2262."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from redolake.apply.lake_tables import read_log
from redolake.config import Pipeline
from redolake.context import open_to_read
from redolake.errors import Finding, LakeDamaged, RedolakeError
from redolake.host.filesystem import open_filesystem, storage_errors
from redolake.steps.shared.folders import LOGS_AT_ONCE, with_contents
from redolake.values.table import TableId

LOOKED_AT = 3  # footers of each table: a file that has it is older than those that have not


def old_timestamps(pipeline: Pipeline) -> list[Finding]:
    """Return a warning for each table, or history, with such files, by the footers of its oldest ones. What cannot be read
    is another check's finding."""
    with suppress(RedolakeError), open_to_read(pipeline) as context, ThreadPoolExecutor(LOGS_AT_ONCE) as pool:
        tables = sorted(with_contents(context) & set(context.pipeline.by_id))
        of = context.pipeline
        found = [*pool.map(lambda table: of_table(table, of.target(table)), tables)]
        found += pool.map(lambda table: of_history(table, of.history_target(table)), tables)
        return [finding for finding in found if finding is not None]
    return []


def of_table(table: TableId, path: str) -> Finding | None:
    if (what := old_files(path)) is None:
        return None
    return Finding(str(table), what, f"run `redolake snapshot {table} --replace`, which writes them again", "warning")


def of_history(table: TableId, path: str | None) -> Finding | None:
    if path is None or (what := old_files(path)) is None:
        return None
    again = f"`redolake history rebuild {table} --execute --yes --reason WHY`"
    cure = f"read it with Spark or DuckDB; or move {path} away and run {again}: it has what is in the landing then"
    return Finding(f"{table}: history", what, cure, "warning")


def old_files(path: str) -> str | None:
    """Say how many of the oldest files of a Delta table have such timestamps; None for none, and where it cannot be read."""
    with suppress(LakeDamaged, pa.ArrowException, *storage_errors()):  # type: ignore[arg-type]
        log = read_log(path)
        if log is None or not any(field.get("type") == "timestamp" for field in log.fields()):
            return None
        filesystem, root = open_filesystem(path)
        files = log.files()
        oldest = [file for file in files if "://" not in file and not file.startswith("/")][:LOOKED_AT]
        old = 0
        for file in oldest:
            with filesystem.open(f"{root}/{unquote(file)}", "rb") as opened:
                schema = pq.ParquetFile(opened).schema
                old += any(schema.column(number).physical_type == "INT96" for number in range(len(schema)))
        if old:
            return (
                f"{old} of the {len(oldest)} oldest of its {len(files)} files have timestamps as INT96: 9999-12-31 is "
                "2262-04-11 or an error for most readers but Spark and DuckDB"
            )
    return None
