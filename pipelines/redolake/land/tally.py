"""Counts and hashes of redo rows: the part of a manifest that is equal on every run.

Rows that LogMiner could not resolve to a captured table are no part of it: when a table is dropped between two
runs, LogMiner shows its rows as `OBJ# n`, and the identity must not depend on that. So an object id takes precedence over a
name. Their objects are recorded beside it: reconcile/unknown_objects.py asks whose they may be.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from redolake.errors import InvariantBroken
from redolake.land.ddl_text import cascading_sources, new_name, table_of_user, tables_in_text
from redolake.land.quote_marks import Flags, quote_marks
from redolake.records.windows import PERHAPS, DdlRow, LogIdentity, LogTally, UnknownObject
from redolake.values.combinations import Numbers, combinations
from redolake.values.logminer import Mined
from redolake.values.redo import CHANGES, CONTROL, LogFile, Operation, Slice
from redolake.values.table import NOT_RENAMED, Renamed, TableId

FRAME = {Operation.START: "* start", Operation.COMMIT: "* commit", Operation.ROLLBACK: "* rollback"}
SINGLE_QUOTE = r"[\pL\pN_]'[\pL\pN_]"  # a quote between two letters: single, or in a quoted name
# A statement whose literals have their quotes doubled. No letter follows a literal; only N may stand before one. A text matches
# in one way only, so no possessive quantifier is needed: Python before 3.11.5 matches those wrongly (python/cpython#106052).
DOUBLED = re.compile(r"""[^'"]*(?:(?:"[^"]*"|(?:(?<!\w)|(?<=\bN))'[^']*(?:''[^']*)*'(?!['\w]))[^'"]*)*""")
UNRESOLVED_NAME = re.compile("^UNKNOWN\0|\0(OBJ# |BIN[$])")  # owner and name
RECYCLED = "BIN$"
CANONICAL = ("rs_id", "ssn", "scn", "xid", "operation_code", "rollback", "object_id")
REPEATED = CANONICAL[3:]  # their values are those of many rows
KIND = ("seg_owner", "table_name", "object_id", "operation", "operation_code")  # the fields of _Kind


@dataclass(frozen=True, slots=True)
class _Kind:
    """The values of KIND, by which rows are counted."""

    owner: str | None
    table: str | None
    object_id: int | None
    operation: str | None
    code: int | None


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
        self._table_of_id = dict(tables)
        named = sorted({*names, *tables.values()})
        self._renamed = renamed
        in_redo = [renamed.get(t, t) for t in named]
        self._captured = {(t.owner, t.name): captured for t, captured in zip(in_redo, named, strict=True)}
        # A text has the name that the table had then, which a RENAME may have changed since.
        self._in_texts = {(t.owner, t.name): t for t in named} | self._captured
        self._hashes = {log.sequence: hashlib.sha256() for log in logs.logs}
        self._rows: Counter[int] = Counter()
        self.counts: Counter[str] = Counter()
        self.ddl: list[DdlRow] = []
        self.unresolved_count = 0
        self.row_count = 0
        self.single_quote_count = 0  # captured changes
        self.doubtful_quotes: Counter[str] = Counter()  # captured changes by table
        self.other_names: defaultdict[str, set[str]] = defaultdict(set)  # of changes, by the table that has their object id
        self.unknown_objects: dict[int, UnknownObject] = {}  # with changes, and no table that is known
        self.others_objects: set[int] = set()  # that DDL shows as tables which are not captured

    def add(self, rows: pa.RecordBatch) -> None:
        self.row_count += rows.num_rows
        if not rows.num_rows:
            return
        numbers, first = combinations([rows[name] for name in KIND])
        kinds = [_Kind(*values.values()) for values in rows.select(list(KIND)).take(pa.array(first)).to_pylist()]
        labels = [self._label(kind) for kind in kinds]
        for kind in kinds:
            self._add_other_name(kind)
        for label, count in zip(labels, np.bincount(numbers).tolist(), strict=True):
            if label is not None:
                self.counts[label] += count
        for number, kind in enumerate(kinds):
            if labels[number] is None and is_unknown(kind):
                self._add_unknown(kind, rows["scn"].filter(pa.array(numbers == number)))
        is_counted = np.array([label is not None for label in labels])[numbers]
        if any(kind.code == Operation.DDL for kind in kinds):
            self._add_ddl(rows, [labels[number] for number in numbers], is_counted)
        self.unresolved_count += rows.num_rows - int(is_counted.sum())
        self._count_quotes(rows["sql_redo"], kinds, labels, numbers)
        counted = rows.select([*CANONICAL, "sequence"])
        self._hash(counted if is_counted.all() else counted.filter(pa.array(is_counted)))

    def _label(self, kind: _Kind) -> str | None:
        """Return `OWNER.NAME insert` by object id, else by name, or the name of a transaction's start or end; None for rows of
        other tables."""
        if kind.code in FRAME:
            return FRAME[Operation(kind.code)]
        table = self._table_by_id(kind)
        if table is None and kind.owner is not None and kind.table is not None:
            table = self._captured.get((kind.owner, kind.table))
        return None if table is None or kind.operation is None else f"{table} {kind.operation.lower()}"

    def _table_by_id(self, kind: _Kind) -> TableId | None:
        return None if kind.object_id is None else self._table_of_id.get(kind.object_id)

    def _add_other_name(self, kind: _Kind) -> None:
        table = self._table_by_id(kind)
        if kind.code not in CHANGES or table is None or kind.owner is None or kind.table is None:
            return
        own = self._renamed.get(table, table)
        if (kind.owner, kind.table) != (own.owner, own.name) and not UNRESOLVED_NAME.search(f"{kind.owner}\0{kind.table}"):
            self.other_names[str(table)].add(str(TableId(kind.owner, kind.table)))

    def _add_unknown(self, kind: _Kind, scns: pa.Array) -> None:
        ends, number = pc.min_max(scns).as_py(), _number_of(kind)
        in_bin = (kind.table or "").startswith(RECYCLED)
        found = UnknownObject(number, len(scns), int(ends["min"]), int(ends["max"]), in_bin)
        known = self.unknown_objects.get(number)
        self.unknown_objects[number] = found if known is None else known.merge(found)

    def _count_quotes(self, texts: pa.Array, kinds: Sequence[_Kind], labels: Sequence[str | None], numbers: Numbers) -> None:
        tables = [
            label.rpartition(" ")[0] if label is not None and kind.code in CHANGES else None
            for kind, label in zip(kinds, labels, strict=True)
        ]
        is_change = np.array([table is not None for table in tables])[numbers]
        marks = quote_marks(texts)
        places = np.flatnonzero(is_change & (marks.is_odd | marks.between_words))
        suspects = texts.take(pa.array(places))
        suspects = suspects.filter(pc.or_(pa.array(marks.is_odd[places]), pc.match_substring_regex(suspects, SINGLE_QUOTE)))
        self.single_quote_count += sum(DOUBLED.fullmatch(text) is None for text in suspects.to_pylist())
        doubtful = np.bincount(numbers[is_change & marks.adjacent], minlength=len(tables)).tolist()
        for table, count in zip(tables, doubtful, strict=True):
            if table is not None and count:
                self.doubtful_quotes[table] += count

    def _add_ddl(self, rows: pa.RecordBatch, labels: Sequence[str | None], is_counted: Flags) -> None:
        """Record the DDL of captured tables. Count the DDL that only its text assigns to a table."""
        is_ddl = pc.equal(rows["operation_code"], Operation.DDL)
        places = np.flatnonzero(is_ddl.to_numpy(zero_copy_only=False)).tolist()
        for place, row in zip(places, rows.filter(is_ddl).to_pylist(), strict=True):
            ddl, label = _ddl_row(row), labels[place]
            in_text = tables_in_text(row, self._in_texts)
            named = [pair for pair in in_text if label != f"{self._in_texts[pair]} ddl"]
            got = new_name(ddl.sql) if label is not None else None
            for owner, name in in_text:  # the dictionary of today has the object under the name that it got
                if name == got and (owner, name) not in named:
                    ddl = replace(ddl, owner=owner, table=name)
            named = [pair for pair in named if pair[1] != got]  # a captured table keeps its entry under its new name
            is_named = not UNRESOLVED_NAME.search(f"{ddl.owner}\0{ddl.table}") and ddl.owner and ddl.table
            if label is None and not named and is_named:
                self.others_objects.add(ddl.object_id)
            sources = cascading_sources(row, {owner for owner, _ in self._in_texts})
            own = [replace(ddl, owner=owner, table=name) for owner, name in named]
            if label is not None:
                own = [ddl, *(replace(one, object_id=0) for one in own)]
            elif own:
                self.counts[f"{self._in_texts[named[0]]} ddl"] += 1
                is_counted[place] = True
            # Rows that a statement removes from tables that it does not name are recorded for every table.
            own = own or ([ddl] if sources else [])
            of_user = table_of_user(row, self._in_texts)
            if of_user is not None and of_user not in named:
                owner, name = of_user
                self.ddl.append(replace(ddl, owner=owner, table=name, object_id=0, info=PERHAPS))
            self.ddl += [replace(one, cascades_from=sources[0]) for one in own[:1]] if sources else own[:1]
            self.ddl += own[1:]
            self.ddl += [replace(ddl, owner="", table="", object_id=0, cascades_from=source) for source in sources[1:]]

    def _hash(self, rows: pa.RecordBatch) -> None:
        numbers, first = combinations([rows[name] for name in REPEATED])
        repeated = [_text(rows[name].take(pa.array(first))) for name in REPEATED]
        ends = pc.binary_join_element_wise(*repeated, pa.scalar("\n"), "|").take(pa.array(numbers))
        lines = pc.binary_join_element_wise(*(_text(rows[name]) for name in CANONICAL[: -len(REPEATED)]), ends, "|")
        sequences = pc.unique(rows["sequence"]).to_pylist()
        for sequence in sequences:
            if sequence not in self._hashes:
                raise InvariantBroken("a row belongs to a log of another slice", sequence=sequence)
            own = lines if len(sequences) == 1 else lines.filter(pc.equal(rows["sequence"], sequence))
            self._rows[sequence] += len(own)
            self._hashes[sequence].update(bytes_of(own))

    @property
    def logs(self) -> tuple[LogTally, ...]:
        return tuple(
            LogTally(log_identity(g), self._rows[g.sequence], self._hashes[g.sequence].hexdigest()) for g in self._logs
        )


def is_unknown(kind: _Kind) -> bool:
    """Return whether LogMiner did not resolve the object of a change, or found it in the recycle bin."""
    is_change = kind.code is not None and kind.code not in CONTROL and kind.code != Mined.INTERNAL
    return is_change and (
        kind.owner is None or kind.table is None or UNRESOLVED_NAME.search(f"{kind.owner}\0{kind.table}") is not None
    )


def _number_of(kind: _Kind) -> int:
    """Return the object's number, which its name has too; 0 if neither does."""
    named = re.fullmatch(r"OBJ# (\d+)", kind.table or "")
    return kind.object_id or (int(named[1]) if named is not None else 0)


def _text(values: pa.Array) -> pa.Array:
    text = values.cast(pa.string())
    return pc.fill_null(text, "") if text.null_count else text


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
