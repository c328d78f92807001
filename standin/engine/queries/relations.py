"""The relations of a FROM clause: a table with its snapshot SCN, a view, or DUAL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from sqlglot import exp

from standin.engine.expressions.compiler import Compiler
from standin.engine.expressions.frame import EMPTY_SCOPE, Fn, Frame, NotCompilable, Scope
from standin.engine.queries.access import table_scope
from standin.engine.sessions.catalog import ViewSource
from standin.engine.sessions.names import resolve
from standin.engine.sessions.privileges import holds, require_on
from standin.engine.sessions.session import EngineSession
from standin.engine.storage.layout import Row
from standin.engine.storage.storage import TableStore
from standin.engine.text.parse import identifier
from standin.engine.types.values import to_number
from standin.interface import ColumnInfo, OraError
from standin.model import Partitioning

DUAL = (ColumnInfo("DUMMY", "VARCHAR2", 1, 1, 0, 0),)


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation. It has a `store` or a `view`, or neither for DUAL; `version` is the SCN of AS OF."""

    scope: Scope
    shown: tuple[tuple[int, ColumnInfo], ...]  # the columns of *
    store: TableStore | None = None
    view: ViewSource | None = None
    version: Fn | None = None
    alias: str | None = None
    named: tuple[str | None, str] = (None, "")  # owner and name, as written
    part: str | None = None  # the partition or subpartition, of PARTITION (name)
    percent: float | None = None  # of SAMPLE

    def stands(self, session: EngineSession) -> bool:
        """Return whether its name still means the same view to the session, after a DDL."""
        try:
            return self.store is None and resolve(session, *self.named) is self.view
        except OraError:
            return False


def relation_of(session: EngineSession, node: exp.Table) -> Relation:
    owner, name = identifier(node.args.get("db")) or None, identifier(node.this)
    alias = identifier(node.args.get("alias")) or None
    if not isinstance(node.this, exp.Identifier) or node.args.get("joins") or node.args.get("pivots"):
        raise NotCompilable("table expression")
    found = resolve(session, owner, name)
    if isinstance(found, TableStore):
        version = _version(node)
        require_on(session.account, "SELECT", found.definition)
        if version is not None and not holds(session.account, "FLASHBACK ANY TABLE"):
            require_on(session.account, "FLASHBACK", found.definition)
        scope = table_scope(found, alias)
        shown = tuple(scope.columns[c.name] for c in found.definition.shown)
        part, percent = _part_of(node, found), _percent_of(node)
        return Relation(scope, shown, found, None, version, alias, (owner, name), part, percent)
    columns = found.columns if found is not None else DUAL
    numbered = {info.name: (i, info) for i, info in enumerate(columns)}
    return Relation(
        Scope(numbered, frozenset({alias or name})), tuple(numbered.values()), view=found, alias=alias, named=(owner, name)
    )


def _part_of(node: exp.Table, store: TableStore) -> str | None:
    """Return the name in PARTITION (name) or SUBPARTITION (name). Raise ORA-02149 if the table has none of that name."""
    clause = node.args.get("partition")
    if clause is None:
        return None
    name, how = identifier(clause.expressions[0]), store.definition.partitioning
    known = {p.name for p in how.partitions} | {leaf.name for leaf in how.leaves} if how is not None else set()
    if name not in known:
        raise OraError(2149, "Specified partition does not exist")
    return name


def _percent_of(node: exp.Table) -> float | None:
    sample = node.args.get("sample")
    return None if sample is None else float(sample.args["percent"].name)


def chosen_rows(relation: Relation, rows: Iterable[tuple[int, Row]]) -> Iterator[tuple[int, Row]]:
    """Return the rows of the partition, and those that SAMPLE takes: the same ones each time."""
    store, how = relation.store, None if relation.store is None else relation.store.definition.partitioning
    assert store is not None
    if relation.part is None and relation.percent is None:
        return iter(rows)
    return iter([*_chosen_rows(relation, store, how, rows)])


def _chosen_rows(
    relation: Relation, store: TableStore, how: Partitioning | None, rows: Iterable[tuple[int, Row]]
) -> Iterator[tuple[int, Row]]:
    leaves = None
    if relation.part is not None and how is not None:
        own = next((p for p in how.partitions if p.name == relation.part), None)
        leaves = {relation.part, *(leaf.name for leaf in (own.parts if own is not None else ()))}
    for row, values in rows:
        if leaves is not None and store.part_of[row].name not in leaves:
            continue
        if relation.percent is None or crc32(str(row).encode()) % 10_000 < relation.percent * 100:
            yield row, values


def _version(node: exp.Table) -> Fn | None:
    version = node.args.get("version")
    if version is None:
        return None
    if str(version.this).upper() != "SCN":
        raise OraError(3001, "unimplemented feature: AS OF TIMESTAMP")
    return Compiler(EMPTY_SCOPE).compile(version.expression).run


def snapshot_scn(session: EngineSession, relation: Relation, frame: Frame) -> int:
    """Return the SCN to read a table at: the current one, or that of AS OF."""
    assert relation.store is not None
    if relation.version is None:
        return session.current_scn
    return readable_scn(session, relation.store, relation.version((), frame))


def readable_scn(session: EngineSession, store: TableStore, value: Any) -> int:
    """Return a value as the SCN to read the table at. Raise ORA-01466 or ORA-01555 for an old one."""
    database, scn = session.database, int(to_number(value or 0) or 0)
    if session.on_standby and scn <= database.clock.scn and database.options.unapplied_reads == "older":
        scn = min(scn, session.current_scn)
    if scn <= 0 or scn > session.current_scn:
        raise OraError(8181, "specified number is not a valid system change number")
    if scn < store.structure_scn or database.is_too_recent(store.definition, scn):
        raise OraError(1466, "unable to read data - table definition has changed")
    if scn < database.oldest_scn or database.is_overwritten(scn):
        raise OraError(1555, 'snapshot too old: rollback segment number 4 with name "_SYSSMU4$" too small')
    return scn


def unarchived(session: EngineSession, store: TableStore, rows: Iterable[tuple[int, Row]]) -> Iterable[tuple[int, Row]]:
    """Return the rows that the session sees: not those of another ORA_ARCHIVE_STATE than 0, unless it asked for all."""
    at = store.layout.position.get("ORA_ARCHIVE_STATE")
    if at is None or session.settings.get("ROW ARCHIVAL VISIBILITY") == "ALL":
        return rows
    return [(row, values) for row, values in rows if values[at] == "0"]
