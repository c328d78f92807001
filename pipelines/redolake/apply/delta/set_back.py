"""Whether a Delta table still holds what was applied to it."""

from __future__ import annotations

from redolake.apply.delta.log import DeltaLog, base_of
from redolake.errors import TableSetBack
from redolake.records.batches.spec import TableTask


def check_not_set_back(task: TableTask, start: int, position: int | None, log: DeltaLog | None) -> None:
    """Raise TableSetBack when the table lacks applied commits, or when another writer changed its rows.

    A position below the batch is normal where nothing changed since; only the position that the last batch recorded shows an
    older copy. RESTORE and other writers leave the position unchanged; the commits after our last one show them.
    """
    if task.hold is not None and task.hold.at_scn <= start:
        return
    if task.at_least is not None and position is None and log is None:
        raise TableSetBack(
            f"commits up to SCN {task.at_least} were applied, and there is no Delta table: `target` or `lake` in pipelines.yml "
            "was changed, the folder was moved or removed, or a snapshot load of it did not end",
            cure="restore the setting or the folder, or move the folder to this path, and run `redolake resume "
            f"{task.table}`; or run `redolake snapshot {task.table} --replace`, which loads the table here and leaves an older "
            "folder as it is",
            table=task.table,
            path=task.target,
        )
    what = None
    if task.at_least is not None and (position is None or position < task.at_least):
        what = (
            f"the Delta table holds commits up to SCN {position}, and held those up to SCN {task.at_least} before: it is an "
            "older copy, or a snapshot load of it did not end"
        )
    elif position is not None and log is not None:
        for version, operation in log.foreign_writes(base_of(task.app_id))[:1]:
            what = f"another writer changed rows in version {version} of the Delta table ({operation})"
    if what is not None:
        cure = f"run `redolake snapshot {task.table} --replace` to rebuild the table"
        raise TableSetBack(what, cure=cure, table=task.table, path=task.target)
