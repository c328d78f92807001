"""Run batches and snapshot loads in plain Python instead of Spark: the reference assembles and folds, a dict is the lake.

Rows that were read again by their keys, and whole copies of tables, go into it too.

For tests of capture and recovery, to which Spark and Delta add nothing. Tables have a key or ROWIDs and log all columns. A
table with DDL is replayed change by change (tests/references/plain_ddl.py).
"""

from __future__ import annotations

import pickle
import re
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from redolake.apply.table_log import VersionToRead
from redolake.apply.verify.comparison import CompareTask, Comparison
from redolake.apply.verify.repair import RepairTask
from redolake.assemble.dropped import TransactionEnd, XidUse, xid_uses
from redolake.assemble.valueless import valueless
from redolake.decode.changes import decode_changes
from redolake.decode.datatypes import family_of, target_type
from redolake.errors import NotReadableAsOf, RedoNotUnderstood, Transient
from redolake.host import crash
from redolake.job.as_of import check_result
from redolake.job.batch import publish_batch, read_published
from redolake.job.snapshot import write_snapshot_result
from redolake.land.carried import CarriedRows
from redolake.land.files import Files
from redolake.records.batches.carry import OpenTransaction
from redolake.records.batches.manifest import BatchResult, DroppedRows, RowAccount, TableResult
from redolake.records.batches.spec import BatchSpec, DroppedXid, TableTask
from redolake.records.file_digest import FileDigest
from redolake.records.lakes import LakePlace
from redolake.records.loads import SnapshotLoaded, SnapshotResult, SnapshotSpec
from redolake.records.proofs import FoundRow
from redolake.values import logminer, redo
from redolake.values.datatypes import READ_AS_REDO
from redolake.values.delivery import RereadRows, RereadValues
from redolake.values.landed_schema import LANDED_SCHEMA
from redolake.values.redo import CHANGES, TRANSACTION_ENDS, Operation
from redolake.values.table import ROWID_COLUMN, ROWID_NAME, TableVersion, TypeRule, of_columns
from redolake.values.terms import RowCounts
from tests.references import plain_ddl
from tests.references.assemble_reference import DisposedRow, Row, assemble, deciding_xid, fold, row_key
from tests.references.source_comparison import compare_keyed, plain, rows_of

Rows = list[dict[str, Any]]
NO_ROWID = "A" * 18
NOTHING: Mapping[str, object] = {}


@dataclass(slots=True)
class PlainTable:
    """Rows by key; positions by app id, as in a Delta log, where each incarnation has its own.

    `version` is that of the rows' columns, None where nothing was loaded or applied yet; `defaults` those of added columns.
    `says` is the metadata of the newest commit.
    """

    positions: dict[str, int]
    rows: dict[Any, Any]
    version: TableVersion | None = None
    defaults: dict[int, Any] = field(default_factory=dict)
    load: str = ""  # the token of the load whose contents it continues
    delta_version: int = 0
    says: Mapping[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class Drops:
    """The dropped transactions of a batch, and how many rows of each table belong to them."""

    uses: tuple[XidUse, ...]
    rows: dict[XidUse, dict[str, int]]

    @staticmethod
    def of(dropped: Sequence[DroppedXid], landed: Sequence[tuple[int, pa.Table]]) -> Drops:
        rows = [row for _, part in landed for row in part.to_pylist() if row["operation_code"] in TRANSACTION_ENDS]
        ends = [
            TransactionEnd(row["con_id"], row["xid"], row["scn"], row["operation_code"] == Operation.COMMIT) for row in rows
        ]
        uses = xid_uses(dropped, ends)
        return Drops(uses, {use: {} for use in uses})

    def split(self, rows: Sequence[Row], table: str) -> tuple[list[Row], int]:
        """Return the rows that are not dropped, and count the others for the table."""
        kept = []
        for row in rows:
            use = next((use for use in self.uses if is_change(row) and contains(use, row)), None)
            if use is None:
                kept.append(row)
            else:
                self.rows[use][table] = self.rows[use].get(table, 0) + 1
        return kept, len(rows) - len(kept)

    def found(self) -> tuple[DroppedRows, ...]:
        return tuple(
            DroppedRows(
                use.dropped.con_id,
                use.dropped.xid,
                use.dropped.start_scn,
                self.rows[use],
                None if use.end is None else use.end.scn,
                None if use.end is None else use.end.committed,
            )
            for use in self.uses
        )


def contains(use: XidUse, row: Row) -> bool:
    is_its = row["con_id"] == use.dropped.con_id and (deciding_xid(row) == use.dropped.xid or row["xid"] in use.dropped.servers)
    return is_its and (use.after is None or row["scn"] > use.after) and (use.end is None or row["scn"] <= use.end.scn)


@dataclass(slots=True)
class PlainLake:
    """Tables by the path that Delta would have; the rows of open transactions are in files.

    With `replays`, tables without a DDL are replayed change by change too.
    """

    tables: dict[str, PlainTable] = field(default_factory=dict)
    replays: bool = False
    versions: dict[tuple[str, int], PlainTable] = field(default_factory=dict)
    unattributed: dict[str, int] = field(default_factory=dict)  # of the batch

    @contextmanager
    def in_place_of_spark(self) -> Iterator[None]:
        places = {
            "redolake.job.job.run": self.run,
            "redolake.job.job.run_without_spark": lambda *_: None,  # it reads the logs of Delta tables
            "redolake.apply.spark.session.open_session": mock.Mock(),
            "redolake.job.snapshot.run_filling": self.fill,
            "redolake.job.comparison.compare_tables": self.compare,
            "tests.references.source_comparison.compare_tables": self.compare,
            "redolake.job.repair.name_keys": name_keys,
            "redolake.job.repair.repair_rows": self.repair_rows,
            "redolake.steps.apply.transactions.read_carried": count_carried,
            "redolake.job.swap.position_of_copy": self.position_of_copy,
            "redolake.job.as_of.make_copy": self.make_copy,
            "redolake.job.swap.keep_newest": self.keep_newest,
            "redolake.job.swap.fold_into_copies": self.fold_into_copies,
            "redolake.job.swap.find_swap": self.find_swap,
            "redolake.job.swap.swap_rows": self.swap_rows,
        }
        with ExitStack() as stack:
            for place, ours in places.items():
                stack.enter_context(mock.patch(place, ours))
            yield

    def commit(self, path: str, table: PlainTable, says: Mapping[str, object] = NOTHING) -> int:
        """Make the table the newest version of the one at the path."""
        there = self.tables.get(path)
        made = replace(table, delta_version=0 if there is None else there.delta_version + 1, says=says)
        self.tables[path] = self.versions[path, made.delta_version] = made
        return made.delta_version

    def run(self, _: Any, spec: Any, report: Any = None, may_commit: Callable[[], None] = lambda: None) -> Any:
        may_commit()
        return self.load(spec) if isinstance(spec, SnapshotSpec) else self.apply(spec)

    def load(self, spec: SnapshotSpec) -> SnapshotResult:
        loaded = []
        for task in spec.tables:
            there = self.tables.get(task.target)
            if there is not None and there.load == spec.token:  # a repeat commits nothing
                loaded.append(SnapshotLoaded(task.table, "applied", False, delta_version=there.delta_version))
                continue
            by_scn = sorted(task.files, key=lambda file: task.scns.get(file, task.scn))
            rows = source_rows(by_scn, task.version, task.rules)  # of a row in two chunks the newer one counts
            keyed = {key_of(row, task.version): row for row in rows}
            number = self.commit(task.target, PlainTable({task.app_id: task.scn}, keyed, task.version, load=spec.token))
            crash.point("snapshot")
            loaded.append(SnapshotLoaded(task.table, "applied", True, len(rows), number))
        result = SnapshotResult(spec.pipeline, spec.scn, tuple(loaded))
        write_snapshot_result(spec.manifest, result)
        return result

    def fill(self, _: Any, spec: SnapshotSpec, may_commit: Callable[[], None]) -> SnapshotLoaded:
        """Add columns to the rows of a table, whose other ones stay."""
        (task,) = spec.tables
        there, read = self.tables[task.target], of_columns(task.version, {*task.version.key, *task.joins})
        assert there.version is not None
        new = {
            key_of(row, read): dict(zip(ids_of(read), row, strict=True)) for row in source_rows(task.files, read, task.rules)
        }
        old = {key: dict(zip(ids_of(there.version), row, strict=True)) for key, row in there.rows.items()}
        assert old.keys() == new.keys(), "the rows are those of the SCN"
        may_commit()
        rows = {key: tuple({**old[key], **new[key]}[number] for number in ids_of(task.version)) for key in old}
        positions = {**there.positions, task.app_id: task.scn}
        filled = replace(there, positions=positions, rows=rows, version=task.version, load=spec.token)
        number = self.commit(task.target, filled)
        crash.point("columns added")
        loaded = SnapshotLoaded(task.table, "applied", True, len(rows), number)
        write_snapshot_result(spec.manifest, SnapshotResult(spec.pipeline, spec.scn, (loaded,)))
        return loaded

    def apply(self, spec: BatchSpec) -> BatchResult:
        done = read_published(spec)
        if done is not None:
            return done
        landed = [(window.start, pq.read_table(file)) for window in spec.redo.windows for file in window.files]
        drops = Drops.of(spec.redo.dropped, landed)
        carry_file = f"{spec.carry_out}/{uuid.uuid4().hex}"
        carried: dict[str, Rows] = {}
        self.unattributed = {}
        tables = tuple(with_position(self.apply_one(spec, task, landed, carried, drops)) for task in spec.tables)
        digest = write_carried(carry_file, carried)
        crash.point("carry-over")
        open_rows = [row for rows in carried.values() for row in rows]
        result = BatchResult(
            pipeline=spec.pipeline,
            resetlogs_id=spec.resetlogs_id,
            start=spec.start,
            end=spec.end,
            token=spec.token,
            windows=tuple(window.name for window in spec.redo.windows),
            tables=tables,
            open_transactions=tuple(open_transactions(open_rows)),
            carry_files=(carry_file,) if open_rows else (),
            digests={carry_file: digest} if open_rows else {},
            dropped=drops.found(),
            without_transaction=self.unattributed,
        )
        crash.point("before manifest")
        return publish_batch(spec, result)

    def apply_one(
        self,
        spec: BatchSpec,
        task: TableTask,
        landed: Sequence[tuple[int, pa.Table]],
        carried_out: dict[str, Rows],
        drops: Drops,
    ) -> TableResult:
        if self.replays or task.course.ddl or len(task.course.versions) > 1:
            return self.apply_with_ddl(spec, task, landed, carried_out, drops)
        if isinstance(task.course.deliveries[-1], RereadRows):
            return self.apply_whole_rows(spec, task, landed, carried_out)
        version, table = (
            task.course.versions[-1],
            self.tables.get(task.destination.target, PlainTable({task.destination.app_id: spec.end}, {})),
        )
        carried = self.carried_in(spec, task)
        rows = [row for start, part in landed for row in raw_redo(part, start, task)]
        changes = [row for row in rows if is_change(row)]
        kept, dropped = drops.split(list(decoded([*carried, *rows], spec, task)), str(task.table))
        at = table.positions.get(task.destination.app_id, -1)
        until = None if task.hold is None else task.hold.at_scn
        disposed = assemble(kept, position=at, until=until, open_since=task.destination.open_since)
        self.note_unattributed(task, disposed)
        counts = Counter(change.disposition for change in disposed)
        account = RowAccount(landed=len(changes), carried_in=len(carried), dropped=dropped, **counts)
        assert account.difference == 0
        applied = [change for change in disposed if change.disposition == "applied"]
        if (refused := unreadable(task, disposed) or refusal(task, applied)) is not None:
            error = refused if task.hold is None else task.hold.error
            return TableResult(task.table, "held", at, error, balance=account, position=at, delta_version=table.delta_version)
        images = [image(change, version) for change in applied]
        if version.organization != "index":
            net = fold(with_row_ids(images))
        elif moved_beside_undo(images, disposed):
            there = {"balance": account, "position": at, "delta_version": table.delta_version}
            return TableResult(task.table, "held", at, no_rowids(task), **there)
        else:
            net = fold_in_index(images, table.rows)
        folded = with_large_objects(spec, task, at, table.rows, net)
        position = position_after(spec, task, at)
        done = replace(table, positions={**table.positions, task.destination.app_id: position}, rows=folded, version=version)
        number = self.commit(task.destination.target, done)
        carried_out[task.destination.target] = [c.row["raw"] for c in disposed if c.disposition == "carried_out"]
        if task.hold is not None:
            return TableResult(
                task.table, "held", position, task.hold.error, balance=account, position=position, delta_version=number
            )
        new = len(folded.keys() - table.rows.keys())
        more = {"position": position, "delta_version": number, "inserted": new}
        return TableResult(task.table, "applied", position, balance=account, **more)

    def note_unattributed(self, task: TableTask, disposed: Sequence[DisposedRow]) -> None:
        found = [change.row["scn"] for change in disposed if change.unattributed]
        if found:
            self.unattributed[str(task.table)] = max(found)

    def carried_in(self, spec: BatchSpec, task: TableTask) -> Rows:
        """Return the table's rows of open transactions; a shadow table has those of its live table."""
        live = re.sub("/_shadow/[^/]+", "", task.destination.target)
        return [row for file in spec.redo.carry_in for row in read_carried(file).get(live, [])]

    def apply_whole_rows(
        self, spec: BatchSpec, task: TableTask, landed: Sequence[tuple[int, pa.Table]], carried_out: dict[str, Rows]
    ) -> TableResult:
        """Take the rows that were read again, window by window; the redo only counts."""
        version, table = task.course.versions[-1], self.tables[task.destination.target]
        at = table.positions.get(task.destination.app_id, -1)
        rows, until = dict(table.rows), spec.end if task.hold is None else task.hold.at_scn
        for window in spec.redo.windows:
            for file in window.reread:
                if file.table == task.table and at < window.end - 1 < until:
                    assert max(window.start - 1, at) in file.bases
                    names = [name_of(version, i) for i in version.key]
                    for gone in rows_of(pq.read_table(file.before), names, numbers_of(version)):
                        rows.pop(gone, None)
                    rows |= {key_of(row, version): row for row in source_rows([file.path], version, task.course.rules)}
        position = max(at, until - 1)
        done = replace(table, positions={**table.positions, task.destination.app_id: position}, rows=rows, version=version)
        number = self.commit(task.destination.target, done)
        carried_out[task.destination.target] = []
        ids = version.object_ids
        changes = sum(
            row["object_id"] in ids and row["operation_code"] in (*CHANGES, 255) for _, p in landed for row in p.to_pylist()
        )
        account = RowAccount(landed=changes, carried_in=0, dropped=0, applied=changes)
        if task.hold is not None:
            return TableResult(task.table, "held", position, task.hold.error, balance=account, delta_version=number)
        return TableResult(task.table, "applied", position, balance=account, position=position, delta_version=number)

    def apply_with_ddl(
        self,
        spec: BatchSpec,
        task: TableTask,
        landed: Sequence[tuple[int, pa.Table]],
        carried_out: dict[str, Rows],
        drops: Drops,
    ) -> TableResult:
        table = self.tables.get(task.destination.target, PlainTable({}, {}))  # one that has joined has no contents yet
        at = table.positions.get(task.destination.app_id, -1)
        before = table.version or task.course.versions[0]
        rows = {key: dict(zip((c.id for c in before.columns), row, strict=True)) for key, row in table.rows.items()}
        defaults = dict(table.defaults)
        raw = [row for start, part in landed for row in raw_redo(part, start, task)]
        carried = self.carried_in(spec, task)
        kept, dropped = drops.split([*carried, *raw], str(task.table))
        until = None if task.hold is None else task.hold.at_scn
        disposed = assemble(kept, position=at, until=until, open_since=task.destination.open_since)
        self.note_unattributed(task, disposed)
        counts = Counter(change.disposition for change in disposed)
        account = RowAccount(landed=sum(map(is_change, raw)), carried_in=len(carried), dropped=dropped, **counts)
        assert account.difference == 0
        if (refused := unreadable(task, disposed)) is not None:
            there = {"balance": account, "position": at, "delta_version": table.delta_version}
            return TableResult(task.table, "held", at, refused if task.hold is None else task.hold.error, **there)
        applied = [change for change in disposed if change.disposition == "applied"]
        undone = {change.row["xid"] for change in disposed if change.row["rollback"]}
        try:
            version = plain_ddl.apply_ranges(spec, task, before, at, rows, defaults, applied, undone)
        except plain_ddl.Ambiguous:
            there = {"balance": account, "position": at, "delta_version": table.delta_version}
            return TableResult(task.table, "held", at, no_rowids(task), **there)
        folded = {key: tuple(values[c.id] for c in version.columns) for key, values in rows.items()}
        carried_out[task.destination.target] = [dict(c.row) for c in disposed if c.disposition == "carried_out"]
        position = position_after(spec, task, at)
        done = replace(
            table,
            positions={**table.positions, task.destination.app_id: position},
            rows=folded,
            version=version,
            defaults=defaults,
        )
        number = self.commit(task.destination.target, done)
        error = None if task.hold is None else task.hold.error
        state = "applied" if error is None else "held"
        return TableResult(task.table, state, position, error, balance=account, position=position, delta_version=number)

    def compare(self, _: Any, tasks: Sequence[CompareTask], _lake: Any = None) -> tuple[Comparison, ...]:
        return tuple(map(self.compare_one, tasks))

    def compare_one(self, task: CompareTask) -> Comparison:
        ours, theirs = source_rows(task.files, task.version, task.rules), list(self.tables[task.target].rows.values())
        mine, its = ({key_of(row, task.version): row for row in rows} for rows in (ours, theirs))
        differing = [key for key in mine.keys() | its.keys() if mine.get(key) != its.get(key)]
        found = name_keys(None, task, [tuple(map(str, key)) for key in sorted(differing, key=str)])
        return replace(compare_keyed(task, ours, theirs, ids_of(task.version)), found=found)

    # --- Commits beside the stream, which leave the position as it is

    def repair_rows(
        self, _: Any, task: RepairTask, _lake: Any, may_commit: Callable[[], None]
    ) -> tuple[int, RowCounts, Comparison]:
        one, table = task.compare, self.tables[task.compare.target]
        version, keys = one.version, [name_of(one.version, number) for number in one.version.key]
        wanted = pa.table({name: [row.key[n] for row in task.found] for n, name in enumerate(keys)})
        found = {key_of(row, version): row for row in source_rows(one.files, version, one.rules)}
        self.check_not_passed(table, one.app_id, one.complete_to)
        may_commit()
        gone = set(rows_of(wanted, keys, numbers_of(version))) - found.keys()
        rows = {key: row for key, row in table.rows.items() if key not in gone} | found
        at = one.complete_to if task.advances else table.positions.get(one.app_id, -1)
        number = self.commit(
            one.target, replace(table, rows=rows, positions={**table.positions, one.app_id: at}), task.metadata
        )
        crash.point("repair")
        same = Comparison(one.table, one.complete_to, number, len(found), len(found), 0, 0, 0)
        return number, RowCounts(deleted=len(table.rows) - len(rows.keys() & table.rows.keys())), same

    def check_not_passed(self, table: PlainTable, app_id: str, scn: int) -> None:
        if (position := table.positions.get(app_id, -1)) > scn:
            raise Transient(f"the table has commits up to SCN {position}, later than SCN {scn}", cure="run it again")

    def position_of_copy(self, path: str, app_id: str) -> int | None:
        return self.tables[path].positions.get(app_id) if path in self.tables else None

    def make_copy(self, _: Any, one: VersionToRead, metadata: Mapping[str, object], *, is_whole: bool = False) -> None:
        assert one.copy is not None
        if self.position_of_copy(one.copy, one.app_id) is not None:
            return
        table = self.versions.get((one.path, one.version))
        found = None if table is None else table.positions.get(one.app_id)
        if table is None or found is None or one.position not in (None, found):
            raise NotReadableAsOf(f"version {one.version} is not there any more", cure="another SCN", table=one.table)
        self.commit(one.copy, replace(table, positions={one.app_id: one.complete_to}), metadata)
        Path(one.copy, "here").mkdir(parents=True, exist_ok=True)  # the names of copies are looked for in the lake
        crash.point("whole copy")

    def keep_newest(self, spark: Any, kept: VersionToRead, metadata: Mapping[str, object]) -> None:
        self.make_copy(spark, replace(kept, version=self.tables[kept.path].delta_version), metadata)

    def fold_into_copies(self, _: Any, spec: BatchSpec, report: Any) -> None:
        check_result(spec, self.apply(spec))

    def find_swap(self, target: str, _: str, shadow: str, scn: int) -> tuple[str, int] | None:
        table = self.tables[target]
        is_it = (table.says.get("swap"), table.says.get("scn")) == (shadow, scn)
        return (str(table.says["kept"]), table.delta_version) if is_it else None

    def swap_rows(
        self, _: Any, one: VersionToRead, number: int, metadata: Mapping[str, object], may_commit: Callable[[], None],
        lake: LakePlace | None = None, origin: str = "",
    ) -> int:  # fmt: skip
        live, other = self.tables[one.path], self.tables[str(one.copy)]
        self.check_not_passed(live, one.app_id, one.complete_to)
        may_commit()
        made = self.commit(one.path, replace(live, rows=other.rows, defaults=other.defaults), metadata)
        crash.point("swap")
        return made


def name_keys(_: Any, task: CompareTask, keys: Sequence[tuple[str, ...]]) -> tuple[FoundRow, ...]:
    return tuple(FoundRow("differing", "|".join(key), key) for key in keys)


def write_carried(path: str, rows: Mapping[str, Rows]) -> FileDigest:
    """Write the rows of open transactions by table, as one file; it has no kill point of its own."""
    folder, _, name = path.rpartition("/")
    files = Files(folder)
    files.make_folder("")
    files._fs.pipe_file(files.path(name), pickle.dumps(rows))
    if "://" not in path:
        Path(path).chmod(0o600)  # Spark's own mode is another one, in a folder that nobody else may open
    return files.digest(name)


def read_carried(path: str) -> Mapping[str, Rows]:
    folder, _, name = path.rpartition("/")
    body = Files(folder).read(name)
    assert body is not None, path
    rows: Mapping[str, Rows] = pickle.loads(body)
    return rows


def count_carried(paths: Sequence[str], con_id: int, xid: str, _digests: object) -> CarriedRows:
    """Count one transaction's rows in files of this lake, as the product does in those of Spark."""
    found = CarriedRows()
    for row in (row for path in paths for rows in read_carried(path).values() for row in rows if is_change(row)):
        if (row["con_id"], deciding_xid(row)) == (con_id, xid):
            found.rows[row["seg_owner"], row["table_name"], row["object_id"]] += 1
            found.servers.update({row["xid"]} - {xid})
    return found


def ids_of(version: TableVersion) -> list[int]:
    """Return the ids of the columns that a row has here, with that of its ROWID where it is the key."""
    return [*(column.id for column in version.columns), *version.key[: version.key_kind == "rowid"]]


def name_of(version: TableVersion, number: int) -> str:
    return ROWID_NAME if number == ROWID_COLUMN else version.column(number).name


def numbers_of(version: TableVersion) -> set[str]:
    return {column.name for column in version.columns if column.type.name == "NUMBER"}


def with_position(result: TableResult) -> TableResult:
    """Return the result with no position for a table that has no commit of this incarnation."""
    return replace(result, complete_to=None, position=None) if result.complete_to == -1 else result


def position_after(spec: BatchSpec, task: TableTask, at: int) -> int:
    """Return the SCN that the table is complete to after the batch: one held from its start may lack older changes."""
    if task.hold is not None and task.hold.at_scn <= spec.start:
        return at
    return max(at, (spec.end if task.hold is None else task.hold.at_scn) - 1)


def source_rows(files: Sequence[str], version: TableVersion, rules: Mapping[int, TypeRule]) -> list[Any]:
    """Return rows as they were fetched, with the values that the target has."""
    names = [name_of(version, number) for number in ids_of(version)]
    fetched = pa.concat_tables([pq.read_table(file) for file in files])
    for column in version.columns:
        texts = fetched[column.name].combine_chunks()
        if column.type.name in READ_AS_REDO or (column.type.name == "TIMESTAMP" and not pa.types.is_timestamp(texts.type)):
            rule = rules.get(column.id)
            made = family_of(column.type).cast(
                pc.utf8_trim_whitespace(texts.cast(pa.string())), target_type(column.type, rule), rule
            )
            assert not made.refused, (column, made.refused)
            fetched = fetched.set_column(fetched.column_names.index(column.name), column.name, made.values)
    return rows_of(fetched, names, numbers_of(version))


def key_of(row: Any, version: TableVersion) -> Any:
    ids = ids_of(version)
    return tuple(row[ids.index(number)] for number in version.key)


def decoded(rows: Sequence[Row], spec: BatchSpec, task: TableTask) -> Iterator[Row]:
    """Yield the changes decoded, each with its landed row, and all ends of transactions."""
    version = task.course.versions[-1]
    types = {column.id: task.course.rules.get(column.id) for column in version.columns}
    yield from (row for row in rows if row["operation_code"] in TRANSACTION_ENDS)
    yield from ({**row, "raw": row, "error": None} for row in rows if is_change(row) and row["operation_code"] not in CHANGES)
    raw = [row for row in rows if row["operation_code"] in CHANGES]
    landed = [{name: row.get(name) for name in LANDED_SCHEMA.names} for row in raw]
    batch = pa.RecordBatch.from_pylist(landed, schema=LANDED_SCHEMA)
    read = decode_changes(batch, version, types, encoding=spec.redo.encoding, single_quotes=spec.redo.single_quotes)
    for its, row in zip(raw, read.to_pylist(), strict=True):
        # The undo of a table whose rows have no ROWIDs is in reverse order.
        no_rowid = {"row_id": None} if version.organization == "index" else {}
        yield {**row, **no_rowid, "window_start": its["window_start"], "raw": its}


def is_change(row: Row) -> bool:
    """Return whether a row changes a table, readable or not."""
    return row["operation_code"] not in redo.CONTROL


def raw_redo(part: pa.Table, window_start: int, task: TableTask) -> Iterator[Row]:
    """Yield the table's changes as landed, also those that cannot be read, and all ends of transactions.

    Rows of large objects that are left out or read again are no changes of the table.
    """
    ids = {number for version in task.course.versions for number in version.object_ids}
    apart = {logminer.Mined.INTERNAL, *(logminer.LARGE_OBJECT_CHANGES if without_objects(task) else ())}
    for row in part.to_pylist():
        code = row["operation_code"]
        if code in TRANSACTION_ENDS or (is_change(row) and row["object_id"] in ids and code not in apart):
            yield {**row, "window_start": window_start}


def without_objects(task: TableTask) -> bool:
    left_out = any(v.left_out for v in task.course.versions) and not any(v.has_large_objects for v in task.course.versions)
    return left_out or any(valueless(delivery) != "none" for delivery in task.course.deliveries)


def unreadable(task: TableTask, disposed: Sequence[DisposedRow]) -> dict[str, Any] | None:
    """Return the error of the first committed change that LogMiner does not show whole. There are no other problems."""
    problems = [c for c in disposed if c.problem and c.disposition in ("applied", "undone")]
    assert not [c for c in problems if c.row["operation_code"] in CHANGES and not c.unattributed]
    if not problems:
        return None
    if problems[0].unattributed:
        return RedoNotUnderstood("a change belongs to no transaction", cure="snapshot", table=task.table).as_dict()
    code, name = (problems[0].row[column] for column in ("operation_code", "operation"))
    hidden = code == logminer.Mined.UNSUPPORTED
    what = (
        "LogMiner cannot show a change of the table (UNSUPPORTED)" if hidden else f"operation {code} {name} is not understood"
    )
    return RedoNotUnderstood(what, cure="snapshot", table=task.table).as_dict()


def image(change: DisposedRow, version: TableVersion) -> tuple[Row, Any, Any, Any]:
    """Return the row with its key before and after the change, and its values after."""
    assert change.row["error"] is None, change.row
    before, after = (
        (
            *(plain(change.row[f"{side}{column.id}"], is_number=False) for column in version.columns),
            *[change.row["row_id"]][: version.key_kind == "rowid"],
        )
        for side in "on"
    )
    keys = key_of(before, version), key_of(after, version)
    return change.row, *keys, after


def moved_beside_undo(images: Sequence[tuple[Row, Any, Any, Any]], disposed: Sequence[DisposedRow]) -> bool:
    """Return whether an UPDATE changed a key in a transaction that took changes of the table back."""
    undone = {(change.row["con_id"], change.row["xid"]) for change in disposed if change.row["rollback"]}
    updates = ((row, before, after) for row, before, after, _ in images if row["operation_code"] == Operation.UPDATE)
    return any(before != after and (row["con_id"], row["xid"]) in undone for row, before, after in updates)


def no_rowids(task: TableTask) -> dict[str, Any]:
    return RedoNotUnderstood("rows have no ROWIDs, and a key moved beside undo", cure="snapshot", table=task.table).as_dict()


def fold_in_index(images: Sequence[tuple[Row, Any, Any, Any]], there: Mapping[Any, Any]) -> dict[Any, Any]:
    """Fold like `fold`, without ROWIDs: of two rows at a key, inside a statement, the one that was there first leaves."""
    rows: defaultdict[Any, list[Any]] = defaultdict(list, {key: [values] for key, values in there.items()})
    touched: set[Any] = set()
    for row, before, after, values in images:
        if row["operation_code"] != Operation.INSERT:
            touched.add(before)
            assert len(rows[before]) == 1 or before != after, f"two rows at {before}"
            rows[before].pop(0)
        if row["operation_code"] != Operation.DELETE:
            touched.add(after)
            rows[after].append(values)
    assert all(len(rows[key]) < 2 for key in touched)
    return {key: rows[key][0] if rows[key] else None for key in touched}


def refusal(task: TableTask, applied: Sequence[DisposedRow]) -> dict[str, Any] | None:
    """Return the error of the first change that cannot be decoded."""
    error = next((change.row["error"] for change in applied if change.row["error"] is not None), None)
    return None if error is None else RedoNotUnderstood(error, cure="snapshot", table=task.table).as_dict()


def open_transactions(rows: Rows) -> Iterator[OpenTransaction]:
    by_xid: dict[tuple[int, str], Rows] = {}
    for row in sorted(rows, key=row_key):
        by_xid.setdefault((row["con_id"], deciding_xid(row)), []).append(row)
    for (con_id, xid), mine in by_xid.items():
        yield OpenTransaction(
            con_id, xid, mine[0]["thread"], mine[0]["start_scn"] or mine[0]["scn"], None, len(mine), 1, "SHOP"
        )


def with_row_ids(images: Sequence[tuple[Row, Any, Any, Any]]) -> list[tuple[Row, Any, Any, Any]]:
    """Give the changes of each row one name instead of a ROWID, which some of them lack: these are of the row at their key."""
    by_key: dict[Any, str] = {}
    by_rowid: dict[str, str] = {}
    named = []
    for number, (row, before, after, _) in enumerate(images):
        rowid, name = row["row_id"], f"row {number}"
        if row["operation_code"] != Operation.INSERT:
            there = by_key.get(before)
            is_unknown = there is not None and (rowid == NO_ROWID or there not in by_rowid.values())
            name = by_rowid.get(rowid) or (there if there is not None and is_unknown else name)
        if by_key.get(before) == name:
            del by_key[before]
        if row["operation_code"] == Operation.DELETE:
            by_rowid.pop(rowid, None)
        else:
            by_key[after] = name
            by_rowid |= {rowid: name} if rowid != NO_ROWID else {}
        named.append(name)
    return [({**row, "row_id": name}, *rest) for (row, *rest), name in zip(images, named, strict=True)]


def with_large_objects(spec: BatchSpec, task: TableTask, at: int, old: dict[Any, Any], net: dict[Any, Any]) -> dict[Any, Any]:
    """Return the rows by key, with the large objects that were read again, and else those that the table has."""
    version, delivery = task.course.versions[-1], task.course.deliveries[-1]
    again_ids = delivery.columns if isinstance(delivery, RereadValues) else ()
    places = [n for n, column in enumerate(version.columns) if column.id in again_ids]
    rows = {key: row for key, row in {**old, **net}.items() if row is not None}
    if not places:
        return rows
    own = [one for window in spec.redo.windows for one in window.reread if one.table == task.table and window.end - 1 > at]
    again: dict[Any, list[Any]] = {}
    for one in own:
        table, names = pq.read_table(one.path), [name_of(version, number) for number in version.key]
        for key, row in zip(rows_of(table, names, numbers_of(version)), table.to_pylist(), strict=True):
            again[key] = [row[version.columns[n].name] for n in places]
    for key, row in rows.items():
        if key in again or key in net:
            values = list(row)
            kept = None if old.get(key) is None else [old[key][n] for n in places]
            new = again.get(key, kept)
            assert new is not None, f"the large objects of {key} were not read again"
            for n, value in zip(places, new, strict=True):
                values[n] = value
            rows[key] = tuple(values)
    return rows
