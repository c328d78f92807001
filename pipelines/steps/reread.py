"""Read rows again when a window lands: large objects AS OF the window's end, for each row whose change commits in it.

A window answers for the transactions that commit before its end, so the value AS OF its end is the right one for every key
whose last committed change is in it. Rows of open transactions are kept until their end is read. More rows than needed do no
harm: each value is true AS OF that SCN.

Of a table whose changes LogMiner does not show, whole rows are read. A row that is there belongs into the lake as it is. One
that is not there was deleted, under the key that it had AS OF the window's start.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.context import PipelineContext, open_pipeline_source
from pipelines.decode.changes import decode_changes
from pipelines.errors import OF_ALL_TABLES, LandingDamaged, RedolakeError
from pipelines.host import crash
from pipelines.host.arrow_check import check_arrow
from pipelines.land.windows import NOTHING_REREAD, Reread
from pipelines.reconcile.chosen_columns import chosen_columns, converted, rules_of
from pipelines.reconcile.table_versions import known_versions, rules
from pipelines.records.windows import RereadRows, SliceRecord, WindowManifest, WindowPlan
from pipelines.source import ConnectParams, Source, Wanted, read_again, read_current_scn, read_tables, require_unfiltered
from pipelines.steps.same_container import read_same_container
from pipelines.values.dictionary_table import DictionaryTable
from pipelines.values.ora_codes import OUT_OF_REACH
from pipelines.values.redo import CHANGES, LARGE_OBJECT_CHANGES, NO_ROWID, PARTS_OF_VALUES, TRANSACTION_ENDS, Operation
from pipelines.values.scn import Scn
from pipelines.values.table import ROWID_NAME, TableId

log = logging.getLogger(__name__)

UNRESOLVED = 2  # STATUS of a row with COL n
# What must be known of a change to read its row again. `sql_redo` is NULL unless the row has no ROWID.
LATER = pa.schema(
    [
        ("table", pa.string()),
        ("con_id", pa.int32()),
        ("xid", pa.string()),
        ("pxid", pa.string()),
        ("scn", pa.int64()),
        ("row_id", pa.string()),
        ("operation_code", pa.int32()),
        ("rollback", pa.bool_()),
        ("status", pa.int32()),
        ("info", pa.string()),
        ("seg_owner", pa.string()),
        ("table_name", pa.string()),
        ("sql_redo", pa.string()),
    ]
)
READ = (*(name for name in LATER.names if name != "table"), "object_id")


def reread_large_objects(
    context: PipelineContext, source: ConnectParams | None, made: WindowPlan, records: Sequence[SliceRecord]
) -> Reread:
    """Read again what the window needs into files that its manifest will name. An error of one table is recorded: apply holds
    the table if it needs a value."""
    choices = {table: context.pipeline.choice(table) for table in made.tables}
    wanted = [table for table, one in choices.items() if "reread" in (one.large_objects, one.unsupported)]
    if not wanted:
        return NOTHING_REREAD
    token = uuid.uuid4().hex
    with open_pipeline_source(context.pipeline, source) as oracle:
        found = chosen_columns(
            context.pipeline, read_tables(oracle, wanted, context.pipeline.source.container, context.pipeline.renamed)
        )
        described = {t: one for t, one in found.items() if one.rereads_rows or (one.large_objects and not choices[t].assembles)}
        if not described:
            return NOTHING_REREAD
        # Apply carries no transaction over a declared gap, so rows that wait for the end of one would wait for ever.
        before = [one for one in context.landing.windows.last(1) if context.landing.gaps.starting_at(one.end_position) is None]
        waiting = waiting_after(context, before[-1], made.object_ids, described) if before else LATER.empty_table()
        touched, ends = touched_rows(context, made.window.name, made.object_ids, records, described)
        now, later = by_end(pa.concat_tables([waiting, touched]), ends)
        later_file = context.landing.windows.write_reread_later(made.window.name, token, later) if later.num_rows else None
        tables = []
        for number, (table, one) in enumerate(described.items()):
            mine = now.filter(pc.equal(now["table"], str(table)))
            if mine.num_rows:
                again = reread_rows if one.rereads_rows else reread_table
                tables.append(again(context, oracle, made, one, mine, token, number))
        if tables:
            read_same_container(context, oracle)  # raises if the values may be those of another PDB
    crash.point("reread")
    return Reread(tuple(tables), later_file)


def waiting_after(
    context: PipelineContext, window: WindowManifest, ids: Mapping[int, TableId], described: dict[TableId, DictionaryTable]
) -> pa.Table:
    """Return the rows that wait at the end of a landed window for that of their transaction. Where their file is damaged, they
    are found once more: in the window's redo, and among those that waited before it."""
    windows = context.landing.windows
    try:
        waiting = windows.reread_later(window)
    except LandingDamaged as error:
        log.warning("the rows are found in the redo of window %s once more: %s", window.name, error)
        touched, ends = touched_rows(context, window.name, ids, [window], described)
        earlier = next((one for one in windows.newest_first() if one.end_position == window.start_position), None)
        before = [] if earlier is None else [waiting_after(context, earlier, ids, described)]
        return by_end(pa.concat_tables([*before, touched]), ends)[1]
    return LATER.empty_table() if waiting is None else waiting


def touched_rows(
    context: PipelineContext,
    window: str,
    object_ids: Mapping[int, TableId],
    records: Sequence[SliceRecord | WindowManifest],
    described: dict[TableId, DictionaryTable],
) -> tuple[pa.Table, pa.Table]:
    """Return the changes after which a large object may have another value, and the ends of transactions."""
    ids = {number: str(table) for number, table in object_ids.items() if table in described}
    names = {(one.in_oracle.owner, one.in_oracle.name): str(table) for table, one in described.items()}
    keyed = {str(table): (one, key_names(context, one)) for table, one in described.items()}
    changes, ends = [LATER.empty_table()], []
    codes = pa.array(MAY_CHANGE if any(one.rereads_rows for one in described.values()) else MAY_TOUCH, pa.int32())
    for batch in context.landing.windows.redo_columns(window, records, READ):
        code = batch["operation_code"]
        ends.append(pa.Table.from_batches([batch.filter(pc.is_in(code, pa.array(TRANSACTION_ENDS, pa.int32())))]))
        may_touch = pc.and_(pc.is_in(code, codes), pc.invert(batch["rollback"]))
        own = pc.or_(
            pc.is_in(batch["object_id"], pa.array(sorted(ids), pa.int64())),
            pc.is_in(batch["table_name"], pa.array(sorted({name for _, name in names}), pa.string())),
        )
        kept = batch.filter(pc.and_(may_touch, own))
        rows = []
        for row in kept.to_pylist():
            table = ids.get(row["object_id"]) or names.get((row["seg_owner"], row["table_name"]))
            if table is not None and touches(row, *keyed[table]):
                is_found = row["row_id"] not in (None, NO_ROWID)
                rows.append({**row, "table": table, "sql_redo": None if is_found else row["sql_redo"]})
        changes.append(pa.Table.from_pylist(rows, LATER))
    named = ("con_id", "xid", "scn", "operation_code")
    ended = pa.concat_tables([one.select(named) for one in ends]) if ends else pa.table({name: [] for name in named})
    return pa.concat_tables(changes), ended


MAY_TOUCH = (Operation.INSERT, Operation.UPDATE, *LARGE_OBJECT_CHANGES)
MAY_CHANGE = (*CHANGES, Operation.UNSUPPORTED, *LARGE_OBJECT_CHANGES)


def touches(row: Mapping[str, object], table: DictionaryTable, key: Sequence[str]) -> bool:
    """Return whether the row must be read again: a large object may have another value, or the row another key. Text in a value
    may look like a name, and then the row is read for nothing."""
    if names_no_row(row):
        return False
    if table.rereads_rows:
        return True
    if row["operation_code"] not in MAY_TOUCH:
        return False
    if row["operation_code"] != Operation.UPDATE or row["status"] == UNRESOLVED:
        return True
    text = str(row["sql_redo"])
    if any(f'"{c.name}" = ' in text for c in table.large_objects):
        return True
    return any(text.count(f'"{name}" = ') > 1 for name in key)


def names_no_row(row: Mapping[str, object]) -> bool:
    """Return whether the row says nothing of the table's row: a locator without a text, because nothing changes before a write,
    which names it; or a part of a value that another row has begun."""
    is_locator = row["operation_code"] == Operation.SELECT_LOB_LOCATOR and row["sql_redo"] is None
    return (is_locator or row["operation_code"] in PARTS_OF_VALUES) and row["row_id"] in (None, NO_ROWID)


def by_end(touched: pa.Table, ends: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Return the rows of transactions that have committed, and those of open ones. Rows of an unknown transaction are read at
    once: they hold their table."""
    ended: dict[tuple[int, str], list[tuple[int, bool]]] = {}
    for end in sorted(ends.to_pylist(), key=lambda row: row["scn"]):
        ended.setdefault((end["con_id"], end["xid"]), []).append((end["scn"], end["operation_code"] == Operation.COMMIT))
    now, later = [], []
    for number, row in enumerate(touched.select(["con_id", "xid", "pxid", "scn"]).to_pylist()):
        uses = [ended.get((row["con_id"], xid), []) for xid in (row["xid"], row["pxid"])]  # Oracle reuses xids
        first = [next((committed for scn, committed in use if scn >= row["scn"]), None) for use in uses]
        is_unknown = row["xid"] is None or row["xid"] == "0.0.0" or row["xid"].endswith(".4294967295")
        if is_unknown or any(first):
            now.append(number)
        elif first == [None, None]:
            later.append(number)
    return touched.take(pa.array(now, pa.int64())), touched.take(pa.array(later, pa.int64()))


def by_rowid(rows: pa.Table) -> tuple[tuple[str, ...], pa.Table]:
    """Return the ROWIDs of the rows, and the rows without one."""
    has_rowid = pc.and_(rows["row_id"].is_valid(), pc.not_equal(rows["row_id"], NO_ROWID)).fill_null(False)
    return tuple(sorted(pc.unique(rows.filter(has_rowid)["row_id"]).to_pylist())), rows.filter(pc.invert(has_rowid))


def reread_table(
    context: PipelineContext,
    oracle: Source,
    made: WindowPlan,
    table: DictionaryTable,
    rows: pa.Table,
    token: str,
    number: int,
) -> RereadRows:
    """Read one table's rows again AS OF the window's end; at a current SCN where undo no longer reaches that."""
    scn, container = Scn(made.window.scns.end - 1), context.pipeline.source.container
    key = key_names(context, table)
    rowids, unnamed = by_rowid(rows)
    keys = tuple(dict.fromkeys(decoded_keys(context, table, key, unnamed)))
    rules_, sets = rules_of(context.pipeline, table), converted(table, context.landing.encoding())
    wanted = Wanted(table, key, table.large_objects, rowids, keys, rules_, sets)
    name = str(table.table)
    if not rowids and not keys:
        return RereadRows(name, int(scn), None, error="the redo contains neither a ROWID nor a key of the changed rows")
    for late in (False, True):
        try:
            if late:
                oracle.use_container(container)
                scn = max(scn, read_current_scn(oracle))  # a standby may be behind the window, and then refuses its SCN
            require_unfiltered(oracle, table.in_oracle, container)
            file, count = context.landing.windows.write_reread(
                made.window.name, token, number, read_again(oracle, wanted, scn, container)
            )
        except RedolakeError as error:
            out_of_reach = error.ora_code in OUT_OF_REACH
            if out_of_reach and not late:
                continue
            if isinstance(error, OF_ALL_TABLES) and not out_of_reach:
                raise  # the window lands once the step is repeated
            log.warning("window %s: large objects of %s could not be read again: %s", made.window.name, name, error.what)
            return RereadRows(name, int(scn), None, late=late, error=error.what)
        else:
            log.info("window %s: %s row(s) of %s read again AS OF SCN %s", made.window.name, count, name, scn)
            return RereadRows(name, int(scn), file, count, late)
    raise AssertionError("a late reading returns")


def reread_rows(
    context: PipelineContext,
    oracle: Source,
    made: WindowPlan,
    table: DictionaryTable,
    rows: pa.Table,
    token: str,
    number: int,
) -> RereadRows:
    """Read one table's changed rows AS OF the window's end, and the keys that they had at its start and at each snapshot inside
    it: the table's contents are of one of these SCNs. There is no other SCN to read at if undo does not reach these."""
    start, end, name = int(made.window.scns.start) - 1, int(made.window.scns.end) - 1, str(table.table)
    key, windows = key_names(context, table), context.landing.windows
    rowids, unnamed = by_rowid(rows)
    keys = tuple(decoded_keys(context, table, key, unnamed))
    if len(keys) < unnamed.num_rows:
        return RereadRows(name, end, None, error="the redo contains neither a ROWID nor a key of a changed row")
    values = tuple(column for column in table.captured if column.name not in key)
    inside = [scn for scn in context.landing.snapshots.scns(table.table) if start < scn < end]
    container = context.pipeline.source.container
    try:
        require_unfiltered(oracle, table.in_oracle, container)
        texts = rules_of(context.pipeline, table), converted(table, context.landing.encoding())
        after = Wanted(table, key, values, rowids, keys, *texts)
        file, count = windows.write_reread(made.window.name, token, number, read_again(oracle, after, Scn(end), container))
        earlier, why = keys_at(oracle, replace(after, columns=(), keys=()), (start, *inside), container)
        frames = [frame for found in earlier.values() for frame in found]
        before = windows.write_reread(made.window.name, token, number, frames, before=True)[0] if frames else None
    except RedolakeError as error:
        if isinstance(error, OF_ALL_TABLES) and error.ora_code not in OUT_OF_REACH:
            raise  # the window lands once the step is repeated
        log.warning("window %s: rows of %s could not be read again: %s", made.window.name, name, error.what)
        return RereadRows(name, end, None, error=error.what)
    log.info("window %s: %s row(s) of %s read again AS OF SCN %s", made.window.name, count, name, end)
    return RereadRows(name, end, file, count, error=why, before=before, bases=tuple(earlier), asked=len(rowids) + len(keys))


def keys_at(oracle: Source, wanted: Wanted, scns: Sequence[int], container: str | None) -> tuple[dict[int, list[Any]], str]:
    """Return the keys as frames by SCN, without SCNs that the database can no longer show, and why it shows none. Apply needs
    one of them: a table was often altered between the window's start and a snapshot inside it."""
    found: dict[int, list[Any]] = {}
    error = ""
    for scn in scns:
        try:
            found[scn] = list(read_again(oracle, wanted, Scn(scn), container))
        except RedolakeError as refused:
            if refused.ora_code not in OUT_OF_REACH:
                raise
            error = f"keys AS OF SCN {scn}: {refused.what}"
    return found, "" if found else error


def key_names(context: PipelineContext, table: DictionaryTable) -> tuple[str, ...]:
    policy = context.pipeline.table(table.table).key_policy
    return {"primary": table.key, "rowid": (ROWID_NAME,)}.get(policy.kind, policy.columns)


def decoded_keys(
    context: PipelineContext, table: DictionaryTable, key: Sequence[str], rows: pa.Table
) -> Iterator[tuple[object, ...]]:
    """Yield the keys of rows without a ROWID: INSERTs, and all changes of a statement that writes large objects but the last. A
    row that cannot be decoded, and an UPDATE of the key, are left to apply, which holds the table."""
    versions = known_versions(context, table.table)
    if not versions or not rows.num_rows or ROWID_NAME in key:
        return
    version = versions[-1]
    columns = [column for name in key if (column := version.named(name)) is not None]
    narrow, types = replace(version, columns=tuple(columns)), rules(context, table.table, (version,))
    check_arrow()
    for batch in rows.combine_chunks().to_batches():
        for row in decode_changes(batch, narrow, types, encoding=context.landing.encoding()).to_pylist():
            sides = {Operation.INSERT: "n", Operation.UPDATE: "on"}.get(row["operation_code"], "o")
            found = {tuple(row[f"{side}{column.id}"] for column in columns) for side in sides}
            if row["error"] is None and len(columns) == len(key) and len(found) == 1:
                yield found.pop()
