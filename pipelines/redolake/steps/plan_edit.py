"""Say what an edited pipelines.yml means for each table, before a run acts on it. Reads the ledger, the landing, and whose the
Delta tables are where a table has no contents yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from redolake.context import Run, reader
from redolake.errors import LandingDamaged
from redolake.land import layout
from redolake.ledger import TableEntry
from redolake.reconcile.batches import attempt_of, batch_result, find_superseded, loaded_tasks, scn_of
from redolake.reconcile.chosen_columns import choice_conflict, key_rule_conflict
from redolake.reconcile.mappings import mapping_conflict
from redolake.reconcile.newest_batches import end_of, newest_first
from redolake.reconcile.table_versions import all_known_versions, rules
from redolake.reconcile.version_conflicts import key_policy_conflict
from redolake.records.batches.spec import BatchSpec, Destination, TableTask
from redolake.records.loads import SnapshotTask
from redolake.steps.shared.folders import folder_findings, refused_folders, with_contents
from redolake.steps.shared.reader_change import handover_text
from redolake.values.null_rule import is_else_null, own_rules
from redolake.values.table import Rules, TableId, TableVersion

Effect = Literal["joins", "leaves", "held", "changes", "same"]
LastTask = TableTask | SnapshotTask


@dataclass(frozen=True, slots=True)
class TableEdit:
    """`held`: the next batch holds the table until it is read again; `changes`: the next commit follows the setting."""

    table: str
    effect: Effect
    what: str
    cure: str = ""


@dataclass(frozen=True, slots=True)
class EditPlan:
    """`patterns` are new ones: the dictionary says at the next plan which tables they add. `handover` says how another reader
    of the redo will go on; empty where the same one does."""

    pipeline: str
    tables: tuple[TableEdit, ...]
    patterns: tuple[str, ...]
    handover: str = ""

    @property
    def edits(self) -> tuple[TableEdit, ...]:
        return tuple(edit for edit in self.tables if edit.effect != "same")


@reader
def plan_edit(context: Run) -> EditPlan:
    entries = {entry.table: entry for entry in context.ledger.tables()}
    versions, tasks = all_known_versions(context), last_tasks(context)
    configured = {table.id for table in context.pipeline.tables}
    filled = with_contents(context)
    empty = [table for table in configured if table not in filled]
    refused = folder_findings(context.pipeline, filled) | refused_folders(context, empty)
    without = windows_without(context, entries.values())
    edits = [
        edit_of(context, table, entries.get(table), versions.get(table, []), tasks.get(table), without.get(table))
        if table not in refused
        else TableEdit(str(table), "held", refused[table].what, refused[table].cure)
        for table in configured
    ]
    edits += [plan_leaving(table) for table in entries if table not in configured]
    return EditPlan(
        context.name, tuple(sorted(edits, key=lambda edit: edit.table)), new_patterns(context), handover_text(context)
    )


def last_tasks(context: Run) -> dict[TableId, LastTask]:
    """Return each table's part of the newest batch, or of a load that is newer or without a batch since: they have the settings
    that it was written with. Batches and loads that a later load of the table has set back do not count."""
    found, end, void = dict[TableId, LastTask](), 0, find_superseded(context)
    recent = context.ledger.recent_batches()
    applied = context.ledger.applied_of(recent)
    for batch in newest_first(name for name in recent if name in applied)[:1]:
        end = end_of(batch).scn
        found = {task.table: task for task in spec_of(context, batch).tables if batch not in void.get(task.table, ())}
    for name in reversed(context.landing.files.names(layout.LOADS)):
        if scn_of(name) < end and with_contents(context) <= set(found):
            break
        for task, _ in loaded_tasks(context, name) or ():
            known = found.get(task.table)
            is_newer = known is None or (isinstance(known, TableTask) and task.scn >= end)
            if is_newer and name not in void.get(task.table, ()):
                found[task.table] = task
    return found


def spec_of(context: Run, batch: str) -> BatchSpec:
    """Return the spec of an applied batch. Raises LandingDamaged where the landing lacks it. The ledger's path is not used: the
    landing may have been moved, and a rebuilt ledger has none."""
    result = batch_result(context, batch)
    file = layout.batch_manifest(batch) if result is None else layout.batch_spec(batch, attempt_of(result.token))
    spec = None if result is None else context.landing.files.read_record(BatchSpec, file)
    if spec is None:
        cure = "set `landing` to the folder that has it; a landing is moved with all its files, while nothing runs"
        raise LandingDamaged("the newest batch is not in the landing", cure=cure, path=context.landing.files.path_text(file))
    return spec


def new_patterns(context: Run) -> tuple[str, ...]:
    patterns = context.pipeline.patterns
    _, recorded = context.landing.captured.newest() if patterns else (0, None)
    known = () if recorded is None else recorded.patterns
    return tuple(match.match for match in patterns if match.match not in known)


def plan_leaving(table: TableId) -> TableEdit:
    what = "is no longer captured; its Delta table stays as it is"
    return TableEdit(
        str(table), "leaves", what, f"if you list it again later: `redolake snapshot {table.in_command} --replace`"
    )


def edit_of(
    context: Run,
    table: TableId,
    entry: TableEntry | None,
    known: list[TableVersion],
    task: LastTask | None,
    window: str | None,
) -> TableEdit:
    """Return what the edit means for one table; `window` is the first that was mined without it."""
    name = str(table)
    if window is not None:
        what = f"was not listed when window {window} was landed, which has none of its rows"
        return TableEdit(name, "held", what, f"`redolake snapshot {table.in_command} --replace`")
    if entry is None or entry.complete_to_scn is None:
        what = "is new" if entry is None else "has no contents yet"
        once = "" if context.ledger.position() is None else ", after a window with it has landed"
        return TableEdit(name, "joins", what, f"`redolake snapshot {table.in_command}`{once}")
    conflicts = [] if not known else [
        key_policy_conflict(context, known[-1]), choice_conflict(context.pipeline, known[-1]),
        key_rule_conflict(context.pipeline, known[-1]), mapping_conflict(context.pipeline, known[0]),
    ]  # fmt: skip
    for conflict in conflicts:
        if conflict is not None:
            return TableEdit(name, "held", conflict.what, conflict.cure)
    if task is None:
        return TableEdit(name, "same", "")
    if (target := context.pipeline.target(table)) != (written := destination_of(task)).target:
        what = f"`target` or `lake` has changed: its contents are in {written.target}, and not in {target}"
        instead = f"`redolake snapshot {table.in_command} --replace`, which leaves it as it is"
        cure = f"restore the setting, or move the folder there; or {instead}"
        return TableEdit(name, "held", what, cure)
    if again := [*rewritten(context, table, task, known)]:
        cure = f"`redolake snapshot {table.in_command} --replace`; or restore the old setting"
        return TableEdit(name, "held", f"{', '.join(again)}: its rows were written otherwise", cure)
    if changed := [*followed_changes(context, table, task, known)]:
        return TableEdit(name, "changes", f"{', '.join(changed)}: the next commit follows")
    return TableEdit(name, "same", "")


def windows_without(context: Run, entries: Iterable[TableEntry]) -> dict[TableId, str]:
    """Return for live tables the first window after their position that was mined without them."""
    live, found = [entry for entry in entries if entry.state == "live"], dict[TableId, str]()
    if not live:
        return found
    for window in context.landing.windows.each_after(min(entry.position for entry in live).plus(1)):
        mined = set(window.tables)
        for entry in live:
            if str(entry.table) not in mined and layout.ends_after(window.name, entry.position.plus(1)):
                found.setdefault(entry.table, window.name)
    return found


def destination_of(task: LastTask) -> Destination | SnapshotTask:
    return task.destination if isinstance(task, TableTask) else task


def rules_of(task: LastTask) -> Rules:
    return task.course.rules if isinstance(task, TableTask) else task.rules


def rewritten(context: Run, table: TableId, task: LastTask, known: list[TableVersion]) -> Iterator[str]:
    """Yield the settings that differ from those of the last batch, and that only a new snapshot can bring about."""
    options = context.pipeline.target_options(table)
    yield from options.differing(destination_of(task).options, new_snapshot=True)
    if own_rules(rules(context, table, known)) != own_rules(rules_of(task)):
        yield "columns"


def followed_changes(context: Run, table: TableId, task: LastTask, known: list[TableVersion]) -> Iterator[str]:
    options = context.pipeline.target_options(table)
    was_null, is_null = (any(map(is_else_null, found.values())) for found in (rules_of(task), rules(context, table, known)))
    if is_null != was_null:
        yield "on_error, by which values that do not fit " + ("become NULL" if is_null else "hold the table; NULLs stay")
    yield from options.differing(destination_of(task).options, new_snapshot=False)
    if isinstance(task, TableTask) and context.pipeline.history_target(table) != task.destination.history:
        begins = (
            " begins with the table's rows as they are then"
            if task.destination.history is None
            else " stays as it is, and gets no more"
        )
        yield f"history, which{begins}"
