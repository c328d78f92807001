"""Whether a table still holds what was applied to it, and nothing else."""

from __future__ import annotations

from redolake.apply.epochs import cure_of, newest_epoch
from redolake.apply.owner import Owner, check_owner
from redolake.apply.table_log import TableLog, base_of
from redolake.apply.target import Target
from redolake.errors import SchemaConflict, TableSetBack, Transient
from redolake.records.batches.spec import TableTask
from redolake.values.table import TableId


def check_not_set_back(task: TableTask, start: int, position: int | None, log: TableLog | None) -> None:
    """Raise TableSetBack when the table lacks applied commits, or when another writer changed its rows.

    A position below the batch is normal where nothing changed since; only the position that the last batch recorded shows an
    older copy. RESTORE and other writers leave the position unchanged; the commits after our last one show them.
    """
    there = task.destination
    if task.hold is not None and task.hold.at_scn <= start:
        return
    if there.at_least is not None and position is None and log is None:
        raise TableSetBack(
            f"commits up to SCN {there.at_least} were applied, and there is no Delta table: `target` or `lake` in "
            "pipelines.yml was changed, the folder was moved or removed, or a snapshot load of it did not end",
            cure="restore the setting or the folder, or move the folder to this path, and run `redolake resume "
            f"{task.table}`; or run `redolake snapshot {task.table} --replace`, which loads the table here and leaves an older "
            "folder as it is",
            table=task.table,
            path=there.target,
        )
    if there.at_least is not None and (position is None or position < there.at_least):
        raise TableSetBack(
            f"the Delta table holds commits up to SCN {position}, and held those up to SCN {there.at_least} before: it is an "
            "older copy, or a snapshot load of it did not end",
            cure=f"run `redolake snapshot {task.table} --replace` to rebuild the table",
            table=task.table,
            path=there.target,
        )
    check_foreign(log, there.app_id, task.table, there.target)


def check_foreign(log: TableLog | None, app_id: str, table: TableId, path: str, covers: int | None = None) -> None:
    """Raise TableSetBack where another writer has changed rows since the last version of ours that was checked."""
    own = base_of(app_id)
    found = () if log is None or not any(app.startswith(own) for app in log.txns()) else log.foreign_writes(own)
    since = "" if covers is None else ", after the last comparison of all rows"
    for version, operation in found:
        if covers is not None and version <= covers:
            continue
        raise TableSetBack(
            f"another writer changed rows in version {version} of the Delta table ({operation}){since}",
            cure=cure_of(table, path)
            if newest_epoch(log) is not None
            else f"run `redolake verify {table}`, which finds them, then `redolake repair {table} --execute --reason "
            f"TEXT`; or run `redolake snapshot {table} --replace` to rebuild the table",
            table=table,
            path=path,
        )


def check_current(table: Target, owner: Owner | None, table_id: TableId, scn: int, covers: int | None = None) -> None:
    """Raise an error where the table has commits above the SCN, or rows of another writer. `covers` is the newest version whose
    rows were compared: changes of others up to it are known."""
    if table.log is None:
        raise SchemaConflict(
            "the Delta table is missing",
            cure=f"run `redolake snapshot {table_id} --replace`",
            table=table_id,
            path=table.path,
        )
    check_owner(table.log, owner, table_id, table.path)
    check_not_passed(table, table_id, scn)
    check_foreign(table.log, table.base_id, table_id, table.path, covers)


def check_not_passed(table: Target, table_id: TableId, scn: int) -> None:
    """Raise Transient where the table has commits above the SCN up to which the ledger knows them."""
    if (reached := last_change(table)) > scn:
        raise Transient(
            f"the Delta table has commits up to SCN {reached}, and the ledger knows those up to SCN {scn}: a batch "
            "has ended before it was recorded",
            cure="let apply run once, then run it again",
            table=table_id,
        )


def last_change(table: Target) -> int:
    """Return the SCN of the last commit that changed rows; -1 where none is known."""
    return max((found for found in (table.position, table.filled_to) if found is not None), default=-1)
