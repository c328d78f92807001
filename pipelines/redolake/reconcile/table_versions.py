"""Table versions for a range of SCNs: baselines from the dictionary, and the changes that landed DDL makes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from redolake.apply.table_log import app_id_of
from redolake.config import Pipeline
from redolake.config.mapping import of_column
from redolake.context import Run
from redolake.errors import SchemaConflict
from redolake.land.dictionary import Readings
from redolake.ledger.entries import VersionEntry
from redolake.reconcile.approvals import approved_ddl
from redolake.reconcile.chosen_columns import choice_conflict, chosen_columns, key_rule_conflict, refusal_rule, text_rule
from redolake.reconcile.mappings import mapping_conflict, with_mapping
from redolake.reconcile.redefined import find_redefinition
from redolake.reconcile.truncated_by_parents import ddl_rows
from redolake.reconcile.unknown_objects import find_unknown_object
from redolake.reconcile.version_conflicts import (
    dictionary_conflict,
    doubtful_ddl,
    key_lost,
    key_policy_conflict,
    unseen_partitions,
)
from redolake.reconcile.whole_tables import files_of, first_unread
from redolake.records.batches.spec import (
    ColumnChange,
    Course,
    Destination,
    HoldAt,
    MinedNames,
    NameInRedo,
    TableTask,
    WholeFile,
)
from redolake.records.codec import from_body, to_body
from redolake.records.windows import DdlRow, WindowManifest
from redolake.schema import (
    Derived,
    baseline,
    derive,
    guard_conflict,
    versions_before,
)
from redolake.schema.ddl_statement import ReadingAfter
from redolake.values.datatypes import TEXTS
from redolake.values.delivery import deliveries_of, is_named_in_redo
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.null_rule import with_nulls
from redolake.values.quarantine import QuarantineRule
from redolake.values.scn import Scn
from redolake.values.table import BINARY, Part, Rules, TableId, TableVersion, TypeRule


def record_baselines(context: Run, dictionary: Mapping[TableId, DictionaryTable]) -> None:
    """Record the dictionary's present description as each table's version; columns that stay keep their ids."""
    for table, found in chosen_columns(context.pipeline, dictionary).items():
        known = known_versions(context, table)
        policy, choice = context.pipeline.table(table).key_policy, context.pipeline.choice(table)
        version = baseline(found, found.scn_before, known[-1] if known else None, policy, choice)
        version = with_mapping(context.pipeline, version, has_key=False)
        context.ledger.record_version(table, version.from_scn, to_body(version), "baseline")


def known_versions(context: Run, table: TableId) -> list[TableVersion]:
    """Return the versions from the last baseline on; older ones belong to contents that a newer snapshot replaced."""
    return since_last_baseline(context.ledger.versions(table))


def all_known_versions(context: Run) -> dict[TableId, list[TableVersion]]:
    """Return the known versions of every table that has one, with one query."""
    return {table: since_last_baseline(entries) for table, entries in context.ledger.all_versions().items()}


def dropped_tables(context: Run) -> dict[TableId, int]:
    """Return the SCN of the DROP of each table that was dropped, is kept in Delta, and was not taken out of the recycle bin."""
    newest = {table: entries[-1].body for table, entries in context.ledger.all_versions().items()}
    return {table: int(scn) for table, body in newest.items() if (scn := body.get("dropped_at")) is not None}


def since_last_baseline(entries: Sequence[VersionEntry]) -> list[TableVersion]:
    first = max((number for number, entry in enumerate(entries) if entry.source == "baseline"), default=0)
    return read_versions(entries[first:])


def versions_of_time(entries: Sequence[VersionEntry], scn: int) -> list[TableVersion]:
    """Return the versions of the snapshot that was the last one at an SCN: from its baseline to the next one. Changes from that
    SCN on have the columns of their own time, whatever a newer snapshot has found."""
    baselines = [number for number, entry in enumerate(entries) if entry.source == "baseline"]
    first = max((number for number in baselines if entries[number].from_scn <= scn), default=0)
    end = next((number for number in baselines if number > first), len(entries))
    return read_versions(entries[first:end])


def next_baseline(entries: Sequence[VersionEntry], scn: int) -> int | None:
    """Return the SCN of the first snapshot's dictionary after an SCN."""
    return next((int(entry.from_scn) for entry in entries if entry.source == "baseline" and entry.from_scn > scn), None)


def read_versions(entries: Sequence[VersionEntry]) -> list[TableVersion]:
    return [from_body(TableVersion, entry.body, f"a version of {entry.table}") for entry in entries]


def object_ids(context: Run, dictionary: Mapping[TableId, DictionaryTable]) -> dict[int, TableId]:
    """Return all object ids that the captured tables have or had."""
    captured, ids = {table.id for table in context.pipeline.tables}, dict[int, TableId]()
    for table, found in dictionary.items():
        ids |= dict.fromkeys((found.object_id, *(part.object_id for part in found.parts)), table)
    versions = context.ledger.all_versions()
    own = {
        number: table
        for table in versions
        if table in captured
        for entry in versions[table]
        for number in (entry.body["object_id"], *(part["object_id"] for part in entry.body["parts"]))
    }
    return ids | own | newest_ids(versions, captured)  # a name may have passed to another captured table


def present_object_ids(context: Run) -> dict[int, TableId]:
    """Return the captured tables by the object id that they have now."""
    return newest_ids(context.ledger.all_versions(), {table.id for table in context.pipeline.tables})


def newest_ids(versions: Mapping[TableId, Sequence[VersionEntry]], captured: Container[TableId]) -> dict[int, TableId]:
    return {int(entries[-1].body["object_id"]): table for table, entries in versions.items() if table in captured}


@dataclass(frozen=True, slots=True)
class History:
    """A table's versions over a range; `known` are those of the ledger. `conflict` says why the dictionary contradicts them."""

    table: TableId
    known: tuple[TableVersion, ...]
    derived: Derived
    conflict: SchemaConflict | None = None
    parts: tuple[Part, ...] = ()
    whole: tuple[WholeFile, ...] = ()

    @property
    def hold(self) -> HoldAt | None:
        """The first DDL that is not supported."""
        found = self.derived.hold
        return None if found is None else HoldAt(found.scn, found.error.as_dict())


def history(
    context: Run,
    known: Sequence[TableVersion],
    start: int,
    windows: Sequence[WindowManifest],
    end: int,
    readings: Readings,
    *,
    as_configured: bool = True,
    is_held: bool = False,
) -> History:
    """Return a table's versions over a batch's range from those that are known, of which there is at least one. A statement
    whose rows should have been read again, and were not, stops the table. Versions of an older snapshot need not have the key
    and the columns that pipelines.yml chooses today."""
    table, resetlogs_id = known[-1].table, windows[0].resetlogs_id
    parts = known_parts(known, readings, resetlogs_id, start)
    ids = known_object_ids(known, readings, resetlogs_id, start)
    described = partial(readings.first_after, table, resetlogs_id)
    rows = ddl_rows(known, start, windows, readings)
    follow = partial(derived_versions, context, versions_before(known, start), described=described, object_ids=ids)
    derived = follow(rows)
    stopped = first_unread(derived, table, windows)
    if stopped is not None:
        derived = replace(follow([row for row in rows if row.scn < stopped.scn]), hold=stopped)
    conflict = (
        None if derived.hold else dictionary_conflict(readings, table, derived, resetlogs_id, start, end, is_held=is_held)
    )
    if conflict is None and derived.steps:  # columns were added or dropped
        conflict = guard_conflict(derived.versions[-1], described)
    names = {table, *(version.in_oracle for version in derived.versions)}
    conflict = (
        doubtful_ddl(table, rows, {window.doubtful_scn for window in windows}, ids, names)
        or unseen_partitions(derived, readings, resetlogs_id)
        or find_unknown_object(context, known, windows, readings, ids, derived.versions[-1].dropped_at)
        or conflict
    )
    names |= {context.pipeline.table(table).in_oracle}
    conflict = find_redefinition(derived.versions[-1], windows, readings, ids, names) or conflict
    if as_configured:
        conflict = conflict or choice_conflict(context.pipeline, derived.versions[-1])
        conflict = conflict or key_rule_conflict(context.pipeline, derived.versions[-1])
        conflict = conflict or mapping_conflict(context.pipeline, known[0])
        conflict = conflict or key_policy_conflict(context, known[-1])
    conflict = conflict or key_lost(readings, known, resetlogs_id, start)
    return History(table, tuple(known), derived, conflict, parts, tuple(files_of(context, table, windows)))


def derive_over(
    context: Run,
    known: Sequence[TableVersion],
    start: int,
    windows: Sequence[WindowManifest],
    readings: Readings,
) -> Derived:
    """Follow the DDL of the windows, whether the rows that it changed were read again or not."""
    table, resetlogs_id = known[-1].table, windows[0].resetlogs_id
    ids = known_object_ids(known, readings, resetlogs_id, start)
    described = partial(readings.first_after, table, resetlogs_id)
    rows = ddl_rows(known, start, windows, readings)
    return derived_versions(context, versions_before(known, start), rows, described, ids)


def derived_versions(
    context: Run,
    versions: Sequence[TableVersion],
    rows: Sequence[DdlRow],
    described: ReadingAfter | None,
    object_ids: Collection[int],
) -> Derived:
    """Follow DDL as the policies of the table, and what people approved for single statements, say."""
    table = versions[-1].table
    policies, refused = context.pipeline.ddl_policies(table), refusal_rule(context.pipeline, table)
    follow = partial(derive, versions, rows, described, policies, refused, object_ids)
    derived = follow()
    return derived if derived.hold is None else follow(approved_ddl(context, table))  # few tables have approvals


def known_parts(known: Sequence[TableVersion], readings: Readings, resetlogs_id: int, start: int) -> tuple[Part, ...]:
    """Return the partitions that the table may have redo of: those of its versions, of the last dictionary that was read before
    `start`, and of all later ones. A partition that came and went between two readings is not known, and holds the table.
    """
    table, ids = known[-1].table, {version.object_id for version in known}
    parts = {part for version in known for part in version.parts}
    before = next(readings.newest_first(resetlogs_id, 0, start), None)
    for reading in (*readings.newest_first(resetlogs_id, start), *(() if before is None else (before,))):
        here = reading.table(table)
        if here is not None and here.object_id in ids:
            parts.update(here.parts)
    return tuple(sorted(parts))


def known_object_ids(known: Sequence[TableVersion], readings: Readings, resetlogs_id: int, start: int) -> set[int]:
    """Return the object ids of the table and of its known partitions."""
    parts = known_parts(known, readings, resetlogs_id, start)
    return {version.object_id for version in known} | {part.object_id for part in parts}


def owners_of_unknown(
    context: Run, known: Mapping[TableId, Sequence[TableVersion]], windows: Sequence[WindowManifest]
) -> Iterator[tuple[TableId, str]]:
    """Yield the tables that may own changes of the windows which LogMiner resolved to no table, and why. `known` has at least
    one version of each table."""
    if not windows:
        return
    readings, first = Readings(context.landing.dictionary), windows[0]
    for table, versions in known.items():
        ids = known_object_ids(versions, readings, first.resetlogs_id, first.start)
        conflict = find_unknown_object(context, versions, windows, readings, ids, versions[-1].dropped_at)
        if conflict is not None:
            yield table, conflict.what


def record_derived(context: Run, past: History, end: int) -> None:
    """Record the versions found in the redo, so that the next range starts from them."""
    known, statements = {version.from_scn for version in past.known}, past.derived.statements
    for version in past.derived.versions:
        if version.from_scn not in known and version.from_scn < end:
            context.ledger.record_version(
                past.table, version.from_scn, to_body(version), "ddl", ddl=statements.get(version.from_scn)
            )


NamesOf = Callable[[Sequence[TableVersion]], tuple[MinedNames, ...]]


def table_task(
    context: Run,
    past: History,
    app: str,
    target: str,
    hold: HoldAt | None = None,
    at_least: int | None = None,
    names: NamesOf = lambda _: (),
) -> TableTask:
    """Return the table's part of a batch spec.

    The first version is valid for all older rows too. A transaction open at the snapshot may have changes from before the
    dictionary was read; where a DDL ran in between, `known_from` stops them.
    """
    versions = tuple(replace(version, parts=past.parts) for version in past.derived.versions)
    first = versions[0].since(Scn(0))
    ruled = rules(context, past.table, versions)
    steps = tuple(column_change(step, ruled) for step in past.derived.steps)
    return TableTask(
        past.table,
        Destination(
            target,
            app,
            at_least=at_least,
            options=context.pipeline.target_options(past.table),
            history=context.pipeline.history_target(past.table),
            quarantine=quarantine_rule(context.pipeline, versions),
        ),
        Course(
            versions=(first, *versions[1:]),
            rules=ruled,
            ddl=steps,
            defaulted=tuple(sorted({c.id for version in versions for c in version.columns if c.has_default})),
            mined_names=names((first, *versions[1:])),
            names=names_in_redo(versions, context.pipeline.table(past.table).in_oracle),
            whole=past.whole,
        ),
        hold,
    )


def quarantine_rule(pipeline: Pipeline, versions: Sequence[TableVersion]) -> QuarantineRule:
    """Return what may go to the table's quarantine, and where that is: something may be there from earlier, whatever
    pipelines.yml says now. Nothing new goes there of a table whose changes are not each in one row of the redo, or have no
    key of their own."""
    table = versions[-1].table
    policies = pipeline.settings(table).on_error
    classes, limit = policies.quarantined if is_named_in_redo(deliveries_of(versions)) else (), policies.at_most
    return QuarantineRule(pipeline.quarantine_path(table), classes, limit.rows, limit.percent)


def names_in_redo(versions: Sequence[TableVersion], declared: TableId) -> tuple[NameInRedo, ...]:
    """Return the names that the redo may have for the table: LogMiner takes them from the dictionary of mining time, so an
    older row may have a later name, and no row has a name that the table had lost before."""
    lost: dict[TableId, int | None] = {}
    for version, later in pairwise(versions):
        if later.in_oracle != version.in_oracle:
            lost[version.in_oracle] = int(later.from_scn)
    if not lost and declared == versions[-1].in_oracle == versions[-1].table:
        return ()
    return tuple(NameInRedo(name, scn) for name, scn in {**lost, declared: None, versions[-1].in_oracle: None}.items())


def column_change(step: ColumnChange, rules: Rules) -> ColumnChange:
    """Return the change with its default in neutral text; bytes, as which a rule may store a text, are hexadecimal digits."""
    is_kept_as_bytes = step.column.type.name in TEXTS and rules.get(step.column.id) == BINARY
    default = step.default.encode().hex() if step.default is not None and is_kept_as_bytes else step.default
    return replace(step, default=default)


def rules(context: Run, table: TableId, versions: Sequence[TableVersion]) -> dict[int, TypeRule]:
    """Return the rules of pipelines.yml by column id instead of column name.

    A rule is for the columns that were added under its name; if none was, for one that was renamed to it. With
    `on_error: {value: null}` the rules of columns say so (values/null_rule.py).
    """
    own = context.pipeline.table(table).rules
    born: dict[int, str] = {}
    for version in versions:
        for column in version.columns:
            born.setdefault(column.id, column.name)
    later = {c.id: c.name for version in versions for c in version.columns if c.name not in born.values()}
    names = {**born, **{i: name for i, name in later.items() if of_column(own, name) is not None}}
    declared: dict[int, TypeRule] = {i: rule for i, name in names.items() if (rule := of_column(own, name)) is not None}
    types = {c.id: c.type for version in versions for c in version.columns if all(c.id not in v.key for v in versions)}
    texts = {i: text_rule(context.pipeline, table, type_) for i, type_ in types.items() if i not in declared}
    found = {**declared, **{i: rule for i, rule in texts.items() if rule is not None}}
    return with_nulls(found, versions) if context.pipeline.settings(table).on_error.value == "null" else found


def app_id(context: Run, table: TableId, resetlogs_id: int) -> str:
    """Return the id by which a table's log knows our commits."""
    return app_id_of(context.name, table, resetlogs_id)


def origin(context: Run) -> str:
    """Return where the landing began, which distinguishes pipelines of one name; empty before the first snapshot."""
    start = context.landing.handover.start()
    return "" if start is None else start.origin


def incarnation_of(app: str) -> int:
    """Return the incarnation in an app id, to which the SCNs under it belong."""
    return int(app.rpartition("/")[2])
