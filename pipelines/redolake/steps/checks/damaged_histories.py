"""Find histories that are gone, damaged, or older than the last batch has left them. A batch holds such a table."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from urllib.parse import unquote

from redolake.apply.epochs import check_reached, cure_of, damage_in
from redolake.apply.lake_tables import read_log
from redolake.apply.table_log import TableLog
from redolake.config import Pipeline
from redolake.context import open_to_read
from redolake.errors import Finding, LakeDamaged, RedolakeError, TableSetBack
from redolake.host.filesystem import open_filesystem, storage_errors
from redolake.reconcile.ledger import last_batch
from redolake.reconcile.next_batch import histories_after
from redolake.steps.shared.folders import LOGS_AT_ONCE
from redolake.values.table import TableId


def damaged_histories(pipeline: Pipeline) -> list[Finding]:
    """Return an error for each table whose history is not as the last batch has left it. What cannot be read is another check's
    finding."""
    with suppress(RedolakeError), open_to_read(pipeline) as context:
        last, known = last_batch(context), context.pipeline.by_id
        left = {} if last is None else histories_after(context, last, is_same_incarnation=True)
        with ThreadPoolExecutor(LOGS_AT_ONCE) as pool:
            found = pool.map(
                lambda one: history_finding(context.pipeline, *one), ((t, n) for t, n in left.items() if t in known)
            )
            return [finding for finding in found if finding is not None]
    return []


def history_finding(pipeline: Pipeline, table: TableId, at_least: int) -> Finding | None:
    path = pipeline.history_target(table)
    if path is None:
        return None
    with suppress(*storage_errors()):
        try:
            log = read_log(path, damage_in(table, path))
            check_reached(log, at_least, table, path)
            files, gone = lacking_files(log, path)
        except (LakeDamaged, TableSetBack) as error:
            return Finding(str(table), error.what, error.cure)
        if gone:
            return Finding(str(table), f"{gone} of the {files} files of the history are gone", cure_of(table, path))
    return None


def lacking_files(log: TableLog | None, path: str) -> tuple[int, int]:
    """Return how many files the log names, and how many of them are not there."""
    filesystem, root = open_filesystem(path)
    files = [] if log is None else [unquote(file) for file in log.files() if "://" not in file and not file.startswith("/")]
    there = {str(name).rpartition("/")[2] for name in filesystem.ls(root, detail=False, refresh=True)} if files else set()
    return len(files), sum(file not in there and not filesystem.exists(f"{root}/{file}") for file in files)
