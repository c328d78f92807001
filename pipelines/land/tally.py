"""Counts and hashes of redo rows: the part of a manifest that is equal on every run.

Rows that LogMiner could not resolve to a captured table are only counted: when a table is dropped between two
runs, LogMiner shows its rows as `OBJ# n`, and the identity must not depend on that. So an object id takes precedence over a
name.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.errors import InvariantBroken
from pipelines.land.ddl_text import cascading_table, exchanged_table, table_from_ddl_text
from pipelines.records.slice_record import LogTally
from pipelines.records.window_manifest import DdlRow, LogIdentity
from pipelines.redo import CHANGES, LogFile, Operation, Slice
from pipelines.table import NOT_RENAMED, Renamed, TableId

FRAME = {Operation.START: "* start", Operation.COMMIT: "* commit", Operation.ROLLBACK: "* rollback"}
SINGLE_QUOTE = r"[\pL\pN_]'[\pL\pN_]"  # a quote between two letters: single, or in a quoted name
# A statement whose literals have their quotes doubled. No letter follows a literal; only N may stand before one.
DOUBLED = re.compile(r"""(?:[^'"]|"[^"]*"|(?:(?<!\w)|(?<=\bN))'(?:[^']|'')*+'(?!\w))*+""")
UNRESOLVED_NAME = "^UNKNOWN\0|\0(OBJ# |BIN[$])"  # owner and name
CANONICAL = ("rs_id", "ssn", "scn", "xid", "operation_code", "rollback", "object_id")


def log_identity(log: LogFile) -> LogIdentity:
    assert log.next_scn is not None, "only archived logs are mined"
    return LogIdentity(log.thread, log.sequence, log.resetlogs_id, int(log.first_scn), int(log.next_scn))


class Tally:
    """The counts and hashes of one slice; `add` takes its batches in order."""

    def __init__(
        self,
        logs: Slice,
        tables: Mapping[int, TableId],
        names: frozenset[TableId],
        renamed: Renamed = NOT_RENAMED,
    ) -> None:
        self._logs = logs.logs
        self._ids = pa.array(sorted(tables), pa.int64())
        self._names_of_ids = pa.array([str(tables[i]) for i in sorted(tables)], pa.string())
        named = sorted({*names, *tables.values()})
        self._renamed = renamed
        in_redo = [renamed.get(t, t) for t in named]
        self._captured = {(t.owner, t.name): captured for t, captured in zip(in_redo, named, strict=True)}
        self._spelled = pa.array([f"{t.owner}\0{t.name}" for t in in_redo], pa.string())
        self._names = pa.array([str(t) for t in named], pa.string())
        self._spelled_of = {str(t): f"{n.owner}\0{n.name}" for t, n in zip(named, in_redo, strict=True)}
        self._spelled_of_ids = pa.array([self._spelled_of.get(str(tables[i])) for i in sorted(tables)], pa.string())
        self._hashes = {log.sequence: hashlib.sha256() for log in logs.logs}
        self._rows: Counter[int] = Counter()
        self.counts: Counter[str] = Counter()
        self.ddl: list[DdlRow] = []
        self.unresolved_count = 0
        self.row_count = 0
        self.single_quote_count = 0  # captured changes
        self.doubtful_quotes: Counter[str] = Counter()  # captured changes by table
        self.other_names: defaultdict[str, set[str]] = defaultdict(set)  # of changes, by the table that has their object id

    def add(self, rows: pa.RecordBatch) -> None:
        self.row_count += rows.num_rows
        code = rows["operation_code"]
        label = pc.coalesce(self._frame_labels(code), self._table_labels(rows))
        self._add_other_names(rows)
        label = self._add_ddl(rows, label)
        counted = rows.append_column("label", label).filter(pc.is_valid(label))
        self.unresolved_count += rows.num_rows - counted.num_rows
        for entry in pc.value_counts(counted["label"]).to_pylist():
            self.counts[entry["values"]] += entry["counts"]
        self._count_quotes(counted.filter(pc.is_in(counted["operation_code"], value_set=pa.array(CHANGES, pa.int32()))))
        self._hash(counted)

    def _count_quotes(self, changes: pa.RecordBatch) -> None:
        texts = changes["sql_redo"]
        is_odd = pc.equal(pc.bit_wise_and(pc.count_substring(texts, "'"), 1), 1)
        suspects = texts.filter(pc.or_(is_odd, pc.match_substring_regex(texts, SINGLE_QUOTE)))
        self.single_quote_count += sum(DOUBLED.fullmatch(text) is None for text in suspects.to_pylist())
        doubtful = changes["label"].filter(pc.match_substring(texts, "''"))
        for entry in pc.value_counts(doubtful).to_pylist():
            self.doubtful_quotes[entry["values"].rpartition(" ")[0]] += entry["counts"]

    def _add_ddl(self, rows: pa.RecordBatch, label: pa.Array) -> pa.Array:
        """Record the DDL of captured tables. Return the labels, with those of DDL that only its text assigns to a table."""
        is_ddl = pc.equal(rows["operation_code"], Operation.DDL)
        places = np.flatnonzero(is_ddl.to_numpy(zero_copy_only=False)).tolist()
        if not places:
            return label
        labels = label.to_pylist()
        for place, row in zip(places, rows.filter(is_ddl).to_pylist(), strict=True):
            ddl, cascading = _ddl_row(row), cascading_table(row)
            ddl = ddl if cascading is None else replace(ddl, cascades_from=str(cascading))
            if labels[place] is not None:
                other = exchanged_table(row, self._captured)
                if other is not None and labels[place] != f"{other} ddl":
                    name = self._renamed.get(other, other)
                    self.ddl.append(replace(ddl, owner=name.owner, table=name.name, object_id=0))
            else:
                table = table_from_ddl_text(row, self._captured)
                if table is None and cascading is not None:
                    self.ddl.append(ddl)  # it may have removed the rows of a captured table
                if table is None:
                    continue
                name = self._renamed.get(table, table)
                labels[place], ddl = f"{table} ddl", replace(ddl, owner=name.owner, table=name.name)
            self.ddl.append(ddl)
        return pa.array(labels, pa.string())

    def _frame_labels(self, code: pa.Array) -> pa.Array:
        at = pc.index_in(code, value_set=pa.array(list(FRAME), pa.int32()))
        return pa.array(list(FRAME.values())).take(at)

    def _table_labels(self, rows: pa.RecordBatch) -> pa.Array:
        """Return `OWNER.NAME insert` by object id, else by name; null for rows of other tables."""
        by_id = self._names_of_ids.take(pc.index_in(rows["object_id"], value_set=self._ids))
        spelled = pc.binary_join_element_wise(rows["seg_owner"], rows["table_name"], "\0")
        by_name = self._names.take(pc.index_in(spelled, value_set=self._spelled))
        return pc.binary_join_element_wise(pc.coalesce(by_id, by_name), pc.utf8_lower(rows["operation"]), " ")

    def _add_other_names(self, rows: pa.RecordBatch) -> None:
        changes = rows.filter(pc.is_in(rows["operation_code"], value_set=pa.array(CHANGES, pa.int32())))
        at = pc.index_in(changes["object_id"], value_set=self._ids)
        spelled = pc.binary_join_element_wise(changes["seg_owner"], changes["table_name"], "\0")
        is_other = pc.and_(pc.is_valid(at), pc.not_equal(spelled, self._spelled_of_ids.take(at)))
        is_name = pc.invert(pc.match_substring_regex(spelled, UNRESOLVED_NAME))
        others = changes.select([]).append_column("table", self._names_of_ids.take(at)).append_column("name", spelled)
        for entry in others.filter(pc.and_(is_other, is_name)).to_pylist():
            self.other_names[entry["table"]].add(str(TableId(*entry["name"].split("\0"))))

    def _hash(self, rows: pa.RecordBatch) -> None:
        text = [pc.fill_null(rows[name].cast(pa.string()), "") for name in CANONICAL]
        lines = pc.binary_join_element_wise(*text, pa.scalar("\n"), "|")
        for sequence in pc.unique(rows["sequence"]).to_pylist():
            if sequence not in self._hashes:
                raise InvariantBroken("a row belongs to a log of another slice", sequence=sequence)
            own = lines.filter(pc.equal(rows["sequence"], sequence))
            self._rows[sequence] += len(own)
            self._hashes[sequence].update(bytes_of(own))

    @property
    def logs(self) -> tuple[LogTally, ...]:
        return tuple(
            LogTally(log_identity(g), self._rows[g.sequence], self._hashes[g.sequence].hexdigest()) for g in self._logs
        )


def bytes_of(text: pa.Array) -> memoryview:
    """Return all values of a string column, concatenated, without copying them."""
    if not len(text):
        return memoryview(b"")
    _, offsets, data = text.buffers()
    ends = np.frombuffer(offsets, np.int32)[text.offset : text.offset + len(text) + 1]
    return memoryview(data)[int(ends[0]) : int(ends[-1])]


def _ddl_row(row: Mapping[str, object]) -> DdlRow:
    return DdlRow(
        scn=int(str(row["scn"])),
        thread=int(str(row["thread"])),
        rs_id=str(row["rs_id"]),
        ssn=int(str(row["ssn"])),
        owner=str(row["seg_owner"] or ""),
        table=str(row["table_name"] or ""),
        object_id=int(str(row["object_id"] or 0)),
        sql=str(row["sql_redo"] or "").rstrip("\0"),  # some releases end the text with a NUL byte
        info=str(row["info"] or ""),
        username="" if row["username"] in (None, "UNKNOWN") else str(row["username"]),
    )
